"""What `dra check` finds in NodePools and InstanceTypes, and in claims for nodes that could be made."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import TYPE_LABEL, made, manifests, standard_classes

UNUSED = "warning InstanceType t $.spec.requirements: no NodePool of the input can use it"
OF_POOL = "warning NodePool p $.spec.template.spec.requirements"


def findings(world: Json, *more: Json) -> list[str]:
    items = [*standard_classes()[:1], *manifests(world), *more]
    ended = dra("check", "-", "-o", "json", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = json.loads(ended.out)
    assert ended.code == (2 if ended.err else any(item["severity"] == "error" for item in found))
    return [f"{item['severity']} {item['object']} {item['path']}: {item['message']}" for item in found]


def template(count: int = 1, device_class: str = "a") -> Json:
    exactly = {"deviceClassName": device_class, "count": count}
    spec = {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    return made("resource.k8s.io/v1", "ResourceClaimTemplate", "t", spec=spec, namespace="default")


GPU: Json = {"pools": {"default": {}}, "types": {"gpu": {"devices": {"a": 4}}}}


@pytest.mark.parametrize(
    ("world", "finding"),
    [
        (
            {"types": {"t": {"overhead": {"cpu": 9}}}},
            'error InstanceType t $.spec.overhead["cpu"]: takes 9, there is 8 in spec.capacity',
        ),
        (
            {
                "types": {
                    "t": {
                        "devices": {"a": 1},
                        "bindings": [{"attribute": "x.org/root", "devices": [{"driver": "a", "name": "a-0"}]}],
                    }
                }
            },
            "warning InstanceType t $.spec.devices.bindings[0]: binds nothing, expected two devices or more",
        ),
        (
            {"types": {"t": {"offers": [{"available": False}]}}},
            "warning InstanceType t $.spec.offerings: expected an offering that is available, none is",
        ),
        (
            {"pools": {"p": {"needs": {"arch": ["arm64"]}}}, "types": {"t": {}}},
            f"{UNUSED}: p wants kubernetes.io/arch arm64",
        ),
        (
            {"pools": {"p": {"class": "other"}}, "types": {"t": {"class": "own"}}},
            f"{UNUSED}: none is of its node class",
        ),
        (
            {"pools": {"p": {"needs": {"arch": ["arm64"]}}}, "types": {"t": {}}},
            f"{OF_POOL}: no InstanceType of the input meets them",
        ),
        (
            {"pools": {"p": {"needs": {"zone": ["z9"]}}}, "types": {"t": {}, "u": {"zones": ["z8"]}}},
            f"{OF_POOL}: no InstanceType of the input meets them",
        ),
        (
            {"pools": {"p": {"limits": {"cpu": 4}}}, "types": {"t": {}}},
            "warning NodePool p $.spec.limits: not one of its instance types is within them, the pool makes no node",
        ),
        (
            {"pools": {"p": {"needs": {"type": {"operator": "Exists", "minValues": 2}}}}, "types": {"t": {}}},
            f"{OF_POOL}: minValues asks for 2 of {TYPE_LABEL}, the InstanceTypes of the input leave 1",
        ),
        (
            {"pools": {"p": {"needs": {"arch": {"operator": "Gt", "values": ["x"]}}}}},
            (
                "error NodePool p $.spec.template.spec.requirements: expected what the schema demands: "
                "requirements with operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single whole number, 0 or more"
            ),
        ),
        (
            {
                "pools": {"p": {}},
                "types": {"t": {}, "u": {"needs": {"type": ["t"]}}},
            },
            f"error InstanceType u $.spec.requirements: {TYPE_LABEL}=t are the nodes of InstanceType t already",
        ),
    ],
)
def test_what_is_wrong_with_supply_is_found(world: Json, finding: str) -> None:
    assert finding in findings(world)


def test_a_type_without_memory_is_one_that_the_api_server_refuses() -> None:
    spec = {"offerings": [{"zone": "z1", "price": "1"}], "capacity": {"cpu": 8}}
    assert findings({}, made("dra-scheduler.dev/v1alpha1", "InstanceType", "t", spec=spec)) == [
        "error InstanceType t $.spec.capacity: expected what the schema demands: expected cpu and memory"
    ]


def test_a_pool_whose_nodes_others_make_is_named() -> None:
    pool = manifests({"pools": {"theirs": {}}})[0]
    pool["spec"]["template"]["spec"]["nodeClassRef"]["group"] = "karpenter.k8s.aws"
    told = "others make the nodes of karpenter.k8s.aws, the operator only plans with them"
    assert findings(GPU, pool) == [f"warning NodePool theirs $.spec.template.spec.nodeClassRef.group: {told}"]


def test_sound_supply_has_no_findings() -> None:
    assert findings(GPU) == []


def test_a_claim_that_a_new_node_serves_is_no_finding() -> None:
    assert findings(GPU, template(4)) == []


def test_a_claim_that_neither_nodes_nor_types_serve_says_what_each_has_against_it() -> None:
    slices: list[Json] = [{"node": "n1", "pool": "n1", "devices": ["d"]}]
    world: Json = {**GPU, "types": {"gpu": {"devices": {"a": 4}}, "other": {"devices": {"a": 2}}}, "slices": slices}
    (found,) = findings({**world, "nodes": {"n1": {}}}, template(5))
    assert found.startswith("warning ResourceClaimTemplate default/t $.spec.spec.devices: is never served")
    assert "0/1 nodes fit: " in found
    assert "NodePool default: no instance type can satisfy the allocation, 0/2 fit" in found


def test_types_serve_where_the_input_has_no_node_pool() -> None:
    types: Json = {"types": {"gpu": {"devices": {"a": 4}}}}
    assert findings(types, template(4)) == []
    assert "instance types: " in findings({"types": {**types["types"], "two": {"devices": {"a": 3}}}}, template(5))[0]


def test_devices_of_types_count_as_devices_of_the_input() -> None:
    nobody = {"selectors": [{"cel": {"expression": 'device.driver == "nobody"'}}]}
    classes = made("resource.k8s.io/v1", "DeviceClass", "none", spec=nobody)
    assert findings(GPU, classes) == [
        "warning DeviceClass none $.spec.selectors[0].cel.expression: selects none of the 4 devices of the input"
    ]


def test_an_extended_resource_that_a_type_has_is_served() -> None:
    world: Json = {"pools": {"p": {}}, "types": {"t": {"has": {"x.org/g": 4}}}, "pods": {"p": {"asks": {"x.org/g": 1}}}}
    assert findings(world) == []
