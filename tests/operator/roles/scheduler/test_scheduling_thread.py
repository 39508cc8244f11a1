"""The thread takes in, asks whether all is read, and decides."""

import queue
import threading
from typing import Self

from dra_builders.values import (
    allocated,
    claim,
    node,
    pod,
    request,
)
from dra_controlplane.waiting import wait_until
from dra_operator.metrics import REGISTRY
from dra_operator.roles.scheduler.scheduling_thread import Calls, Level, SchedulingThread, Stop
from dra_scheduling.cycle.decisions import Decisions, PodCondition
from dra_scheduling.cycle.events import LeadershipChanged
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Node
from dra_scheduling.state.assignments import Assignment, Unschedulable


class Scheduling:
    """A running thread, and what it called."""

    def __init__(self) -> None:
        self.outcomes: queue.SimpleQueue[Decisions] = queue.SimpleQueue()
        self.failures: list[BaseException] = []
        self.questions = threading.Semaphore(0)
        calls = Calls(
            ask_level=self.questions.release,
            deliver=self.outcomes.put,
            failed=self.failures.append,
        )
        self.thread = SchedulingThread(Scheduler(SchedulerSettings(cycle_pods=10)), clock=lambda: 100.0, calls=calls)
        self.thread.inbox.put(LeadershipChanged(is_leading=True))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.inbox.put(Stop())
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()

    def outcome(self) -> Assignment | PodCondition:
        """Waits until the thread asks whether all is read, says so, and returns what it decides."""
        assert self.questions.acquire(timeout=60)
        self.thread.inbox.put(Level())
        (outcome,) = self.outcomes.get(timeout=60).outcomes
        return outcome


def test_the_thread_takes_in_and_decides() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(node("n1"))
        scheduling.thread.changed(pod("p"))

        outcome = scheduling.outcome()

    assert isinstance(outcome, Assignment)
    assert (outcome.node, scheduling.failures) == ("n1", [])


def test_nothing_is_decided_before_the_rest_of_the_news_was_read() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(pod("p"))
        assert scheduling.questions.acquire(timeout=60)

        scheduling.thread.changed(node("n1"))
        scheduling.thread.inbox.put(Level())
        (outcome,) = scheduling.outcomes.get(timeout=60).outcomes

    assert isinstance(outcome, Assignment)


def test_an_object_that_cannot_be_taken_in_does_not_end_the_thread() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(Node(metadata=None))  # type: ignore[arg-type]
        scheduling.thread.changed(pod("p"))

        outcome = scheduling.outcome()

    assert isinstance(outcome, Unschedulable)
    assert scheduling.failures == []


def test_the_figures_follow_the_news_where_there_is_nothing_to_decide() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(allocated(claim("c", request()), DeviceID("d", "n1", "gpu-0")))

        wait_until(
            lambda: REGISTRY.get_sample_value("dra_scheduler_devices", {"state": "reserved"}) == 1,
            "the ledger's figure to follow",
        )
