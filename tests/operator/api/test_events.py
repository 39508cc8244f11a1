import pytest

from dra_builders.values import node, pod
from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, MissingError, ThrottledError, UnclearError
from dra_operating.api import ApiInMemory, Fault
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operator.api.events import AT_ONCE, MAX_WAITING, PER_SECOND, EventMessage, EventType, Recorder, Regarding

EVENTS = "/api/v1/namespaces/default/events"


def notice(
    message: str = "no room",
    *,
    name: str = "p",
    severity: EventType = EventType.WARNING,
    reason: str = "FailedScheduling",
) -> EventMessage:
    return EventMessage(regarding=Regarding.of(pod(name)), severity=severity, reason=reason, message=message)


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.clock = ManualClock()
        self.pauses: list[float] = []
        self.recorder = Recorder(self.api, "tester", self.clock, sleep=self.pause)

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def tell(self, *notices: EventMessage) -> None:
        for one in notices:
            self.recorder.tell(one)
        await run_briefly(self.recorder.run())

    def events(self) -> list[Json]:
        return [value for path, value in self.api.objects.items() if "/events/" in path]

    def count(self, reason: str) -> int:
        return sum(int(event["count"]) for event in self.events() if event["reason"] == reason)


@pytest.fixture
def world() -> World:
    return World()


async def test_an_event_names_its_object(world: World) -> None:
    await world.tell(notice())

    (event,) = world.events()
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "namespace": "default",
        "uid": "uid-default-p",
    }
    assert (event["type"], event["message"], event["count"]) == ("Warning", "no room", 1)


async def test_a_repetition_is_counted_in_the_same_event(world: World) -> None:
    await world.tell(notice("a"), notice("b"), notice("c"))

    (event,) = world.events()
    assert (event["message"], event["count"]) == ("c", 3)


async def test_counting_goes_on_after_a_restart(world: World) -> None:
    await world.tell(notice(), notice())
    world.recorder = Recorder(world.api, "another", world.clock)

    await world.tell(notice())

    assert [event["count"] for event in world.events()] == [3]


async def test_an_event_that_has_expired_is_begun_anew(world: World) -> None:
    await world.tell(notice())
    world.api.objects.clear()

    await world.tell(notice())

    assert [event["count"] for event in world.events()] == [1]


async def test_events_of_a_node_are_in_the_default_namespace(world: World) -> None:
    await world.tell(EventMessage(regarding=Regarding.of(node("n")), severity=EventType.NORMAL, reason="R", message=""))

    (event,) = world.events()
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.parametrize("error", [ApiError("create", 403), ConflictError("create", 409), MissingError("create", 404)])
async def test_an_event_that_is_refused_is_dropped_and_the_next_written(world: World, error: ApiError) -> None:
    world.api.faults.append(Fault(verb="create", path="/events", error=error))

    await world.tell(notice(name="first"), notice(name="second"))

    assert [event["involvedObject"]["name"] for event in world.events()] == ["second"]


async def test_many_pods_that_are_bound_cost_nobody_the_reason_why_another_waits(world: World) -> None:
    bound = [notice(name=f"bound-{number}", reason="Scheduled", severity=EventType.NORMAL) for number in range(1_000)]
    waiting = notice(name="waiting", reason="BindingConditionsPending", severity=EventType.NORMAL)
    await world.tell(*bound, waiting)

    assert world.count("Scheduled") == AT_ONCE
    assert world.count("BindingConditionsPending") == 1


async def test_a_reason_is_told_of_again_when_some_time_has_passed(world: World) -> None:
    many = [notice(name=f"p-{number}") for number in range(1_000)]
    await world.tell(*many)
    world.clock.advance(2)
    await world.tell(*many)

    assert world.count("FailedScheduling") == AT_ONCE + 2 * PER_SECOND


async def test_of_each_reason_so_much_waits_for_a_slow_server_and_no_more(world: World) -> None:
    for number in range(1_000):
        world.clock.advance(1)
        world.recorder.tell(notice(name=f"p-{number}"))
    await world.tell(notice(name="other", reason="BindFailed"))

    assert world.count("FailedScheduling") == MAX_WAITING
    assert world.count("BindFailed") == 1


async def test_events_are_written_in_the_order_in_which_they_were_told(world: World) -> None:
    reasons = ["Scheduled", "BindFailed", "Scheduled", "FailedScheduling"]
    await world.tell(*(notice(name=f"p-{number}", reason=reason) for number, reason in enumerate(reasons)))

    assert [event["reason"] for event in world.events()] == reasons


@pytest.mark.parametrize("error", [ThrottledError("create", 429), UnclearError("create", 500)])
async def test_a_server_that_is_busy_is_asked_again_twice(world: World, error: ApiError) -> None:
    world.api.faults += [Fault(verb="create", path="/events", error=error) for _ in range(5)]

    await world.tell(notice(name="first"), notice(name="second"))

    assert [event["involvedObject"]["name"] for event in world.events()] == ["second"]
    assert len(world.pauses) == 4
