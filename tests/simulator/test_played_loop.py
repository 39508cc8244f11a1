"""`dra simulate` is the operator's loop: what only a loop does shows in its answers."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes

GPU: Json = {"pools": {"default": {}}, "types": {"gpu": {"devices": {"a": 1}}}}
LATE = "2031-01-01T00:00:00Z"


def simulated(world: Json, *words: str, more: tuple[Json, ...] = ()) -> Json:
    items = [*standard_classes(), *manifests(world), *more]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    ended = dra("simulate", "-", "-o", "json", *words, text=text)
    assert ended.code == 0, ended.err
    found: Json = json.loads(ended.out)
    return found


def claims_of(world: Json) -> list[Json]:
    return [one for one in manifests(world) if one["kind"] == "NodeClaim"]


@pytest.mark.parametrize("younger", ["first", "second"])
def test_of_two_node_claims_that_the_same_pod_waits_for_the_younger_one_is_taken_back(younger: str) -> None:
    claim: Json = {"types": ["gpu"], "pods": ["p"]}
    world: Json = {**GPU, "nodeclaims": {"first": claim, "second": claim}, "pods": {"p": {"wants": ["r"]}}}
    others = [one for one in manifests(world) if one["kind"] != "NodeClaim"]
    times = {
        name: "2026-01-01T00:00:05Z" if name == younger else "2026-01-01T00:00:00Z" for name in ("first", "second")
    }
    claims = [
        {**one, "metadata": {**one["metadata"], "creationTimestamp": times[one["metadata"]["name"]]}}
        for one in claims_of(world)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*standard_classes(), *others, *claims]})

    found = json.loads(dra("simulate", "-", "-o", "json", "--launch", text=text).out)

    (older,) = {"first", "second"} - {younger}
    assert [one["metadata"]["name"] for one in found["nodeClaims"]] == [older]
    assert [one["spec"]["selectedNode"] for one in found["bindRequests"]] == [older]


def test_a_pod_that_hangs_while_it_ends_is_not_waited_for() -> None:
    world: Json = {
        "nodes": {"n1": {"cpu": 2}},
        "pods": {"old": {"cpu": 2, "runs": "n1", "phase": "Running", "deleting": True}, "p": {"cpu": 2}},
        **GPU,
    }

    assert simulated(world)["nominations"] == [{"pod": "default/p", "nodeClaim": "", "node": "n1"}]
    (waits,) = simulated(world, "--now", LATE)["nominations"]
    assert waits["nodeClaim"]


def test_more_pods_than_a_call_of_the_loop_decides_are_all_decided() -> None:
    world: Json = {"nodes": {"n1": {"cpu": 200}, "n2": {"cpu": 200}}, "pods": {"p": {"cpu": 1, "count": 150}}}

    assert len(simulated(world)["bindRequests"]) == 150


def test_pods_of_several_calls_of_the_loop_are_one_plan() -> None:
    world: Json = {"pools": {"default": {}}, "types": {"plain": {"cpu": 100}}, "pods": {"p": {"cpu": 1, "count": 300}}}

    found = simulated(world)

    assert (len(found["nodeClaims"]), len(found["nominations"])) == (3, 300)
