"""When pods came to nodes or went last: their own ones, and no more of a node that is gone."""

import pytest

from dra_cases.fleet import BORN, NOW, pod
from dra_operator.roles.nodeclaims.pod_events import PodEvents
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import read

SEEN = seconds_of(NOW)
KEY = ObjectKey("default", "p")


class Desk:
    """Somebody who looks, at a time that can be set."""

    def __init__(self) -> None:
        self.now = SEEN
        self.events = PodEvents(lambda: self.now)

    def see(self, node: str = "", **more: object) -> tuple[str, ...]:
        value = read(pod("p", node, None, **more))
        assert isinstance(value, Pod)
        return self.events.changed(value)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_pod_comes_when_it_is_bound_and_not_before(desk: Desk) -> None:
    assert desk.see() == ()
    desk.now += 5
    assert desk.see("a") == ("a",)

    assert desk.events.last("a") == SEEN + 5
    assert desk.see("a") == ()


def test_a_pod_that_was_there_before_counts_from_its_creation(desk: Desk) -> None:
    assert desk.see("a") == ("a",)

    assert desk.events.last("a") == seconds_of(BORN)


@pytest.mark.parametrize("change", [{"is_deleting": True}, {"phase": "Succeeded"}, {"phase": "Failed"}])
def test_a_pod_goes_when_it_ends_or_is_told_to(desk: Desk, change: dict[str, object]) -> None:
    desk.see("a")

    assert desk.see("a", **change) == ("a",)
    assert desk.events.last("a") == SEEN


def test_a_pod_that_is_gone_went(desk: Desk) -> None:
    desk.see("a", is_deleting=True)
    desk.now += 30

    assert desk.events.removed(KEY) == ("a",)
    assert desk.events.last("a") == SEEN + 30
    assert desk.events.removed(KEY) == ()


def test_what_ended_before_does_not_count_when_it_is_cleared_away(desk: Desk) -> None:
    desk.see("a", phase="Succeeded")

    assert desk.events.removed(KEY) == ()


def test_pods_that_belong_to_their_node_do_not_count(desk: Desk) -> None:
    assert desk.see("a", owner="DaemonSet") == ()
    assert desk.events.removed(KEY) == ()
    assert desk.events.last("a") == 0.0


def test_another_pod_of_the_name_on_another_node_concerns_both(desk: Desk) -> None:
    desk.see("a")

    assert desk.see("b") == ("b", "a")
    assert desk.events.last("a") == desk.events.last("b") == SEEN


def test_of_a_node_that_is_gone_nothing_is_kept(desk: Desk) -> None:
    desk.see("a")
    desk.events.forget("a")

    assert desk.see("a", is_deleting=True) == ()
    assert desk.events.removed(KEY) == ()
    assert desk.events.last("a") == 0.0
