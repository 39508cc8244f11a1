from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.devices import PoolIndex
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.slices import DeviceAttribute, ResourceSlice
from dra_scheduling.wire import read_as

SAMPLES = Path(__file__).parents[3] / "manifests/samples/instancetypes"
ROOT = "resource.kubernetes.io/pcieRoot"


def expanded(devices: dict[str, Any]) -> Expanded:
    spec = {"offerings": [{"zone": "a", "price": 1}], "capacity": {"cpu": 4, "memory": "16Gi"}, "devices": devices}
    result = expand(read_as(InstanceType, {"metadata": {"name": "t"}, "spec": spec}))
    assert isinstance(result, Expanded), result
    return result


def sample(file: str) -> Expanded:
    result = expand(read_as(InstanceType, yaml.safe_load((SAMPLES / file).read_text())))
    assert isinstance(result, Expanded)
    return result


def published(one: Expanded, generation: int = 1) -> tuple[ResourceSlice, ...]:
    return one.slices_for_node("node-a", node_uid="u", generation=generation)


def attribute(one: Expanded, name: str) -> dict[str, DeviceAttribute | None]:
    devices = [device for piece in published(one) for device in piece.spec.devices]
    return {device.name: device.attributes.get(name) for device in devices}


def group(name: str, count: int, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  any part of a document
    return {"driver": "d.io", "name": f"{name}-{{index}}", "count": count, **fields}


def test_slices_belong_to_their_node_and_its_pool() -> None:
    (piece,) = published(expanded({"groups": [group("gpu", 2)]}), generation=4)

    pool = piece.spec.pool
    assert (piece.metadata.name, piece.spec.node_name, piece.spec.all_nodes) == ("node-a-d.io-0", "node-a", False)
    assert (pool.name, pool.generation, pool.resource_slice_count) == ("node-a", 4, 1)
    assert [(owner.kind, owner.name, owner.uid) for owner in piece.metadata.owner_references] == [
        ("Node", "node-a", "u")
    ]


def test_what_a_pod_waits_for_is_published_with_each_device() -> None:
    told = {"bindsToNode": True, "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    one = expanded({"groups": [group("gpu", 2, **told)]})

    (piece,) = published(one)

    expected = (True, ("ready",), ("broken",))
    of_devices = [(it.binds_to_node, it.binding_conditions, it.binding_failure_conditions) for it in piece.spec.devices]
    assert of_devices == [expected] * 2
    assert [device for it in one.slices for device in it.spec.devices] == list(piece.spec.devices)


@pytest.mark.parametrize(
    ("devices", "sizes"),
    [
        ({"groups": [group("a", 128)]}, [(0, 128)]),
        ({"groups": [group("a", 100), group("b", 100)]}, [(0, 128), (0, 72)]),
        ({"groups": [group("a", 65, taints=[{"key": "k", "effect": "NoSchedule"}])]}, [(0, 64), (0, 1)]),
        ({"groups": [group("a", 65, attributes={"numa": {"ints": [0, 1]}})]}, [(0, 64), (0, 1)]),
        (
            {
                "groups": [group("a", 70, consumesCounters=[{"counterSet": "s-0", "counters": {"m": {"value": 1}}}])],
                "sharedCounters": [{**group("s", 9), "counters": {"m": {"value": 70}}}],
            },
            [(8, 0), (1, 0), (0, 64), (0, 6)],
        ),
    ],
)
def test_a_pool_is_split_where_a_slice_would_be_too_large(
    devices: dict[str, Any], sizes: list[tuple[int, int]]
) -> None:
    pieces = published(expanded(devices))

    assert [(len(one.spec.shared_counters), len(one.spec.devices)) for one in pieces] == sizes
    assert {one.spec.pool.resource_slice_count for one in pieces} == {len(sizes)}
    assert len({one.metadata.name for one in pieces}) == len(sizes)


def test_devices_that_are_bound_are_published_with_one_value_and_others_with_another() -> None:
    roots = attribute(sample("p5en.48xlarge.yaml"), ROOT)

    assert roots["gpu-3"] == roots["efa-6"] == roots["efa-7"] == DeviceAttribute(string="pci0000:03")
    assert len({repr(value) for value in roots.values()}) == 8


def test_a_value_that_is_made_up_is_not_one_that_is_known() -> None:
    known = group("known", 1, attributes={ROOT: {"string": "pci0000:00"}})
    bindings = [{"attribute": ROOT, "devices": [{"driver": "d.io", "name": "gpu-{index}"}]}]

    roots = attribute(expanded({"groups": [known, group("gpu", 2)], "bindings": bindings}), ROOT)

    assert roots["gpu-0"] == roots["gpu-1"] == DeviceAttribute(string="pci0000:01")


def test_a_bound_attribute_is_published_with_the_value_that_is_given() -> None:
    versions = attribute(sample("p5.48xlarge.yaml"), "gpu.nvidia.com/driverVersion")

    assert versions["gpu-7"] == DeviceAttribute(version="580.126.9")
    assert versions["efa-0"] is None


def test_each_device_has_its_own_name_text_value_and_counters() -> None:
    sets = {**group("set", 2), "counters": {"m": {"value": 1}}}
    drawn = [{"counterSet": "set-{index}", "counters": {"m": {"value": 1}}}]
    gpus = group("gpu", 2, attributes={"uuid": {"string": "GPU-{index}"}}, consumesCounters=drawn)
    one = expanded(
        {"groups": [{**gpus, "attributesByIndex": {"numa": [{"int": 5}, {"int": 6}]}}], "sharedCounters": [sets]}
    )

    second = published(one)[1].spec.devices[1]

    assert second.name == "gpu-1"
    assert second.attributes == {"uuid": DeviceAttribute(string="GPU-1"), "numa": DeviceAttribute(int_=6)}
    assert second.consumes_counters[0].counter_set == "set-1"


counts = st.integers(min_value=1, max_value=200)


@given(counts, counts, st.booleans())
def test_what_is_planned_with_is_what_is_published(gpus: int, nics: int, are_tainted: bool) -> None:  # noqa: FBT001
    taints = {"taints": [{"key": "k", "effect": "NoSchedule"}]} if are_tainted else {}
    one = expanded({"groups": [group("gpu", gpus, **taints), {**group("nic", nics), "driver": "e.io"}]})

    pieces = published(one)

    assert [piece.spec.devices for piece in pieces] == [piece.spec.devices for piece in one.slices]
    assert one.drivers == {"d.io": gpus, "e.io": nics}


@given(st.permutations(published(sample("p5.4xlarge-mig.yaml")) + published(sample("p4d.24xlarge.yaml"))[:1]))
def test_pools_are_complete_once_all_their_slices_are_there(pieces: list[ResourceSlice]) -> None:
    index = PoolIndex()
    for piece in pieces:
        index.apply(piece)

    pools = {(piece.spec.driver, piece.spec.pool.name) for piece in pieces}
    assert all(index.find(key).problem is None for key in pools)  # type: ignore[arg-type, union-attr]
