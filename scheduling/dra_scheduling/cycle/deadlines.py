"""The second guard of a search besides its steps: a clock outside of the loop that is asked if it is late."""

from collections.abc import Callable
from typing import Protocol

from dra_scheduling.allocation.deadline import IsLate, never


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
