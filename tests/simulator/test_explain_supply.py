"""Why a pod would or would not get a node: every NodePool, instance type by instance type."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes


def explained(world: Json, pod: str = "p") -> Json:
    items = [*standard_classes(), *manifests({"pools": {"default": {}}, **world})]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    found: Json = json.loads(dra("simulate", "-", "-o", "json", "--explain", pod, text=text).out)["explanation"]
    return found


def said(supply: Json) -> dict[str, list[str]]:
    return {
        name: [reason["message"] for reason in group["reasons"]]
        for group in supply["instanceTypes"]
        for name in group["names"]
    }


WANTS: Json = {"p": {"wants": ["r"]}}
NEVER: Json = {"name": "r", "where": ["false"]}


@pytest.mark.parametrize(
    ("world", "name", "reason"),
    [
        ({"types": {"t": {"cpu": 2}}, "pods": {"p": {"cpu": 4}}}, "t", "insufficient cpu, needs 4 and has 2 for pods"),
        (
            {"pools": {"default": {"taints": ["k=v:NoSchedule"]}}, "types": {"t": {}}, "pods": {"p": {}}},
            "t",
            "untolerated taint k=v:NoSchedule",
        ),
        (
            {"types": {"t": {}}, "pods": {"p": {"needs": {"arch": ["arm64"]}}}},
            "t",
            "the pod requires kubernetes.io/arch arm64, it has amd64",
        ),
        (
            {"pools": {"default": {"limits": {"cpu": 4}}}, "types": {"t": {}}, "pods": {"p": {}}},
            "t",
            "the limits of the NodePool leave no room for it",
        ),
        (
            {"types": {"t": {"offers": [{"available": False}]}}, "pods": {"p": {}}},
            "t",
            "no offering of it is available",
        ),
        (
            {
                "types": {"t": {"devices": {"a": 1}, "status": {"retryAfter": "2031-01-01T00:00:00Z"}}},
                "pods": WANTS,
            },
            "t",
            "its nodes have failed to publish their devices lately, tried again at 2031-01-01T00:00:00Z",
        ),
        ({"types": {"t": {}}, "pods": WANTS}, "t", 'claim "gpu" request "r" (class a): no device matches'),
        (
            {"pools": {"default": {"needs": {"arch": ["arm64"]}}}, "types": {"t": {}}, "pods": {"p": {}}},
            "t",
            "nodes have kubernetes.io/arch amd64, the NodePool has arm64",
        ),
        (
            {"types": {"t": {"overhead": {"cpu": 9}}}, "pods": {"p": {}}},
            "t",
            'it is not valid: spec.overhead["cpu"]: takes 9, there is 8 in spec.capacity',
        ),
    ],
)
def test_every_reason_of_a_type_is_told(world: Json, name: str, reason: str) -> None:
    assert reason in said(explained(world)["supply"])[name]


def test_a_type_is_told_all_that_stands_against_it() -> None:
    world = {
        "pools": {"default": {"taints": ["k:NoSchedule"], "limits": {"cpu": 4}}},
        "types": {"t": {"cpu": 5}},
        "pods": {"p": {"cpu": 6, "wants": ["r"], "selector": {"zone": "z9"}}},
    }
    (group,) = explained(world)["supply"]["instanceTypes"]
    assert {reason["reason"] for reason in group["reasons"]} == {
        "InsufficientResource",
        "LimitReached",
        "NoMatchingDevice",
        "RequirementsConflict",
        "UntoleratedTaint",
    }


def test_the_nearest_miss_is_the_type_that_lacks_least() -> None:
    two = [{"name": "r", "count": 2}]
    types: Json = {"plain": {"price": 0.1}, "one": {"devices": {"a": 1}, "price": 9}, "far": {"cpu": 1, "price": 5}}
    supply = explained({"types": types, "pods": {"p": {"cpu": 4, "wants": two}}})["supply"]
    assert (supply["nearestMiss"]["nodePool"], supply["nearestMiss"]["instanceType"]) == ("default", "one")
    assert supply["refusals"]


def test_types_that_serve_come_first_and_there_is_no_miss() -> None:
    types: Json = {"plain": {"price": 0.1}, "small": {"devices": {"a": 1}, "price": 9}, "big": {"devices": {"a": 2}}}
    story = explained({"types": types, "pods": WANTS})
    assert [group["fits"] for group in story["supply"]["instanceTypes"]] == [True, True, False]
    assert story["supply"]["nearestMiss"] is None
    assert story["outcome"].startswith("waits for NodeClaim default-")


def test_types_that_look_the_same_are_told_of_once() -> None:
    types: Json = {f"t{number}": {"price": 9 - number} for number in range(5)}
    (group,) = explained({"types": types, "pods": WANTS})["supply"]["instanceTypes"]
    assert (group["count"], group["instanceType"]) == (5, "t4")


def test_a_node_claim_on_its_way_says_why_the_pod_does_not_join_it() -> None:
    world: Json = {
        "types": {"gpu": {"devices": {"a": 1}}},
        "nodeclaims": {"old": {"types": ["gpu"], "pods": ["q"], "drivers": ["a"]}},
        "pods": {"p": {"wants": ["r"]}, "q": {"wants": ["r"]}},
    }
    (host,) = explained(world)["supply"]["nodeClaims"]
    assert (host["name"], host["fits"]) == ("old", False)
    assert host["reasons"]


def test_minimum_values_that_no_single_type_can_miss_are_told_of_the_pool() -> None:
    pool: Json = {"default": {"needs": {"type": {"operator": "Exists", "minValues": 2}}}}
    supply = explained({"pools": pool, "types": {"t": {}}, "pods": {"p": {}}})["supply"]
    assert [group["fits"] for group in supply["instanceTypes"]] == [True]
    assert "minValues asks for" in supply["refusals"][0]["message"]


def test_a_pod_that_a_node_takes_asks_for_no_other() -> None:
    world: Json = {"nodes": {"n1": {}}, "types": {"t": {}}, "pods": {"p": {}}}
    assert explained(world)["supply"] is None


def test_asking_changes_no_plan() -> None:
    world: Json = {"pools": {"default": {}}, "types": {"gpu": {"devices": {"a": 1}}}, "pods": {"p": {"wants": ["r"]}}}
    items = [*standard_classes(), *manifests(world)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    plain: Json = json.loads(dra("simulate", "-", "-o", "json", text=text).out)
    asked = json.loads(dra("simulate", "-", "-o", "json", "--explain", "p", text=text).out)
    del asked["explanation"]
    assert asked == plain


@pytest.mark.parametrize(
    ("types", "pod", "nearest"),
    [
        ({"bare": {"price": 1}, "gpu": {"price": 9, "devices": {"a": 1}}}, {"wants": [NEVER]}, "gpu"),
        ({"small": {"price": 1, "cpu": 8}, "large": {"price": 9, "cpu": 16}}, {"cpu": 32}, "large"),
    ],
    ids=["a type with devices for a pod with devices", "the type with most room"],
)
def test_the_nearest_type_is_not_simply_the_cheapest(types: Json, pod: Json, nearest: str) -> None:
    supply = explained({"types": types, "pods": {"p": pod}})["supply"]
    assert supply["nearestMiss"]["instanceType"] == nearest
