import pytest

from dra_binder.errors import ApiError, ConflictError, MissingError
from dra_operating.api import ApiInMemory, Fault
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operator.api import Json
from dra_operator.events import Notice, Recorder, Regarding, Severity
from dra_scheduling.testing import node, pod

EVENTS = "/api/v1/namespaces/default/events"


def notice(message: str = "no room", *, name: str = "p", severity: Severity = Severity.WARNING) -> Notice:
    return Notice(regarding=Regarding.of(pod(name)), severity=severity, reason="FailedScheduling", message=message)


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.clock = ManualClock()
        self.recorder = Recorder(self.api, "tester", self.clock)

    async def tell(self, *notices: Notice) -> None:
        for one in notices:
            self.recorder.tell(one)
        await run_briefly(self.recorder.run())

    def events(self) -> list[Json]:
        return [value for path, value in self.api.objects.items() if "/events/" in path]


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
    await world.tell(Notice(regarding=Regarding.of(node("n")), severity=Severity.NORMAL, reason="R", message=""))

    (event,) = world.events()
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.parametrize("error", [ApiError("create", 403), ConflictError("create", 409), MissingError("create", 404)])
async def test_an_event_that_is_refused_is_dropped_and_the_next_written(world: World, error: ApiError) -> None:
    world.api.faults.append(Fault(verb="create", path="/events", error=error))

    await world.tell(notice(name="first"), notice(name="second"))

    assert [event["involvedObject"]["name"] for event in world.events()] == ["second"]


async def test_good_news_gives_way_to_bad_news_under_load(world: World) -> None:
    good = [notice(name=f"good-{number}", severity=Severity.NORMAL) for number in range(50)]
    bad = [notice(name=f"bad-{number}") for number in range(50)]

    await world.tell(*good)
    await world.tell(*bad)

    names = [event["involvedObject"]["name"].partition("-")[0] for event in world.events()]
    assert (names.count("good"), names.count("bad")) == (20, 50)
