"""A scheduling loop that leads, and is told of objects as a watch would."""

from contextlib import AbstractContextManager, nullcontext

from dra_scheduling.allocation.deadline import IsLate, never
from dra_scheduling.cycle.events import LeadershipChanged, ObjectChanged, ObjectRemoved
from dra_scheduling.cycle.reporter import Phase, SilentReporter
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.state.assignments import Nominated, Outcome
from dra_scheduling.wire import KubernetesObject

IDLE_SECONDS = 60.0


class CountingReporter(SilentReporter):
    """Counts decisions about pods, those that nobody is told of included, and plans."""

    def __init__(self) -> None:
        self.decisions = 0
        self.plans = 0

    def timed(self, phase: Phase) -> AbstractContextManager[object]:
        """Count plans."""
        self.plans += phase is Phase.PLAN
        return nullcontext()

    def decided(self, outcome: Outcome | Nominated) -> None:
        """Count one more."""
        self.decisions += 1


class LateAtFirst:
    """Deadlines of so many seconds of which the first is over when it starts."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_first = True

    def start(self, seconds: float) -> IsLate:
        """Return whether it is late."""
        if seconds != self._seconds or not self._is_first:
            return never
        self._is_first = False
        return lambda: True


class ToldCore:
    """A loop at the time `now`, in seconds; tests let time pass by changing it."""

    def __init__(self, scheduler: Scheduler, now: float) -> None:
        self.now = now
        self.scheduler = scheduler
        self.scheduler.observe(LeadershipChanged(is_leading=True), self.now)

    def add(self, *values: KubernetesObject) -> None:
        """These are new or different."""
        for value in values:
            self.scheduler.observe(ObjectChanged(value), self.now)

    def remove(self, value: KubernetesObject) -> None:
        """This is gone."""
        self.scheduler.observe(ObjectRemoved(value), self.now)

    def pause(self) -> float:
        """Seconds until there is something to decide, if nothing happens."""
        return pause(self.scheduler, self.now)


def pause(scheduler: Scheduler, now: float) -> float:
    """Seconds until there is something to decide, if nothing happens."""
    when = scheduler.next_time()
    return IDLE_SECONDS if when is None else min(max(when - now, 0.0), IDLE_SECONDS)
