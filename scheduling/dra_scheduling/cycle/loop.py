"""What drives see of a scheduling loop, recorded or not."""

from typing import Protocol

import msgspec

from dra_scheduling.cycle.decisions import Decisions
from dra_scheduling.cycle.events import Event

UNLIMITED = 10**15
"""Steps, for whoever has nothing else to do meanwhile."""


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods are in which state, and how many devices are held."""

    ready: int
    waiting: int
    held: int
    planned: int
    in_flight: int
    devices: int


class SchedulingLoop(Protocol):
    """Observes events and decides. Times are seconds since 1970."""

    def observe(self, event: Event, now: float) -> None:
        """Take in what has happened."""

    def decide(self, now: float, steps: int = UNLIMITED) -> Decisions:
        """Return what is to be written next, after about so many search steps."""

    def next_time(self) -> float | None:
        """Return when there is something to decide if nothing happens, None for never."""

    @property
    def is_busy(self) -> bool:
        """Whether the next call of `decide` goes on with the last one."""

    @property
    def backlog(self) -> Backlog:
        """How much there is to do."""
