"""Which pods are to be planned for, and when: those that come together are planned together."""

import heapq

import msgspec

from dra_scheduling.model.base import Value
from dra_scheduling.state.assignments import OutOfBudget, Unschedulable

MOST_PODS = 2_000
"""So many pods go into one plan."""

PlanRefused = Unschedulable | OutOfBudget


class PlanSettings(Value, frozen=True, kw_only=True):
    """How nodes are planned. With `is_trial` pods are told what would be made, and nothing is.

    A node made for a pod is waited for while it has a taint that nobody planned with, `gate_seconds` at most.
    """

    idle_seconds: float = 1.0
    max_seconds: float = 10.0
    most_pods: int = MOST_PODS
    is_trial: bool = False
    gate_seconds: float = 900.0


class BatchState(Value, frozen=True, kw_only=True):
    """Everything that a batch remembers, for a snapshot."""

    gathered: dict[str, PlanRefused] = msgspec.field(default_factory=dict)
    postponed: dict[str, Unschedulable] = msgspec.field(default_factory=dict)
    timers: tuple[tuple[float, str], ...] = ()
    first: float = 0.0
    last: float = 0.0


class PlanBatch:
    """Pods that were gathered for the next plan, and pods that were postponed, by UID with what refused them."""

    __slots__ = ("_first", "_gathered", "_last", "_postponed", "_settings", "_timers")

    def __init__(self, settings: PlanSettings, state: BatchState = BatchState()) -> None:  # noqa: B008  it is frozen
        self._settings = settings
        self._gathered = dict(state.gathered)
        self._postponed = dict(state.postponed)
        self._timers = list(state.timers)
        self._first, self._last = state.first, state.last

    @property
    def state(self) -> BatchState:
        """The state from which another one can be made."""
        return BatchState(
            gathered=dict(self._gathered),
            postponed=dict(self._postponed),
            timers=tuple(self._timers),
            first=self._first,
            last=self._last,
        )

    def __len__(self) -> int:
        return len(self._gathered) + len(self._postponed)

    def gather(self, uid: str, refused: PlanRefused, now: float) -> None:
        """Let the pod be part of the next plan."""
        if not self._gathered:
            self._first = now
        if uid not in self._gathered:
            self._last = now
        self._gathered[uid] = refused

    def postpone(self, uid: str, until: float, refused: Unschedulable) -> None:
        """Let the pod be gathered at that time; a pod that is postponed already keeps its time."""
        if uid not in self._postponed:
            heapq.heappush(self._timers, (until, uid))
        self._postponed[uid] = refused

    def drop(self, uid: str) -> None:
        """Forget the pod."""
        self._gathered.pop(uid, None)
        self._postponed.pop(uid, None)

    def drop_postponed(self, uid: str) -> None:
        """Forget that the pod was postponed: its turn has come."""
        self._postponed.pop(uid, None)

    def advance(self, now: float) -> tuple[str, ...]:
        """Gather the postponed pods whose time has come; return whose timers have ended."""
        ended = []
        while self._timers and self._timers[0][0] <= now:
            _, uid = heapq.heappop(self._timers)
            ended.append(uid)
            if uid in self._postponed:
                self.gather(uid, self._postponed.pop(uid), now)
        return tuple(ended)

    def next_time(self) -> float | None:
        """Return when the next plan is due or a postponed pod is gathered, None if never."""
        times = [until for until, _ in self._timers[:1]]
        if len(self._gathered) >= self._settings.most_pods:
            times.append(self._first)
        elif self._gathered:
            times.append(min(self._last + self._settings.idle_seconds, self._first + self._settings.max_seconds))
        return min(times, default=None)

    @property
    def is_empty(self) -> bool:
        """Whether no pod is gathered; some may be postponed."""
        return not self._gathered

    def take(self, now: float) -> tuple[str, ...]:
        """Return the pods of the next plan, the most important first. What is left is due at once."""
        ordered = sorted(self._gathered, key=lambda uid: self._gathered[uid].pod.rank)[: self._settings.most_pods]
        for uid in ordered:
            del self._gathered[uid]
        self._first = now - self._settings.max_seconds
        return tuple(ordered)
