from collections.abc import Callable

import pytest

from dra_controlplane.client import Json
from dra_demo.check import findings
from dra_demo.objects import DRIVER, RESOURCE, claim, gpu_slice, node, pod
from dra_demo.rows import rows
from dra_demo.state import State
from dra_demo.world import Place

EXPECTED = {
    "trainer": Place(nodes=("n1",), devices=1),
    "server": Place(nodes=("n1",), devices=1),
    "huge": Place(),
}


def bound(value: Json) -> Json:
    value["metadata"]["uid"] = f"uid-{value['metadata']['name']}"
    value["spec"]["nodeName"] = "n1"
    return value


def held(value: Json, device: str, by: str, request: str) -> Json:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    value["status"] = {
        "reservedFor": [{"resource": "pods", "name": by, "uid": f"uid-{by}"}],
        "allocation": {
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            "devices": {"results": [{"request": request, "driver": DRIVER, "pool": "n1", "device": device}]},
        },
    }
    return value


def world() -> State:
    """A pod with a claim, one with an extended resource, and one that waits."""
    trainer = bound(pod("trainer", claim_from={"resourceClaimName": "gpu"}))
    server = bound(pod("server", limits={RESOURCE: "1"}))
    mapping = {"containerName": "main", "resourceName": RESOURCE, "requestName": "r"}
    server["status"] = {"extendedResourceClaimStatus": {"resourceClaimName": "special", "requestMappings": [mapping]}}
    huge = pod("huge", limits={RESOURCE: "33"})
    huge["metadata"]["uid"] = "uid-huge"
    reason = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "too many"}
    huge["status"] = {"conditions": [reason]}
    special = held(claim("special"), "gpu-1", "server", "r")
    special["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "uid-server", "controller": True}]
    special["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return State(
        pods={"trainer": trainer, "server": server, "huge": huge},
        claims={"gpu": held(claim("gpu"), "gpu-0", "trainer", "gpu"), "special": special},
        bind_requests={
            name: {"spec": {"selectedNode": "n1"}, "status": {"phase": "Succeeded"}} for name in ("trainer", "server")
        },
        nodes={"n1": node("n1")},
        slices=(gpu_slice("n1", range(2)),),
    )


def problems(state: State) -> list[str]:
    found = findings(rows(state, EXPECTED), state, EXPECTED)
    return [problem for finding in found for problem in finding.problems]


def test_a_world_in_order_has_no_problem() -> None:
    assert problems(world()) == []


def double(state: State) -> None:
    state.claims["special"]["status"]["allocation"]["devices"]["results"][0]["device"] = "gpu-0"


def unreserve(state: State) -> None:
    state.claims["gpu"]["status"]["reservedFor"] = []


def move(state: State) -> None:
    state.pods["trainer"]["spec"]["nodeName"] = "n2"


def renumber(state: State) -> None:
    state.slices[0]["spec"]["pool"]["resourceSliceCount"] = 2


def unmap(state: State) -> None:
    state.pods["server"]["status"]["extendedResourceClaimStatus"]["requestMappings"] = []


def disown(state: State) -> None:
    state.claims["special"]["metadata"]["ownerReferences"] = []


def fail(state: State) -> None:
    state.bind_requests["server"]["status"]["phase"] = "Failed"


def silence(state: State) -> None:
    state.pods["huge"]["status"] = {}


def overdraw(state: State) -> None:
    state.pods["server"]["status"] = {}


def leave_over(state: State) -> None:
    state.claims["left"] = held(claim("left"), "gpu-9", "huge", "r")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (double, f"{DRIVER}/n1/gpu-0 is in gpu and special"),
        (unreserve, "claim gpu is not reserved for it"),
        (move, "expected to be bound to n1, is n2"),
        (renumber, f"{DRIVER}/n1/gpu-0 of trainer is not published for node n1"),
        (unmap, f"its container does not get 1 devices for {RESOURCE}"),
        (disown, "claim special is not the extended resource claim of this pod"),
        (fail, "its BindRequest has not succeeded"),
        (silence, "its PodScheduled condition does not say why it waits"),
        (overdraw, f"pods on n1 take more than the 0 {RESOURCE} that it offers"),
        (leave_over, "claim left holds devices for it"),
    ],
)
def test_an_untruth_is_found(spoil: Callable[[State], None], problem: str) -> None:
    state = world()
    spoil(state)

    assert problem in problems(state)


def test_a_row_that_was_shown_otherwise_is_found() -> None:
    before = world()
    shown = rows(before, EXPECTED)
    move(before)

    untrue = [finding.problems for finding in findings(shown, before, EXPECTED) if not finding.is_true]

    assert ("trainer was shown otherwise",) in untrue
