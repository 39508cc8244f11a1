import pickle

import pytest

from kube_cel import DeviceView, EvaluationError, Program, compile_selector
from kube_cel.quantity import Quantity

G = 'device.attributes["gpu.example.com"]'
MODEL = ("attributes", "gpu.example.com", "model")
DRIVER = ("driver", "", "")


def test_a_name_without_domain_belongs_to_the_driver() -> None:
    device = DeviceView.of(
        "gpu.example.com", {"model": "A", "vendor.example/link": "nv"}, {"memory": Quantity.parse("1Gi")}
    )

    assert compile_selector(f"{G}.model == 'A' && device.attributes['vendor.example'].link == 'nv'").evaluate(device)
    assert compile_selector("'gpu.example.com' in device.capacity && device.attributes.size() == 2").evaluate(device)


def test_a_name_with_the_domain_of_the_driver_is_the_same_as_one_without() -> None:
    device = DeviceView.of("gpu.example.com", {"gpu.example.com/model": "A"}, {})

    assert compile_selector(f"{G}.model == 'A'").evaluate(device)


def test_a_device_cannot_be_changed() -> None:
    device = DeviceView.of("gpu.example.com", {}, {})

    with pytest.raises(AttributeError, match="immutable"):
        device.driver = "other"


def test_an_expression_is_compiled_once() -> None:
    assert compile_selector("device.driver == 'once'") is compile_selector("device.driver == 'once'")


def test_a_program_survives_pickling() -> None:
    program: Program = pickle.loads(pickle.dumps(compile_selector("device.driver == 'a'")))  # noqa: S301

    assert program.source == "device.driver == 'a'"
    assert program.evaluate(DeviceView.of("a", {}, {}))


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ("true", set()),
        ("device.driver == 'a'", {DRIVER}),
        (f"device.driver == 'a' && {G}.model == 'b'", {DRIVER, MODEL}),
        (f"{G}['model'] == 'b'", {MODEL}),
        (f"has({G}.model)", {MODEL}),
        (f"'model' in {G}", {MODEL}),
        (f"{G}.?model.orValue('') == 'a'", {MODEL}),
        ("device.attributes[?'gpu.example.com'].?model.hasValue()", {MODEL}),
        (f"cel.bind(g, {G}, g.model == 'a')", {MODEL}),
        (f"[1].all(g, cel.bind(d, device, d.driver == 'a' && {G}.model == g))", {DRIVER, MODEL}),
        ("device.capacity['a'].memory.isGreaterThan(quantity('1'))", {("capacity", "a", "memory")}),
        ("device.allowMultipleAllocations", {("allowMultipleAllocations", "", "")}),
        ("[1].exists(device, device == 1)", set()),
    ],
)
def test_a_program_knows_what_it_reads(expression: str, reads: set[tuple[str, str, str]]) -> None:
    assert compile_selector(expression).reads == frozenset(reads)


@pytest.mark.parametrize(
    "expression",
    [
        f"{G}.size() == 1",
        f"{G}.exists(k, k == 'a')",
        "device.attributes.exists(d, d == 'a')",
        "'a' in device.attributes",
        f"{G}[device.driver] == 1",
        "device == device",
        "cel.bind(g, device.attributes, g.all(d, true))",
    ],
)
def test_a_program_says_so_when_it_may_read_anything(expression: str) -> None:
    assert compile_selector(expression).reads is None


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("device.driver == 'x'", ["x"]),
        ("device.driver == 'x' && has(device.attributes['x'].model)", ["x"]),
        ("device.driver.startsWith('x') || device.driver == 'z'", ["x", "z"]),
        (f"has({G}.model)", ["x", "y", "z"]),
        (f"!has({G}.model)", ["x", "y", "z"]),
        (f"'model' in {G}", ["x", "y", "z"]),
        (f"{G}.?model.orValue('') == 'a'", ["x", "y", "z"]),
        (f"{G} == {{}} || {G}.size() == 0", ["x", "y", "z"]),
        (f"[{G}] != [{{}}]", ["x", "y", "z"]),
        (f"{G}.all(k, false) && device.driver == 'y'", ["y"]),
        ("device.allowMultipleAllocations", ["x", "y", "z"]),
        ("cel.bind(d, dyn(device), d.driver == 'x' && has(d.attributes) && d.attributes.size() == 0)", ["x"]),
        ("device.capacity['a'].memory == quantity('1') && device.driver != 'z'", ["x", "y"]),
    ],
)
def test_the_driver_alone_can_rule_out_all_devices(expression: str, matching: list[str]) -> None:
    program = compile_selector(expression)

    assert [driver for driver in ("x", "y", "z") if program.may_match(driver)] == matching


def test_an_error_has_a_kind_and_survives_pickling() -> None:
    with pytest.raises(EvaluationError) as caught:
        compile_selector(f"{G}.model == 'a'").evaluate(DeviceView.of("a", {}, {}))

    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (again.kind, str(again)) == (caught.value.kind, "no such key: model")
