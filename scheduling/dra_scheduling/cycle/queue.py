"""Which pending pods are worth a try now: those that are new, or that a change could have helped.

A pod that was refused waits for the kinds of change that its refusal names (`ClusterEvent`), a pod whose bind failed
for the end of its backoff, and every waiting pod for a slow safety net as well. All work is in proportion to the pods
that change state. Times are seconds on one clock of the caller's, which is passed in.
"""

import heapq
from collections.abc import Iterable, Iterator
from copy import copy
from typing import TypeVar

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cycle.queue_state import NO_FAILURES, BindFailures, EntryState, QueueEntry, QueueState
from dra_scheduling.devices.ledger_entries import special_owner
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Pod, Turn
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome, OutOfBudget

FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 300.0
SAFETY_NET = 300.0
SPARE_PLACES = 1_000
# A pod whose circumstances keep changing to no avail is tried at once so often, and then at this interval.
PROMPT_TRIES = 5
RETRY_INTERVAL = 1.0
# A pod with a node on its way takes what becomes free elsewhere, but need not be quick about it.
NOMINATED_INTERVAL = 5.0

K = TypeVar("K")


def backoff(failures: int) -> float:
    """Return the pause in seconds after so many failures: 1, 2, 4 and so on up to 300."""
    return min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(max(failures, 1) - 1, 30))


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods are in which state."""

    ready: int
    waiting: int
    held: int


class SchedulingQueue:
    """The pending pods of one scheduler, by UID."""

    __slots__ = (
        "_by_claim",
        "_by_node_claim",
        "_by_wake",
        "_counts",
        "_entries",
        "_failures",
        "_ready",
        "_tickets",
        "_timers",
    )

    def __init__(self, state: QueueState = QueueState()) -> None:  # noqa: B008  it is frozen
        self._entries: dict[str, QueueEntry] = {}
        self._failures = dict(state.failures)
        self._ready: list[tuple[Turn, int, str]] = []
        self._timers: list[tuple[float, int, str]] = []
        self._by_wake: dict[ClusterEvent, dict[str, None]] = {}
        self._by_claim: dict[ObjectKey, dict[str, None]] = {}
        self._by_node_claim: dict[str, dict[str, None]] = {}
        self._counts = dict.fromkeys(EntryState, 0)
        self._tickets = 0
        self._restore(state)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: object) -> bool:
        return uid in self._entries

    @property
    def depth(self) -> Depth:
        """How many pods are ready, wait for a change, or are held back after a failure."""
        counts = self._counts
        return Depth(ready=counts[EntryState.READY], waiting=counts[EntryState.WAITING], held=counts[EntryState.HELD])

    def offer(self, pod: Pod, now: float) -> None:
        """Take note of a pending pod. It is ready unless it is known and has not changed in what a decision reads."""
        uid = pod.metadata.uid
        entry = self._entries.get(uid)
        if entry is None:
            entry = self._entries[uid] = QueueEntry(pod=pod)
            self._counts[entry.state] += 1
        else:
            before, entry.pod = entry.pod, pod
            if entry.state is EntryState.READY and before.rank != pod.rank:
                self._enter(uid, entry, EntryState.TAKEN)
            elif entry.state is not EntryState.TAKEN and _read_by_decisions(before) == _read_by_decisions(pod):
                return
            entry.tries = 0
        self._make_ready(uid, entry, now)

    def withdraw(self, uid: str) -> None:
        """Take a pod out that is not pending at present; its failures are remembered."""
        entry = self._entries.pop(uid, None)
        if entry is not None:
            self._leave(uid, entry)
            self._counts[entry.state] -= 1

    def forget(self, uid: str) -> None:
        """Take a pod out for good: it is bound or gone."""
        self.withdraw(uid)
        self._failures.pop(uid, None)

    def wake(self, change: ClusterEvent, now: float, *claim: ResourceClaim) -> None:
        """Make the pods ready that a change of these kinds could help, at once or in a moment.

        Where it is a claim that changed, `claim` is how it was and how it is: then `ClusterEvent.CLAIMS` is for the
        pods that name it, for the one whose special claim it is, and for no others.
        """
        if claim and change & ClusterEvent.CLAIMS:
            change &= ~ClusterEvent.CLAIMS
            for uid in dict.fromkeys(uid for state in claim for uid in self._concerned_by(state)):
                self._let_try(uid, self._entries[uid], now)
        for mask in [mask for mask in self._by_wake if mask & change]:
            for uid in list(self._by_wake[mask]):
                self._let_try(uid, self._entries[uid], now)

    def wake_nominated(self, node_claim: str, now: float) -> None:
        """Make the pods ready that wait for this NodeClaim, and only these."""
        for uid in list(self._by_node_claim.get(node_claim, ())):
            self._make_ready(uid, self._entries[uid], now)

    def failed(self, uid: str, attempts: int, at: float) -> None:
        """Record that a bind of the pod failed for the `attempts`-th time at that moment.

        The same failure told twice counts once. Attempts start again at 1 with a new BindRequest; the pause does not.
        """
        before = self._failures.get(uid, NO_FAILURES)
        if at <= before.last and attempts <= before.count:
            return
        count = max(attempts, before.count + (at > before.last))
        failures = self._failures[uid] = BindFailures(count=count, last=at, until=at + backoff(count))
        entry = self._entries.get(uid)
        if entry is not None:
            self._hold(uid, entry, failures.until)

    def settle(self, outcome: Outcome | Nominated, now: float) -> None:
        """Put a pod that was taken where its outcome says."""
        uid = outcome.pod.metadata.uid
        entry = self._entries.get(uid)
        if entry is None:
            return
        if isinstance(outcome, Assignment):
            self.withdraw(uid)
            return
        entry.wake, entry.settled, entry.is_due = outcome.wake, now, False
        entry.tries += 1
        entry.overruns = entry.overruns + 1 if isinstance(outcome, OutOfBudget) else 0
        pause = backoff(entry.overruns) if entry.overruns else SAFETY_NET
        self._enter(uid, entry, EntryState.WAITING)
        entry.claims = tuple(sorted(set(claim_keys(entry.pod).values()))) if entry.wake & ClusterEvent.CLAIMS else ()
        entry.node_claim = outcome.node_claim if isinstance(outcome, Nominated) else ""
        entry.is_nominated = bool(entry.node_claim)
        entry.place = outcome.place if isinstance(outcome, Nominated) else 0
        self._list(uid, entry)
        self._set_timer(now + pause, uid, entry)

    def take(self, now: float, limit: int) -> tuple[Pod, ...]:
        """Return at most `limit` ready pods in the order in which they are to be decided; each must be settled."""
        self._ring(now)
        return tuple(self._pop(limit))

    def put_back(self, pods: Iterable[Pod], now: float) -> None:
        """Make pods ready again that were taken and not decided; one that has left the queue since stays away."""
        for pod in pods:
            entry = self._entries.get(pod.metadata.uid)
            if entry is not None and entry.state is EntryState.TAKEN:
                self._make_ready(pod.metadata.uid, entry, now)

    def take_waiting(self, uids: Iterable[str]) -> tuple[Pod, ...]:
        """Return those of these pods that are ready or wait for a change, as they are now; each must be settled."""
        taken = []
        for uid in uids:
            entry = self._entries.get(uid)
            if entry is not None and entry.state in {EntryState.READY, EntryState.WAITING}:
                self._enter(uid, entry, EntryState.TAKEN)
                taken.append(entry.pod)
        return tuple(taken)

    @property
    def state(self) -> QueueState:
        """The state from which another one can be made; not while pods are taken and not settled."""
        timers = ((when, uid) for when, ticket, uid in self._timers if self._is_current(ticket, uid))
        return QueueState(
            entries=tuple(map(copy, self._entries.values())),
            timers=tuple(sorted(timers)),
            failures=dict(self._failures),
        )

    def next_time(self) -> float | None:
        """Return when the next pod becomes ready by itself; 0.0 if one is, None if none ever will."""
        if self._counts[EntryState.READY]:
            return 0.0
        while self._timers and not self._is_current(self._timers[0][1], self._timers[0][2]):
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _restore(self, state: QueueState) -> None:
        for one in state.entries:
            entry, uid = copy(one), one.pod.metadata.uid
            self._tickets += 1
            entry.ticket = self._tickets
            self._entries[uid] = entry
            self._counts[entry.state] += 1
            if entry.state is EntryState.READY:
                heapq.heappush(self._ready, (entry.turn, entry.ticket, uid))
            elif entry.state is EntryState.WAITING:
                self._list(uid, entry)
        for when, uid in state.timers:
            heapq.heappush(self._timers, (when, self._entries[uid].ticket, uid))

    def _list(self, uid: str, entry: QueueEntry) -> None:
        """Let the changes that a waiting pod waits for find it."""
        self._by_wake.setdefault(entry.wake, {})[uid] = None
        for key in entry.claims:
            self._by_claim.setdefault(key, {})[uid] = None
        if entry.node_claim:
            self._by_node_claim.setdefault(entry.node_claim, {})[uid] = None

    def _pop(self, limit: int) -> Iterator[Pod]:
        while limit and self._ready:
            _, ticket, uid = heapq.heappop(self._ready)
            if self._is_current(ticket, uid):
                entry = self._entries[uid]
                self._enter(uid, entry, EntryState.TAKEN)
                limit -= 1
                yield entry.pod

    def _ring(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            _, ticket, uid = heapq.heappop(self._timers)
            if self._is_current(ticket, uid):
                self._make_ready(uid, self._entries[uid], now)

    def _concerned_by(self, claim: ResourceClaim) -> Iterator[str]:
        """Yield the pods that wait for a change of this claim: by its name, or as the owner of a special claim."""
        yield from self._by_claim.get(claim.key, ())
        owner = special_owner(claim)
        entry = self._entries.get(owner)
        if entry is not None and entry.state is EntryState.WAITING and entry.wake & ClusterEvent.CLAIMS:
            yield owner

    def _let_try(self, uid: str, entry: QueueEntry, now: float) -> None:
        """Make a waiting pod ready, at once unless it was tried so often that it may wait a moment."""
        is_prompt = entry.tries < PROMPT_TRIES and not entry.node_claim
        again = entry.settled + (NOMINATED_INTERVAL if entry.node_claim else RETRY_INTERVAL)
        if is_prompt or again <= now:
            self._make_ready(uid, entry, now)
        elif not entry.is_due:
            entry.is_due = True
            self._set_timer(again, uid, entry)

    def _make_ready(self, uid: str, entry: QueueEntry, now: float) -> None:
        failures = self._failures.get(uid)
        if failures is not None and failures.until > now:
            self._hold(uid, entry, failures.until)
        elif entry.state is not EntryState.READY:
            self._enter(uid, entry, EntryState.READY)
            heapq.heappush(self._ready, (entry.turn, entry.ticket, uid))
            # A replica that only stands by never takes any, while pods come and go.
            if len(self._ready) > SPARE_PLACES + 2 * len(self._entries):
                self._ready = [ready for ready in self._ready if self._is_current(ready[1], ready[2])]
                heapq.heapify(self._ready)

    def _hold(self, uid: str, entry: QueueEntry, until: float) -> None:
        self._enter(uid, entry, EntryState.HELD)
        self._set_timer(until, uid, entry)

    def _set_timer(self, when: float, uid: str, entry: QueueEntry) -> None:
        heapq.heappush(self._timers, (when, entry.ticket, uid))
        if len(self._timers) > SPARE_PLACES + 2 * len(self._entries):
            self._timers = [timer for timer in self._timers if self._is_current(timer[1], timer[2])]
            heapq.heapify(self._timers)

    def _enter(self, uid: str, entry: QueueEntry, state: EntryState) -> None:
        self._leave(uid, entry)
        self._counts[entry.state] -= 1
        self._counts[state] += 1
        entry.state = state
        self._tickets += 1
        entry.ticket = self._tickets

    def _leave(self, uid: str, entry: QueueEntry) -> None:
        if entry.state is EntryState.WAITING:
            _take_out(self._by_wake, entry.wake, uid)
            for key in entry.claims:
                _take_out(self._by_claim, key, uid)
            if entry.node_claim:
                _take_out(self._by_node_claim, entry.node_claim, uid)
            entry.claims, entry.node_claim = (), ""

    def _is_current(self, ticket: int, uid: str) -> bool:
        entry = self._entries.get(uid)
        return entry is not None and entry.ticket == ticket


def _take_out(groups: dict[K, dict[str, None]], key: K, uid: str) -> None:
    del groups[key][uid]
    if not groups[key]:
        del groups[key]


def _read_by_decisions(pod: Pod) -> object:
    status = pod.status
    return (pod.spec, pod.metadata.labels, status.resource_claim_statuses, status.extended_resource_claim_status)
