from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_builders.values import GPU_DRIVER, AttributeValue, device, resource_slice
from dra_scheduling.basics.features import DEFAULT_FEATURES
from dra_scheduling.devices.cel_views import device_view
from dra_scheduling.devices.indexed_slice import IndexedSlice
from dra_scheduling.model.slices import Device
from kube_cel import EvaluationError, Program, compile_selector

OWN, OTHER = f'device.attributes["{GPU_DRIVER}"]', 'device.attributes["other.example.com"]'
CAPACITY = f'device.capacity["{GPU_DRIVER}"]'
EXPRESSIONS = (
    f'{OWN}.kind == "a"',
    f'{OWN}["kind"] != "a" || {OTHER}.kind == "a"',
    f'"kind" in {OWN} && {OWN}.kind in ["a", "b"]',
    f"has({OTHER}.kind)",
    f'"{GPU_DRIVER}" in device.attributes',
    f'cel.bind(mine, {OWN}, mine.kind == "b" || mine.size > 1)',
    f'{CAPACITY}.memory.compareTo(quantity("2Gi")) >= 0',
    f"device.allowMultipleAllocations || {OWN}.size == 1",
    f'[{OWN}].all(each, each.kind == "a")',
)
PROGRAMS = tuple(compile_selector(text) for text in EXPRESSIONS)
NAMES = ("kind", f"{GPU_DRIVER}/kind", "other.example.com/kind", "size", f"{GPU_DRIVER}/size")
VALUES: tuple[AttributeValue, ...] = ("a", "b", 1, 2, True)
attributes = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=4)
capacities = st.dictionaries(
    st.sampled_from(("memory", f"{GPU_DRIVER}/memory")), st.sampled_from(("1Gi", "2Gi", "3Gi"))
)


@st.composite
def devices(draw: st.DrawFn) -> tuple[Device, ...]:
    contents = draw(st.lists(st.tuples(attributes, capacities, st.booleans()), min_size=1, max_size=8))
    return tuple(
        replace(device(f"d{number}", attributes=names, capacity=amounts), allow_multiple_allocations=is_shared)
        for number, (names, amounts, is_shared) in enumerate(contents)
    )


def alone(program: Program, one: Device) -> bool | None:
    try:
        return program.evaluate(device_view(GPU_DRIVER, one))
    except EvaluationError:
        return None


@given(devices(), st.sampled_from(PROGRAMS))
def test_devices_that_look_alike_to_a_selector_are_judged_as_each_would_be_alone(
    content: tuple[Device, ...], program: Program
) -> None:
    selected, failed = IndexedSlice(resource_slice("s", content, node="n"), DEFAULT_FEATURES).judge(
        program, (1 << len(content)) - 1
    )

    for number, one in enumerate(content):
        answer = alone(program, one)
        assert (bool(selected >> number & 1), bool(failed >> number & 1)) == (answer is True, answer is None)
