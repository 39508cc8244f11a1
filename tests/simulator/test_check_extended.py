"""What `dra check` finds in the extended resources of pods: whether anything of the input could ever serve them."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import made, manifests

NAME = "x.org/g"
NEVER = "is never served by the devices of the input, all of them free: "


def device_class() -> Json:
    spec = {"selectors": [{"cel": {"expression": 'device.driver == "a"'}}], "extendedResourceName": NAME}
    return made("resource.k8s.io/v1", "DeviceClass", "a", spec=spec)


def node(name: str, plugin: int = 0) -> Json:
    allocatable = {"cpu": "8", "memory": "8Gi", "pods": "110", NAME: str(plugin)}
    return made("v1", "Node", name, spec={}, status={"allocatable": allocatable})


def piece(name: str, devices: int) -> Json:
    spec = {
        "driver": "a",
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"a-{number}"} for number in range(devices)],
    }
    return made("resource.k8s.io/v1", "ResourceSlice", f"{name}-a", spec=spec)


def pod(count: int) -> Json:
    containers = [{"name": "main", "image": "example.com/app", "resources": {"limits": {NAME: str(count)}}}]
    return made(
        "v1", "Pod", "p", spec={"schedulerName": "dra-scheduler", "containers": containers}, namespace="default"
    )


def findings(*items: Json, **world: Json) -> list[str]:
    listed = [*items, *manifests(world)]
    ended = dra("check", "-", "-o", "json", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    return [f"{item['severity']} {item['object']} {item['path']}: {item['message']}" for item in json.loads(ended.out)]


NODES = (device_class(), node("dra"), piece("dra", 4), node("plugin", 3))
TYPES: Json = {"t": {"devices": {"a": 4}}, "u": {"has": {NAME: 3}}}
OF_DEVICES = f'extended resource {NAME} of container "main" (class a): needs 5 matching free devices (at most 4 free)'


@pytest.mark.parametrize(
    ("items", "world", "against"),
    [
        (NODES, {}, f"0/2 nodes fit: on 1: insufficient {NAME}, needs 5 (3 free at most); on 1: {OF_DEVICES}"),
        ((node("plugin", 3),), {}, f"0/1 nodes fit: on 1: insufficient {NAME}, needs 5 (3 free at most)"),
        ((device_class(),), {"types": TYPES}, f"instance types: {OF_DEVICES}"),
        ((device_class(),), {"types": TYPES, "pools": {"q": {}, "r": {}}}, f"NodePools q, r: {OF_DEVICES}"),
        (
            (),
            {"types": {"u": {"has": {NAME: 3}}}, "pools": {"q": {}}},
            f"NodePool q: insufficient {NAME}, needs 5 (3 free at most)",
        ),
    ],
)
def test_more_than_any_node_or_type_has_is_never_served(items: tuple[Json, ...], world: Json, against: str) -> None:
    assert findings(*items, pod(5), **world) == [f"warning Pod default/p $.spec.containers: {NEVER}{against}"]


@pytest.mark.parametrize(
    ("items", "world"),
    [
        ((*NODES, pod(4)), {}),
        ((node("plugin", 3), pod(3)), {}),
        ((*NODES, pod(5)), {"types": {"t": {"devices": {"a": 5}}}, "pools": {"q": {}}}),
        ((device_class(), pod(5)), {}),
        ((device_class(), node("dra"), pod(5)), {}),
    ],
    ids=["by devices", "by a device plugin", "by a type", "input without nodes", "input without slices"],
)
def test_what_something_could_serve_is_no_finding(items: tuple[Json, ...], world: Json) -> None:
    assert findings(*items, **world) == []


@pytest.mark.parametrize("annotation", ["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"])
def test_a_pod_that_asks_for_a_fraction_is_wrong(annotation: str) -> None:
    asking = pod(1)
    asking["metadata"]["annotations"] = {annotation: "1"}

    found = findings(device_class(), node("dra"), piece("dra", 4), asking)

    (fault,) = (one for one in found if annotation in one)
    assert fault.startswith("error Pod default/p $.metadata.annotations:")
    assert "consumable capacity" in fault
