"""What comes of steps besides their writes: Events, and when the NodeClaim is looked at again."""

import pytest

from dra_builders.values import pod
from dra_kube.api import Json
from dra_kube.errors import ApiError, ThrottledError
from dra_operating.clock import ManualClock
from dra_operating.requests import RequestsInMemory
from dra_operator.api.events import EventMessage, Recorder
from dra_operator.roles.nodeclaims.stepping import RECHECK_SECONDS, Stepper
from dra_operator.roles.nodeclaims.writer import StepWriter
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClassRef
from dra_scheduling.nodeclaims import ChangeNode, Delete, Evict, Wait
from dra_scheduling.nodeclaims.lifecycle_steps import Notice as ToTell
from dra_scheduling.wire import write

CLAIM = "/apis/karpenter.sh/v1/nodeclaims/c1"
NODE = "/api/v1/nodes/n1"
REASON = ToTell(reason="Why", message="because")


class Telling(Recorder):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def tell(self, notice: EventMessage) -> None:
        self.told.append((notice.regarding.kind, notice.reason, notice.message))


class Desk:
    """A stepper, the server that it writes to, and what it tells."""

    def __init__(self) -> None:
        self.server = RequestsInMemory()
        self.recorder = Telling()
        clock = ManualClock()
        self.stepper = Stepper(StepWriter(self.server, clock), self.recorder, clock)
        reference = NodeClassRef("dra-scheduler.dev", "InstanceType", "default")
        spec = NodeClaimSpec(node_class_ref=reference, requirements=())
        self.claim = NodeClaim(metadata=ObjectMeta(name="c1", uid="uid-c1", resource_version="1"), spec=spec)
        self.server.put(CLAIM, write(self.claim))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def a_pod(desk: Desk, name: str, error: ApiError | None = None) -> None:
    path = f"/api/v1/namespaces/default/pods/{name}"
    body: Json = {"metadata": {"name": name, "uid": pod(name).metadata.uid}}
    desk.server.put(path, body)
    if error is not None:
        desk.server.refusals[f"{path}/eviction"] = error


async def test_waiting_writes_nothing_and_tells_once(desk: Desk) -> None:
    for _ in range(2):
        assert await desk.stepper.take(desk.claim, Wait(notices=(REASON,)), None) is None

    assert desk.server.calls == []
    assert desk.recorder.told == [("NodeClaim", "Why", "because")]


async def test_a_time_that_has_passed_is_no_time_to_wait_for(desk: Desk) -> None:
    assert await desk.stepper.take(desk.claim, Wait(until="2000-01-01T00:00:00Z"), None) == 0.0


async def test_a_deletion_is_told_when_it_has_happened(desk: Desk) -> None:
    desk.server.refusals[CLAIM] = ApiError("delete", 500)
    with pytest.raises(ApiError):
        await desk.stepper.take(desk.claim, Delete(notices=(REASON,)), None)
    assert desk.recorder.told == []
    desk.server.refusals.clear()

    assert await desk.stepper.take(desk.claim, Delete(notices=(REASON,)), None) == RECHECK_SECONDS
    assert desk.recorder.told == [("NodeClaim", "Why", "because")]


async def test_what_the_server_refuses_for_good_is_told_once(desk: Desk) -> None:
    desk.server.refusals[NODE] = ApiError("patch", 422, reason="Invalid", message="taints[1]: Duplicate value")
    for _ in range(2):
        with pytest.raises(ApiError):
            await desk.stepper.take(desk.claim, ChangeNode(name="n1", uid="uid-n1"), None)

    (told,) = desk.recorder.told
    assert told[:2] == ("NodeClaim", "StepRefused")
    assert "Duplicate value" in told[2]


async def test_pods_that_may_go_do_beside_one_that_may_not(desk: Desk) -> None:
    a_pod(desk, "held", ThrottledError("evict", 429, reason="TooManyRequests", message="its budget is used up"))
    a_pod(desk, "free")

    pause = await desk.stepper.take(desk.claim, Evict(pods=(pod("held"), pod("free"))), None)

    assert pause == RECHECK_SECONDS
    assert "/api/v1/namespaces/default/pods/free" not in desk.server.objects
    (told,) = desk.recorder.told
    assert told[1] == "EvictionBlocked"
    assert "default/held" in told[2]


async def test_where_all_are_held_the_next_look_is_when_the_first_pause_is_over(desk: Desk) -> None:
    error = ThrottledError("evict", 429)
    error.retry_after = 7.0
    a_pod(desk, "held", error)
    step = Evict(pods=(pod("held"),))

    assert await desk.stepper.take(desk.claim, step, None) == 7.0
    assert await desk.stepper.take(desk.claim, Evict(pods=step.pods, until="2000-01-01T00:00:00Z"), None) == 0.0
