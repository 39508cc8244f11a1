"""A ResourceSlice as it is written and as pools see it, published or the template of an instance type."""

from collections.abc import Callable
from typing import Any

import pytest

from dra_scheduling.devices import NodePlace, PoolIndex, PoolOnNode
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.template_devices import TemplateDevices
from dra_scheduling.wire import InvalidObjectError, read
from dra_scheduling.wire.objects import read_as

Json = dict[str, Any]
DEVICE: Json = {
    "name": "d",
    "attributes": {"model": {"string": "x"}, "count": {"int": 3}, "fast": {"bool": True}, "v": {"version": "1.2.3"}},
    "capacity": {"memory": {"value": "8Gi"}},
    "consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "4"}}}],
    "allowMultipleAllocations": True,
}
COUNTERS: list[Json] = [{"name": "s", "counters": {"m": {"value": "8"}}}]
ZONE: Json = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
HERE, ELSEWHERE = NodePlace("n1", {"zone": "a"}), NodePlace("n2", {"zone": "b"})


def raw(*, count: int = 1, devices: list[Json] | None = None, **where: object) -> Json:
    pool = {"name": "p", "generation": 2, "resourceSliceCount": count}
    content = [DEVICE] if devices is None else devices
    spec: Json = {"driver": "drv", "pool": pool, "devices": content, "sharedCounters": COUNTERS, **where}
    metadata = {"name": "s", "uid": "u", "resourceVersion": "1"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def published(value: Json, place: NodePlace = HERE) -> list[PoolOnNode]:
    piece = read(value)
    assert isinstance(piece, ResourceSlice)
    index = PoolIndex()
    index.apply(piece)
    return list(index.on_node(place))


def devices_of(pools: list[PoolOnNode]) -> list[str]:
    return [pool.device(number).name for pool in pools for number in range(pool.width) if pool.everything >> number & 1]


def template(value: Json) -> list[PoolOnNode]:
    return list(TemplateDevices([read_as(ResourceSlice, {key: value[key] for key in ("metadata", "spec")})]).pools)


@pytest.mark.parametrize("pools_of", [published, template])
def test_a_device_and_its_counters_are_as_they_were_written(pools_of: Callable[[Json], list[PoolOnNode]]) -> None:
    (pool,) = pools_of(raw(allNodes=True))

    assert (pool.key.driver, pool.key.pool, pool.pool.problem) == ("drv", "p", None)
    assert pool.device(0) == read_as(Device, DEVICE)
    assert pool.stock_with(None).left == (8 * 10**9,)


@pytest.mark.parametrize(
    ("where", "here", "elsewhere"),
    [
        ({"allNodes": True}, ["d"], ["d"]),
        ({"nodeName": "n1"}, ["d"], []),
        ({"nodeSelector": ZONE}, ["d"], []),
        ({"nodeSelector": ZONE, "allNodes": False}, ["d"], []),
    ],
)
def test_a_slice_is_reached_from_where_it_says(where: Json, here: list[str], elsewhere: list[str]) -> None:
    assert devices_of(published(raw(**where), HERE)) == here
    assert devices_of(published(raw(**where), ELSEWHERE)) == elsewhere


@pytest.mark.parametrize("where", [{"allNodes": True}, {"nodeName": "n7"}, {"nodeSelector": ZONE}])
def test_a_template_is_reached_whatever_it_says_about_nodes(where: Json) -> None:
    assert devices_of(template(raw(**where))) == ["d"]


def test_a_selector_is_kept_as_it_was_written() -> None:
    piece = read(raw(nodeSelector=ZONE))

    assert isinstance(piece, ResourceSlice)
    assert piece.spec.node_selector == read_as(NodeSelector, ZONE)
    assert not piece.spec.all_nodes


def test_a_slice_without_devices_has_none() -> None:
    assert devices_of(published(raw(devices=[], allNodes=True))) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (raw(), "expected exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection"),
        (raw(allNodes=False), "expected exactly one of nodeName, nodeSelector"),
        (raw(allNodes=True, nodeName="n1"), "expected exactly one of nodeName, nodeSelector"),
        (raw(allNodes=True, count=0), "resourceSliceCount is 0, expected at least 1"),
        (raw(allNodes=True, devices=[{"name": "d", "attributes": {"x": {}}}]), "expected exactly one of int, bool"),
        (raw(allNodes=True, devices=[{"name": "d", "attributes": {"x": {"odd": 1}}}]), "expected exactly one of int"),
    ],
)
def test_a_slice_that_cannot_be_meant_is_refused_by_name(value: Json, problem: str) -> None:
    with pytest.raises(InvalidObjectError, match=problem):
        read(value)
