"""What the queue remembers: its entries and the pods whose binds have failed."""

from enum import Enum

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cycle.order import turn_of
from dra_scheduling.model.base import Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod, Turn


class EntryState(Enum):
    """Where a pod of the queue is."""

    READY = "ready"
    TAKEN = "taken"
    WAITING = "waiting"
    HELD = "held"


class BindFailures(Value, frozen=True, kw_only=True):
    """How often the binds of a pod failed, and until when it is therefore left alone."""

    count: int = 0
    last: float = 0.0
    until: float = 0.0


NO_FAILURES = BindFailures()


class QueueEntry(msgspec.Struct, kw_only=True):
    """A pod of the queue, and what it waits for."""

    pod: Pod
    state: EntryState = EntryState.TAKEN
    wake: ClusterEvent = ClusterEvent.NOTHING
    claims: tuple[ObjectKey, ...] = ()
    node_claim: str = ""
    is_nominated: bool = False
    place: int = 0
    overruns: int = 0
    tries: int = 0
    settled: float = 0.0
    is_due: bool = False
    ticket: int = 0
    """What lies in a heap counts only while it carries the entry's present ticket."""

    @property
    def turn(self) -> Turn:
        """Its place among those that are ready."""
        return turn_of(self.pod, self.place if self.is_nominated else None)


class QueueState(Value, frozen=True, kw_only=True):
    """Everything that a queue remembers, for a snapshot."""

    entries: tuple[QueueEntry, ...] = ()
    timers: tuple[tuple[float, str], ...] = ()
    failures: dict[str, BindFailures] = msgspec.field(default_factory=dict)
