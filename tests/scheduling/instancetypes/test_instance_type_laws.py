from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
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


@given(specs)
def test_whatever_is_written_it_is_sound_or_its_faults_are_named(spec: dict[str, Any]) -> None:
    result = expand(read_as(InstanceType, {"metadata": {"name": "t"}, "spec": spec}))

    if isinstance(result, Expanded):
        assert_publishable(result)
    else:
        assert result
        assert all(fault.path and fault.message for fault in result)


def assert_publishable(expanded: Expanded) -> None:
    for piece in expanded.slices_for_node("node-a", node_uid="u"):
        devices, sets = piece.spec.devices, piece.spec.shared_counters
        are_special = any(
            one.taints or one.consumes_counters or any(value.bools for value in one.attributes.values())
            for one in devices
        )
        assert bool(devices) != bool(sets)
        assert len(devices) <= (MOST_SPECIAL if are_special else MOST_DEVICES)
        assert len(sets) <= MOST_SETS
        assert len({one.name for one in devices}) == len(devices)
        assert all(len(one.attributes) + len(one.capacity) <= MOST_VALUES for one in devices)
        assert "{index}" not in repr((devices, sets))
    assert all(one.pool.problem is None for one in expanded.candidate.devices.pools)
