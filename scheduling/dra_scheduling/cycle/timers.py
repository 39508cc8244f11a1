"""Times that the loop waits for: the end of a back-off and of a cooldown, and by when a search has to be over."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from dra_scheduling.allocation.deadline import IsLate, never
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.instancetypes import Failure, InstanceType


class BackoffTimers:
    """The ends of the back-offs of instance types. Times are seconds since 1970."""

    __slots__ = ("_ends",)

    def __init__(self, state: dict[str, tuple[float, ...]] | None = None) -> None:
        self._ends = dict(state or {})

    @property
    def state(self) -> dict[str, tuple[float, ...]]:
        """The state from which another one can be made."""
        return dict(self._ends)

    def changed(self, name: str, value: InstanceType | None, now: float) -> None:
        """Take note of a type as it is from now on, None where it is gone."""
        ends = tuple(end for end in _ends_of(value) if end > now) if value is not None else ()
        if ends:
            self._ends[name] = ends
        else:
            self._ends.pop(name, None)

    def next_time(self) -> float | None:
        """Return when the next back-off ends, None if none does."""
        return min((end for ends in self._ends.values() for end in ends), default=None)

    def take(self, now: float) -> bool:
        """Drop the back-offs that are over; return whether there were any."""
        when = self.next_time()
        if when is None or when > now:
            return False
        left = {name: tuple(end for end in ends if end > now) for name, ends in self._ends.items()}
        self._ends = {name: ends for name, ends in left.items() if ends}
        return True


def _ends_of(value: InstanceType) -> Iterator[float]:
    for failure in Failure:
        yield seconds_of(value.status.row(failure)[1])


class CooldownTimers:
    """Remembers each device for some seconds after it became free (`devices.ledger.Cooldown`)."""

    __slots__ = ("_now", "_seconds", "_until")

    def __init__(self, seconds: float) -> None:
        self._now = 0.0
        self._seconds = seconds
        self._until: dict[DeviceID, float] = {}

    @property
    def state(self) -> tuple[tuple[DeviceID, float], ...]:
        """The devices with the times at which their cool-downs end."""
        return tuple(self._until.items())

    def restart(self, state: Iterable[tuple[DeviceID, float]]) -> None:
        """Go on from an earlier `state`."""
        self._until = dict(state)

    def advance(self, now: float) -> None:
        """Let time pass: drop the devices whose cool-down is over. They are kept in the order in which it ends."""
        self._now = max(now, self._now)
        while self._until and self._until[first := next(iter(self._until))] <= self._now:
            del self._until[first]

    def start(self, device: DeviceID) -> None:
        """Take note that nobody has the device any more."""
        self._until.pop(device, None)
        if self._seconds > 0:
            self._until[device] = self._now + self._seconds

    def __len__(self) -> int:
        return len(self._until)

    def __contains__(self, device: object) -> bool:
        return device in self._until


class SearchDeadlines(Protocol):
    """Starts deadlines on a clock outside of the loop."""

    def start(self, seconds: float) -> IsLate:
        """Return a function that says whether so many seconds have passed since this call."""


class NoDeadlines:
    """For whoever has no clock: searches end by their steps alone."""

    def start(self, seconds: float) -> IsLate:  # noqa: ARG002  part of the protocol
        """Return that it is never late."""
        return never


class ClockDeadlines:
    """Deadlines on a clock that is called for seconds and never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    def start(self, seconds: float) -> IsLate:
        """Return a function that says whether the clock has gone on by so many seconds."""
        end = self._clock() + seconds
        return lambda: self._clock() >= end


NO_DEADLINES = NoDeadlines()
