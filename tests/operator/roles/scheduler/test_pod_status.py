import msgspec
import pytest

from dra_builders.values import pod
from dra_kube.api import Json
from dra_kube.errors import UnclearError
from dra_operating.api import ApiInMemory, Fault
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operating.objects import at, raw
from dra_operator.api.events import Recorder
from dra_operator.roles.scheduler.pod_status import PASSING_SECONDS, PodStatusWriter
from dra_operator.watch.cache import Cache
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason
from dra_scheduling.model.pods import Pod, PodCondition
from dra_scheduling.state.assignments import Assignment, Outcome, Unschedulable, Waiting

PATH = "/api/v1/namespaces/default/pods/p"


def refused(message: str = "0/1 nodes fit", value: Pod | None = None) -> Unschedulable:
    reason = FoldedReason(reason="NotEnoughDevices", message=message, nodes=1)
    return Unschedulable(pod=value or pod("p"), message=message, reasons=(reason,), wake=ClusterEvent.DEVICES)


def waiting(reason: str) -> Waiting:
    return Waiting(
        pod=pod("p"),
        message="waits",
        reasons=(FoldedReason(reason=reason, message="waits", nodes=0),),
        wake=ClusterEvent.POD,
    )


def with_condition(value: Pod, **fields: str) -> Pod:
    status = msgspec.structs.replace(value.status, conditions=(PodCondition(type="PodScheduled", **fields),))
    return msgspec.structs.replace(value, status=status)


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.clock = ManualClock()
        self.cache = Cache()
        self.may_write = True
        self.recorder = Recorder(self.api, "tester", self.clock)
        self.status = PodStatusWriter(
            self.api, self.recorder, self.cache, clock=self.clock, may_write=lambda: self.may_write
        )
        self.show(pod("p"))

    def show(self, value: Pod) -> None:
        """Lets server and cache have the pod like this."""
        self.api.put(f"/api/v1/namespaces/default/pods/{value.metadata.name}", raw(value))
        self.cache.put(at(value, 1))

    async def decide(self, outcome: Outcome) -> None:
        self.status.decided(outcome)
        await self.run()

    async def run(self) -> None:
        await run_briefly(self.status.run(), self.recorder.run())

    def conditions(self) -> list[Json]:
        """Every condition written so far."""
        return [body["status"]["conditions"][0] for _, path, body in self.api.calls if path == f"{PATH}/status"]

    def event_counts(self) -> list[int]:
        return [value["count"] for path, value in self.api.objects.items() if "/events/" in path]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_pod_says_why_no_node_takes_it(world: World) -> None:
    await world.decide(refused("0/1 nodes fit: no devices"))

    (condition,) = world.conditions()
    told = {key: condition[key] for key in ("type", "status", "reason", "message")}
    assert told == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes fit: no devices",
    }
    assert "lastTransitionTime" in condition
    assert world.event_counts() == [1]


async def test_a_write_is_meant_for_this_pod_and_not_for_the_next_of_its_name(world: World) -> None:
    world.api.put(PATH, raw(pod("p"), uid="another"))

    await world.decide(refused())

    assert world.api.objects[PATH]["metadata"]["uid"] == "another"
    assert "conditions" not in world.api.objects[PATH].get("status", {})


async def test_what_the_pod_says_already_is_not_written_again(world: World) -> None:
    world.show(with_condition(pod("p"), status="False", reason="Unschedulable", message="0/1 nodes fit"))

    await world.decide(refused("0/1 nodes fit"))

    assert world.conditions() == []


async def test_another_message_keeps_the_time_since_which_the_pod_waits(world: World) -> None:
    world.show(with_condition(pod("p"), status="False", reason="Unschedulable", message="old"))

    await world.decide(refused("new"))

    (condition,) = world.conditions()
    assert "lastTransitionTime" not in condition


