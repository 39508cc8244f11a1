"""`dra nodeclaims`: what each NodeClaim waits for, and which of its types serve its pods."""

import json

import pytest

from dra_cases.command import Ended, dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes

READY: Json = {"type": "Ready", "status": "True"}


def asked(world: Json, *words: str, more: tuple[Json, ...] = ()) -> Ended:
    items = [*standard_classes(), *manifests({"pools": {"default": {}}, **world}), *more]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    return dra("nodeclaims", *words, "-f", "-", text=text)


def listed(world: Json, *, more: tuple[Json, ...] = ()) -> Json:
    (found,) = json.loads(asked(world, "-o", "json", more=more).out)
    record: Json = found
    return record


def node(name: str, taints: tuple[Json, ...] = ()) -> Json:
    labels = {"karpenter.sh/nodepool": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": {"cpu": "8"}, "conditions": [READY]},
    }


UP: Json = {"Launched": True, "Registered": True}


@pytest.mark.parametrize(
    ("claim", "phase", "waits"),
    [
        ({}, "Planned", "Launched: no provider of dra-scheduler.dev has launched it"),
        ({"conditions": {"Launched": True}}, "Launched", "Registered: no node with its provider id is there"),
        (
            {"conditions": UP, "node": "gone"},
            "Registered",
            "Initialized: no node with its provider id is there any more",
        ),
        ({"conditions": {**UP, "Initialized": False}}, "Failed", "Initialized: no node with its provider id is there"),
        ({"conditions": UP, "deleting": True}, "Deleting", "its machine to be taken away"),
    ],
)
def test_a_node_claim_says_what_it_waits_for(claim: Json, phase: str, waits: str) -> None:
    found = listed({"nodeclaims": {"c": claim}})
    assert found["phase"] == phase
    assert found["waitsFor"][0].startswith(waits)


@pytest.mark.parametrize(
    ("conditions", "status", "rest"),
    [
        (
            {"Launched": True, "Registered": "RegistrationTimeout"},
            {"registrationFailures": 1, "registrationRetryAfter": "2031-01-01T00:00:00Z"},
            ["InstanceType t rests until 2031-01-01T00:00:00Z"],
        ),
        (
            {**UP, "Initialized": "DRADriverPoolsTimeout"},
            {"deviceFailures": 1, "retryAfter": "2031-01-01T00:00:00Z"},
            ["InstanceType t rests until 2031-01-01T00:00:00Z for pods with devices"],
        ),
        (UP, {"deviceFailures": 1, "retryAfter": "2031-01-01T00:00:00Z"}, []),
    ],
    ids=["no node", "no devices", "another one's failure"],
)
def test_a_node_claim_that_has_failed_says_how_long_its_type_rests(conditions: Json, status: Json, rest: Json) -> None:
    found = listed(
        {"types": {"t": {"status": status}}, "nodeclaims": {"c": {"is": {"type": "t"}, "conditions": conditions}}}
    )

    assert found["waitsFor"][1:] == rest


def test_the_gate_names_the_drivers_that_are_missing() -> None:
    claim: Json = {"conditions": UP, "node": "n1", "is": {"type": "both"}, "drivers": ["a", "b", "c"], "pods": ["p"]}
    world: Json = {
        "types": {"both": {"devices": {"a": 1, "b": 1}}},
        "nodeclaims": {"c": claim},
        "slices": [{"driver": "a", "node": "n1", "pool": "n1", "count": 2, "devices": ["d"]}],
    }
    found = listed(world, more=(node("n1"),))
    assert found["missingDrivers"] == ["a", "b"]
    gate = 'Initialized: DRADriverPoolsNotPublished: DRA driver "a" has not published a complete resource pool: '
    assert found["waitsFor"] == [f"{gate}pool n1 has 1 of 2 slices of generation 1"]
    assert found["pods"] == ["default/p"]


def test_a_start_up_taint_is_named_before_the_gate() -> None:
    taint: Json = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    found = listed({"nodeclaims": {"c": {"conditions": UP, "node": "n1"}}}, more=(node("n1", (taint,)),))
    assert "KnownEphemeralTaintsExist" in found["waitsFor"][0]


