"""A scheduling loop that is recorded: everything it observes and decides goes to a sink, too."""

from collections.abc import Callable, Iterable
from typing import Protocol

from dra_scheduling.allocation.deadline import IsLate
from dra_scheduling.cycle.decisions import Decisions
from dra_scheduling.cycle.events import Event, ObjectChanged, ObjectRemoved
from dra_scheduling.cycle.loop import UNLIMITED, Backlog
from dra_scheduling.cycle.record import (
    DecideCall,
    LateCall,
    decide_line,
    decisions_in_bytes,
    event_line,
    header_line,
    lines_of,
)
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.timers import SearchDeadlines
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import KubernetesObject, key_of


class Sink(Protocol):
    """Where a recording goes."""

    @property
    def is_full(self) -> bool:
        """Whether the next line is to begin a new file."""

    def begin(self, lines: Iterable[bytes]) -> None:
        """Begin a file with these lines."""

    def write(self, line: bytes) -> None:
        """Add a line to the file."""

    def fail(self, error: Exception) -> None:
        """End the recording: something cannot be written down, and without it nothing that follows can be replayed."""


class RecordedDeadlines:
    """SearchDeadlines of somebody else's, and which of their searches the clock has ended."""

    def __init__(self, deadlines: SearchDeadlines) -> None:
        self._deadlines = deadlines
        self._started = 0
        self._late: list[LateCall] = []

    def start(self, seconds: float) -> IsLate:
        """Return the deadline, numbered."""
        is_late = self._deadlines.start(seconds)
        number, questions, was_late = self._started, 0, False
        self._started += 1

        def asked() -> bool:
            nonlocal questions, was_late
            questions += 1
            if not was_late and is_late():
                was_late = True
                self._late.append((number, questions))
            return was_late

        return asked

    def restart(self) -> None:
        """Count from 0 again: a new file begins."""
        self._started = 0
        self._late.clear()

    def take(self) -> tuple[LateCall, ...]:
        """Return those that have become late since the last call."""
        taken = tuple(self._late)
        self._late.clear()
        return taken


class RecordedScheduler:
    """A `SchedulingLoop` that writes down what another one does. `deadlines` are the ones of that loop."""

    def __init__(self, scheduler: Scheduler, deadlines: RecordedDeadlines, sink: Sink) -> None:
        self._scheduler = scheduler
        self._deadlines = deadlines
        self._sink = sink
        self._objects: dict[tuple[type[KubernetesObject], ObjectKey], KubernetesObject] = {}
        self._begin()

    def observe(self, event: Event, now: float) -> None:
        """Write the event down and take it in."""
        if self._sink.is_full and not self._scheduler.is_busy:
            self._begin()
        self._write(lambda: self._noted(event, now))
        self._scheduler.observe(event, now)

    def decide(self, now: float, steps: int = UNLIMITED) -> Decisions:
        """Decide and write it down."""
        decisions = self._scheduler.decide(now, steps)
        late = self._deadlines.take()
        self._write(
            lambda: decide_line(DecideCall(steps=steps, late=late, decisions=decisions_in_bytes(decisions)), now)
        )
        return decisions

    def next_time(self) -> float | None:
        """Return when there is something to decide."""
        return self._scheduler.next_time()

    @property
    def is_busy(self) -> bool:
        """Whether the next call of `decide` goes on with the last one."""
        return self._scheduler.is_busy

    @property
    def backlog(self) -> Backlog:
        """How much there is to do."""
        return self._scheduler.backlog

    def _begin(self) -> None:
        self._deadlines.restart()
        # Whoever replays the file starts without any, and how far a search comes depends on them.
        self._scheduler.cluster.forget_answers()
        header = header_line(self._scheduler.settings, self._scheduler.state)
        self._sink.begin(lines_of(header, self._objects.values()))

    def _noted(self, event: Event, now: float) -> bytes:
        """Return the line of an event; what objects there are is known from now on."""
        if isinstance(event, ObjectChanged):
            self._objects[type(event.value), key_of(event.value)] = event.value
        elif isinstance(event, ObjectRemoved):
            self._objects.pop((type(event.value), key_of(event.value)), None)
        return event_line(event, now)

    def _write(self, line: Callable[[], bytes]) -> None:
        try:
            self._sink.write(line())
        except Exception as error:  # noqa: BLE001  whatever cannot be recorded, scheduling goes on
            self._sink.fail(error)
