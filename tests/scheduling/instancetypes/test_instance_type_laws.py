from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.slices import ResourceSliceSpec
from dra_scheduling.wire import read_as

MOST_DEVICES, MOST_SPECIAL, MOST_SETS, MOST_VALUES = 128, 64, 8, 32

drivers = st.sampled_from(["d.io", "e.io", ""])
names = st.sampled_from(["gpu", "gpu-{index}", "gpu-0", "x{index}", "X", ""])
counts = st.integers(min_value=-1, max_value=140)
amounts = st.sampled_from([-1, 0, 1, "2Gi"])
values = st.sampled_from([{"int": 1}, {"string": "a{index}"}, {"version": "1.2.3"}, {"bools": [True]}])
attributes = st.dictionaries(st.sampled_from(["a", "d.io/a", "x.io/root", "no name"]), values, max_size=3)
counters = st.dictionaries(st.sampled_from(["m", "n"]), amounts.map(lambda one: {"value": one}), max_size=2)
groups = st.fixed_dictionaries(
    {"driver": drivers, "name": names},
    optional={
        "count": counts,
        "attributes": attributes,
        "attributesByIndex": st.dictionaries(st.just("b"), st.lists(values, max_size=3), max_size=1),
        "capacity": st.dictionaries(st.just("c"), amounts.map(lambda one: {"value": one}), max_size=1),
        "consumesCounters": st.lists(st.fixed_dictionaries({"counterSet": names, "counters": counters}), max_size=1),
        "taints": st.lists(st.just({"key": "k", "effect": "NoSchedule"}), max_size=1),
    },
)
shared = st.fixed_dictionaries({"driver": drivers, "name": names, "counters": counters}, optional={"count": counts})
bound = st.fixed_dictionaries(
    {"driver": drivers, "name": names}, optional={"indexes": st.lists(st.integers(-1, 3), max_size=3)}
)
bindings = st.fixed_dictionaries(
    {"attribute": st.sampled_from(["x.io/root", "d.io/a", "root"]), "devices": st.lists(bound, max_size=2)},
    optional={"publishedValue": values},
)
offerings = st.fixed_dictionaries({"zone": st.sampled_from(["a", "b", ""]), "price": amounts})
requirements = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["k", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"]),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]),
        "values": st.lists(st.sampled_from(["a", "1", "t"]), max_size=2),
    }
)
resources = st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), amounts)
specs = st.fixed_dictionaries(
    {"offerings": st.lists(offerings, max_size=2), "capacity": resources},
    optional={
        "overhead": resources,
        "requirements": st.lists(requirements, max_size=2),
        "devices": st.fixed_dictionaries(
            {},
            optional={
                "groups": st.lists(groups, max_size=3),
                "sharedCounters": st.lists(shared, max_size=2),
                "bindings": st.lists(bindings, max_size=2),
            },
        ),
    },
)


sound_groups = st.fixed_dictionaries(
    {"driver": st.sampled_from(["d.io", "e.io"]), "name": st.sampled_from([f"{kind}-{{index}}" for kind in "abcd"])},
    optional={
        "count": st.integers(min_value=1, max_value=70),
        "attributes": st.dictionaries(st.sampled_from(["a", "x.io/other"]), values),
        "capacity": st.just({"c": {"value": 1}}),
        "consumesCounters": st.just([{"counterSet": "set-{index}", "counters": {"m": {"value": 1}}}]),
        "taints": st.just([{"key": "k", "effect": "NoSchedule"}]),
    },
)


def around(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """A sound spec with these groups: counter sets for all of them, and all devices with one root."""
    drivers = sorted({group["driver"] for group in groups})
    sets = [{"driver": one, "name": "set-{index}", "count": 140, "counters": {"m": {"value": 1}}} for one in drivers]
    bound = [{"driver": group["driver"], "name": group["name"]} for group in groups]
    devices = {"groups": groups, "sharedCounters": sets, "bindings": [{"attribute": "x.io/root", "devices": bound}]}
    return {"offerings": [{"zone": "a", "price": 1}], "capacity": {"cpu": 1}, "devices": devices}


@given(specs)
def test_whatever_is_written_it_is_sound_or_its_faults_are_named(spec: dict[str, Any]) -> None:
    result = expand(read_as(InstanceType, {"metadata": {"name": "t"}, "spec": spec}))

    if not isinstance(result, Expanded):
        assert result
        assert all(fault.path and fault.message for fault in result)


@given(st.lists(sound_groups, min_size=1, max_size=4, unique_by=lambda group: group["name"]).map(around))
def test_what_is_sound_can_be_published_and_planned_with(spec: dict[str, Any]) -> None:
    result = expand(read_as(InstanceType, {"metadata": {"name": "t"}, "spec": spec}))

    assert isinstance(result, Expanded), result
    assert all(one.pool.problem is None for one in result.candidate.devices.pools)
    published = result.slices_for_node("node-a", node_uid="u")
    for piece in published:
        assert_publishable(piece.spec)
    roots = {repr(one.attributes.get("x.io/root")) for piece in published for one in piece.spec.devices}
    assert len(roots) == 1


def assert_publishable(spec: ResourceSliceSpec) -> None:
    devices, sets = spec.devices, spec.shared_counters
    are_special = any(
        one.taints or one.consumes_counters or any(value.bools for value in one.attributes.values()) for one in devices
    )
    assert bool(devices) != bool(sets)
    assert len(devices) <= (MOST_SPECIAL if are_special else MOST_DEVICES)
    assert len(sets) <= MOST_SETS
    assert len({one.name for one in devices}) == len(devices)
    assert all(len(one.attributes) + len(one.capacity) <= MOST_VALUES for one in devices)
    assert "{index}" not in repr((devices, sets))