async def test_a_message_that_keeps_changing_is_written_now_and_then(world: World) -> None:
    for second in range(100):
        await world.decide(refused(f"message {second}"))
        world.clock.advance(1)

    # At once, then after pauses of 1, 2, 4, 8, 16, 32 and 60 seconds.
    assert [one["message"].split()[1] for one in world.conditions()] == ["0", "1", "3", "7", "15", "31", "63"]


async def test_the_last_message_is_written_in_the_end(world: World) -> None:
    await world.decide(refused("first"))
    await world.decide(refused("second"))
    await world.decide(refused("third"))
    world.clock.advance(1)

    await world.run()

    assert [one["message"] for one in world.conditions()] == ["first", "third"]


async def test_there_is_one_event_a_step_of_the_backoff(world: World) -> None:
    for _ in range(300):
        await world.decide(refused())
        world.clock.advance(1)

    # At once, and after 10, 20, 40, 80 and 160 seconds more, of which the last is still to come.
    assert world.event_counts() == [5]


@pytest.mark.parametrize(("reason", "events"), [("ClaimMissing", [1]), ("ClaimNotCreated", [])])
async def test_a_pod_that_waits_for_others_is_told_once_it_has_waited(
    world: World, reason: str, events: list[int]
) -> None:
    await world.decide(waiting(reason))
    assert (world.conditions(), world.event_counts()) == ([], [])

    world.clock.advance(PASSING_SECONDS)
    await world.run()

    assert [one["reason"] for one in world.conditions()] == [reason]
    assert world.event_counts() == events


async def test_a_pod_that_waits_for_its_claim_for_a_moment_is_not_written_to(world: World) -> None:
    await world.decide(waiting("ClaimMissing"))
    world.clock.advance(PASSING_SECONDS / 2)
    await world.decide(Assignment(pod=pod("p"), node="n"))
    world.clock.advance(PASSING_SECONDS)
    await world.run()

    assert world.conditions() == []


async def test_pods_that_waited_for_a_moment_keep_no_others_from_being_told(world: World) -> None:
    for number in range(200):
        passing = pod(f"p{number}")
        world.status.decided(msgspec.structs.replace(waiting("ClaimMissing"), pod=passing))
        world.status.decided(Assignment(pod=passing, node="n"))
    world.clock.advance(PASSING_SECONDS + 1)

    await world.decide(refused())

    assert len(world.conditions()) == 1


async def test_what_the_server_says_about_gates_is_left_alone(world: World) -> None:
    world.show(with_condition(pod("p"), status="False", reason="SchedulingGated", message="the server's own words"))

    await world.decide(waiting("SchedulingGated"))

    assert world.conditions() == []


async def test_nothing_is_written_about_a_pod_that_has_gone(world: World) -> None:
    world.status.decided(refused())
    world.status.removed(pod("p"))

    await world.run()

    assert world.conditions() == []


async def test_nothing_is_written_about_a_pod_that_was_placed_meanwhile(world: World) -> None:
    world.status.decided(refused())
    world.status.decided(Assignment(pod=pod("p"), node="n"))

    await world.run()

    assert world.conditions() == []


async def test_a_replica_that_does_not_lead_writes_nothing(world: World) -> None:
    world.may_write = False

    await world.decide(refused())

    assert world.conditions() == []


async def test_a_write_that_failed_is_made_with_the_next_decision(world: World) -> None:
    world.api.faults.append(Fault(verb="patch", path="/status", error=UnclearError("patch", 500)))
    await world.decide(refused())
    world.clock.advance(1)

    await world.decide(refused())

    assert len(world.api.objects[PATH]["status"]["conditions"]) == 1


async def test_many_pods_are_told_at_a_bounded_rate(world: World) -> None:
    for number in range(200):
        world.show(pod(f"p{number}"))
        world.status.decided(refused(value=pod(f"p{number}")))
    await world.run()

    assert sum(path.endswith("/status") for _, path, _ in world.api.calls) == 50
