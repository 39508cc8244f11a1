import msgspec
import pytest

from dra_builders.values import pod
from dra_kube.api import Json
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operating.objects import at, raw
from dra_operator.api.events import Recorder
from dra_operator.roles.scheduler.pod_status import PodStatusWriter
from dra_operator.watch.cache import Cache
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason
from dra_scheduling.model.pods import Pod, PodCondition
from dra_scheduling.model.pods import PodStatus as Status
from dra_scheduling.state.assignments import Nominated

PATH = "/api/v1/namespaces/default/pods/p"


def nominated(node_claim: str) -> Nominated:
    message = f"waits for NodeClaim {node_claim}"
    reason = FoldedReason(reason="Nominated", message=message, nodes=0)
    return Nominated(pod=pod("p"), message=message, reasons=(reason,), wake=ClusterEvent.POD, node_claim=node_claim)


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.clock = ManualClock()
        self.cache = Cache()
        self.recorder = Recorder(self.api, "tester", self.clock)
        self.status = PodStatusWriter(self.api, self.recorder, self.cache, clock=self.clock, may_write=lambda: True)
        self.show(pod("p"))

    def show(self, value: Pod) -> None:
        self.api.put(PATH, raw(value))
        self.cache.put(at(value, 1))

    async def decide(self, outcome: Nominated) -> None:
        self.status.decided(outcome)
        await run_briefly(self.status.run(), self.recorder.run())
        self.clock.advance(100)

    def events(self) -> list[Json]:
        return [body for verb, path, body in self.api.calls if "/events" in path and verb in {"create", "patch"}]

    def conditions(self) -> list[Json]:
        return [body["status"]["conditions"][0] for _, path, body in self.api.calls if path == f"{PATH}/status"]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_nominated_pod_says_what_it_waits_for(world: World) -> None:
    await world.decide(nominated("n-1"))

    (condition,) = world.conditions()
    (event,) = world.events()
    assert (condition["status"], condition["message"]) == ("False", "waits for NodeClaim n-1")
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "Nominated", "waits for NodeClaim n-1")


async def test_a_pod_is_told_once_of_each_node_claim(world: World) -> None:
    for name in ("n-1", "n-1", "n-2"):
        await world.decide(nominated(name))

    assert [event["message"] for event in world.events()] == ["waits for NodeClaim n-1", "waits for NodeClaim n-2"]


async def test_what_an_earlier_process_told_is_not_told_again(world: World) -> None:
    condition = PodCondition(
        type="PodScheduled", status="False", reason="Unschedulable", message="waits for NodeClaim n-1"
    )
    world.show(msgspec.structs.replace(pod("p"), status=Status(conditions=(condition,))))

    await world.decide(nominated("n-1"))

    assert (world.events(), world.conditions()) == ([], [])