def test_a_node_claim_that_is_done_waits_for_nothing() -> None:
    found = listed({"nodeclaims": {"c": {"conditions": {**UP, "Initialized": True}, "node": "n1"}}}, more=(node("n1"),))
    assert (found["phase"], found["waitsFor"], found["missingDrivers"]) == ("Initialized", [], [])


def test_why_a_node_goes_is_told_and_whatever_else_it_says_of_that() -> None:
    reasons = {"Drifted": "NodePoolDrifted", "Consolidatable": "Consolidatable", "DisruptionReason": "Drifted"}
    up = [{"type": kind, "status": "True"} for kind in (*UP, "Initialized")]
    said = [{"type": kind, "status": "True", "reason": reason} for kind, reason in reasons.items()]
    said[2]["message"] = "others have room"
    claim: Json = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "c"},
        "spec": {"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []},
        "status": {"nodeName": "n1", "conditions": [*up, *said]},
    }
    why = "DisruptionReason: Drifted: others have room"

    assert listed({}, more=(claim,))["disruption"] == [why, "Drifted: NodePoolDrifted", "Consolidatable"]
    assert why in asked({}, "-o", "table", more=(claim,)).out


def test_one_node_claim_tells_which_types_serve_its_pods() -> None:
    types: Json = {"gpu": {"devices": {"a": 1}}, "more": {"devices": {"a": 2}, "price": 3}, "plain": {}}
    world: Json = {
        "types": types,
        "nodeclaims": {"c": {"types": ["gpu"], "pods": ["p"]}},
        "pods": {"p": {"wants": ["r"]}},
    }
    (fate,) = json.loads(asked(world, "c", "-o", "json").out)["fits"]
    told = {group["instanceType"]: (group["fits"], group["listed"]) for group in fate["instanceTypes"]}
    assert told == {"gpu": (True, ["gpu"]), "more": (True, []), "plain": (False, [])}


def test_nominated_pods_that_have_gone_are_told_of() -> None:
    ended = asked({"nodeclaims": {"c": {"pods": ["p"]}}}, "c", "-o", "table")
    assert "pod default/p: the pod is not there any more" in ended.out


def test_a_name_that_no_node_claim_has_ends_with_2() -> None:
    ended = asked({"nodeclaims": {"c": {}}}, "d")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "nodeclaims: NodeClaim d: -: expected a NodeClaim that is there: c\n"


def test_what_cannot_be_read_is_told_after_what_can() -> None:
    broken: Json = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "b"}, "spec": 1}
    ended = asked({"nodeclaims": {"c": {}}}, "-o", "json", more=(broken,))
    assert (ended.code, [one["nodeClaim"] for one in json.loads(ended.out)]) == (2, ["c"])
    assert len(ended.problems) == 1


def test_a_namespace_has_the_node_claims_that_its_pods_wait_for() -> None:
    world: Json = {"nodeclaims": {"c": {"pods": ["p"]}, "d": {}}}
    assert [one["nodeClaim"] for one in json.loads(asked(world, "-n", "default").out)] == ["c"]
    assert json.loads(asked(world, "-n", "elsewhere").out) == []


def test_a_node_that_lacks_nothing_waits_for_whoever_looks_after_it() -> None:
    found = listed({"nodeclaims": {"c": {"conditions": UP, "node": "n1"}}}, more=(node("n1"),))
    assert found["waitsFor"][0].startswith("Initialized: nothing is missing")


def test_no_node_claims_are_none() -> None:
    assert asked({}, "-o", "table").out == "none\n"
    assert json.loads(asked({}, "-o", "json").out) == []


def test_ages_are_those_at_the_end_of_the_input() -> None:
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "late", "creationTimestamp": "2030-01-01T03:30:00Z"},
        "spec": {},
    }
    assert listed({"nodeclaims": {"c": {}}}, more=(pod,))["age"] == "3h"
