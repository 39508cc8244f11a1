"""The thread that drives the scheduling loop: events come in by its inbox, decisions go out by calls."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from dra_operator.roles.scheduler.cycle_reporter import measure
from dra_scheduling.cycle.decisions import Decisions
from dra_scheduling.cycle.events import DecideDuration, Event, ObjectChanged, ObjectRemoved
from dra_scheduling.cycle.loop import SchedulingLoop
from dra_scheduling.wire import KubernetesObject

# Seconds. With the default of 5 ms the event loop waits that long for the interpreter at every step of a cycle.
SWITCH_INTERVAL = 0.0005
IDLE_SECONDS = 60.0
LONG_SECONDS = 0.1
"""Of calls of `decide` that take longer the loop is told."""
BATCH = 5_000
STEPS = 50_000
"""After so many search steps, half a second or so, events are taken in."""


class Level(msgspec.Struct, frozen=True):
    """Everything that was known when this was asked for has been observed, of all kinds."""


class Stop(msgspec.Struct, frozen=True):
    """The thread is to end."""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """What the thread calls. `ask_level` asks for one `Level` message, before which nothing is decided."""

    ask_level: Callable[[], None]
    deliver: Callable[[Decisions], None]
    failed: Callable[[BaseException], None]


Inbox = queue.SimpleQueue[Event | Level | Stop]


class SchedulingThread(threading.Thread):
    """Runs a loop until it is told to stop. Calls what `calls` holds from its own thread."""

    def __init__(self, scheduler: SchedulingLoop, *, clock: Callable[[], float], calls: Calls) -> None:
        super().__init__(name="scheduling cycle", daemon=True)
        self.inbox: Inbox = queue.SimpleQueue()
        self._scheduler = scheduler
        self._clock = clock
        self._calls = calls
        self._has_asked = False

    def changed(self, value: KubernetesObject) -> None:
        """Pass an object on; to be called from the event loop."""
        self.inbox.put(ObjectChanged(value))

    def removed(self, value: KubernetesObject) -> None:
        """Pass on that an object is gone; to be called from the event loop."""
        self.inbox.put(ObjectRemoved(value))

    def run(self) -> None:
        """Observe and decide in turn, so that no decision is made on old events."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            while self._turn():
                pass
        except BaseException as error:
            self._calls.failed(error)
            raise

    def _turn(self) -> bool:
        is_level = False
        for message in self._messages():
            if isinstance(message, Stop):
                return False
            if isinstance(message, Level):
                is_level = True
            else:
                self._scheduler.observe(message, self._clock())
        if is_level:
            self._has_asked = False
        if is_level or self._scheduler.is_busy:
            self._decide()
        measure(self._scheduler.backlog)
        if not self._has_asked and not self._scheduler.is_busy and not self._pause():
            self._has_asked = True
            self._calls.ask_level()
        return True

    def _decide(self) -> None:
        started = time.monotonic()
        decisions = self._scheduler.decide(self._clock(), STEPS)
        if not decisions.is_empty:
            self._calls.deliver(decisions)
        seconds = time.monotonic() - started
        if seconds > LONG_SECONDS:
            self._scheduler.observe(DecideDuration(seconds), self._clock())

    def _pause(self) -> float:
        """Return how many seconds may pass before there is something to decide, if nothing happens."""
        when = self._scheduler.next_time()
        return IDLE_SECONDS if when is None else min(max(when - self._clock(), 0.0), IDLE_SECONDS)

    def _messages(self) -> Iterator[Event | Level | Stop]:
        seconds = IDLE_SECONDS if self._has_asked else self._pause()
        try:
            yield self.inbox.get(timeout=seconds) if seconds > 0 else self.inbox.get_nowait()
            for _ in range(BATCH):
                yield self.inbox.get_nowait()
        except queue.Empty:
            return
