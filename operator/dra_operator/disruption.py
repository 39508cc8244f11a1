"""The part of the scheduler's thread that takes nodes away: looks every few seconds whether any is not needed.

What it decides is a list of writes, in order. Until they are made (or not), nothing new is decided; what is left of an
earlier decision, by this process or another, is found on the NodeClaims themselves.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import TypeGuard

import msgspec

from dra_operator.logs import log
from dra_operator.metrics import DISRUPTION_SECONDS, DISRUPTIONS
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption import (
    AbandonDecision,
    Create,
    DisruptionView,
    Ineligible,
    NodeActivity,
    Remove,
    Stay,
    Step,
    Successors,
    WhatIfOptions,
    first_steps,
    is_under_way,
    next_decision,
    next_steps,
    still_replaced,
)
from dra_scheduling.disruption.execution import GIVEN_UP

CARRY_SECONDS = 1.0
"""What was decided is looked after so often."""
MOST_NODES = 25
"""So many single nodes are looked at in one go: the thread takes in no news meanwhile."""
MOST_SECONDS = 1.0
LEAST_REST = 10.0
"""So many times as long as a look in vain took there is none: pods are what the thread is for."""
TOLD_SECONDS = 900.0
"""So long people are told nothing new about a NodeClaim that stays."""
MOST_TOLD = 10
"""Of so many NodeClaims people are told in one go; of the others the next time."""

_log = log("disruption")


class Told:
    """What people were told last about NodeClaims that stay: only what is new to them is told, and seldom."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, float]] = {}

    def news(self, kept: Iterable[Ineligible], now: float) -> tuple[Stay, ...]:
        """Return what is to be told now; it counts as told."""
        new = [one for one in kept if self._is_new(one, now)][:MOST_TOLD]
        self._last.update({one.claim.metadata.uid: (one.message, now) for one in new})
        return tuple(Stay(claim=one.claim, notice=one.message) for one in new)

    def keep_only(self, uids: frozenset[str]) -> None:
        """Forget all other NodeClaims."""
        self._last = {uid: told for uid, told in self._last.items() if uid in uids}

    def _is_new(self, kept: Ineligible, now: float) -> bool:
        last = self._last.get(kept.claim.metadata.uid)
        return last is None or (kept.message != last[0] and now >= last[1] + TOLD_SECONDS)


class Disruptor:
    """Works on the cluster of the thread that calls it. `clock` is any clock of seconds that never goes back."""

    def __init__(self, cluster: Cluster, interval: float, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._interval = interval
        self._clock = clock
        self._decides_at = self._carries_at = 0.0
        self._seen: dict[str, frozenset[str]] = {}
        self._changed: dict[str, float] = {}
        self._since: float | None = None
        self._told = Told()
        self._successors = Successors()
        self._doubted: dict[str, float] = {}
        self._turn = 0
        self._assumed: tuple[str, ...] = ()
        self._is_writing = False

    def next_time(self) -> float | None:
        """Return when to look next; None while writes are being made, or where there are no NodeClaims."""
        if self._is_writing or not self._cluster.inventory.claims:
            return None
        return min(self._decides_at, self._carries_at)

    def steps(self, now: float, *, is_quiet: bool) -> tuple[Step, ...]:
        """Return what is to be written now; `written` has to be called when that is done.

        Nothing new is decided unless it is quiet: pods that wait come first.
        """
        when = self.next_time()
        if when is None or now < when:
            return ()
        with DISRUPTION_SECONDS.time():
            try:
                steps = self._steps(now, is_quiet=is_quiet)
            except Exception:  # noqa: BLE001  whatever it is, scheduling goes on without it
                _log.exception("no node could be taken away")
                steps = ()
        self._is_writing = bool(steps)
        return steps

    def written(self, created: frozenset[str]) -> None:
        """Take note that the writes are over, and which NodeClaims were created."""
        for name in self._assumed:
            if name not in created:
                self._cluster.inventory.forget(name)
        self._assumed = ()
        self._is_writing = False

    def _steps(self, now: float, *, is_quiet: bool) -> tuple[Step, ...]:
        is_carrying = is_under_way(self._cluster)
        self._carries_at = now + (CARRY_SECONDS if is_carrying else self._interval)
        is_due = now >= self._decides_at
        is_deciding = is_due and is_quiet
        if is_due:
            self._decides_at = now + (self._interval if is_quiet else CARRY_SECONDS)
        if not is_deciding and not is_carrying:
            return ()
        outlook = DisruptionView(self._cluster)
        self._successors.look(outlook, now)
        # No clock here: what was decided is not to be given up because a search took long.
        steps = next_steps(outlook, WhatIfOptions(now=_moment(now)))
        if steps and is_deciding:
            self._decides_at = now + CARRY_SECONDS
        confirmed = self._confirmed(steps, now)
        if self._successors.are_expected:
            # They will need room that others must not be moved to meanwhile.
            self._decides_at = now + CARRY_SECONDS
            return confirmed
        if steps or not is_deciding:
            return confirmed
        return self._decided(outlook, now)

    def _confirmed(self, steps: tuple[Step, ...], now: float) -> tuple[Step, ...]:
        """Leave out what takes a decision back before the next look has found it again.

        A node that replaces another may be seen before its devices, and would not do without them.
        """
        taken_back = {step.claim.metadata.uid for step in steps if is_taken_back(step)}
        self._doubted = {uid: self._doubted.get(uid, now) for uid in taken_back}
        return tuple(
            step
            for step in steps
            if not is_taken_back(step) or now >= self._doubted[step.claim.metadata.uid] + CARRY_SECONDS
        )

    def _decided(self, outlook: DisruptionView, now: float) -> tuple[Step, ...]:
        if self._since is None:
            self._since = now
        self._note_changes(outlook, now)
        options = WhatIfOptions(now=_moment(now), budget=SearchBudget(is_late=self._end()))
        unrest = NodeActivity(changed=self._changed, since=self._since)
        started = self._clock()
        kept: list[Ineligible] = []
        decision = next_decision(outlook, options, unrest=unrest, first=self._turn, most=MOST_NODES, tell=kept.append)
        if decision is None:
            self._turn += MOST_NODES
            self._decides_at = now + max(self._interval, LEAST_REST * (self._clock() - started))
            return self._explained(kept, now)
        DISRUPTIONS.labels(decision.reason).inc(len(decision.claims))
        names = [claim.name for claim in decision.claims]
        _log.info("nodes are to go", reason=decision.reason, nodeclaims=names[:20], why=decision.message)
        steps = first_steps(decision, options.now)
        made = tuple(step.claim for step in steps if isinstance(step, Create))
        for claim in made:
            self._cluster.inventory.assume(claim)
        self._assumed = tuple(claim.name for claim in made)
        # One decision may open the way for the next.
        self._decides_at = now + CARRY_SECONDS
        return steps

    def _explained(self, kept: Iterable[Ineligible], now: float) -> tuple[Step, ...]:
        claims = self._cluster.inventory.claims.values()
        self._told.keep_only(frozenset(claim.metadata.uid for claim in claims))
        return self._told.news(kept, now)

    def _note_changes(self, outlook: DisruptionView, now: float) -> None:
        """Remember when pods came or went, or what a node replaces, node by node, as far as somebody was looking."""
        seen: dict[str, frozenset[str]] = {}
        for claim in self._cluster.inventory.claims.values():
            node = claim.status.node_name
            if node in self._cluster.nodes:
                pods = frozenset(pod.metadata.uid for pod in outlook.moving_from(node))
                # Once what it replaces is gone, the pods from there are on their way.
                seen[node] = pods | still_replaced(self._cluster, claim)
                if self._seen.get(node, seen[node]) != seen[node]:
                    self._changed[node] = now
        self._seen = seen
        self._changed = {node: when for node, when in self._changed.items() if node in seen}

    def _end(self) -> Callable[[], bool]:
        end = self._clock() + MOST_SECONDS
        return lambda: self._clock() >= end


def is_taken_back(step: Step) -> TypeGuard[AbandonDecision | Remove]:
    """Whether the step is one of those that end a decision because it was no good."""
    return isinstance(step, AbandonDecision) or (isinstance(step, Remove) and step.reason == GIVEN_UP)


class Carried(msgspec.Struct, frozen=True):
    """The writes that take nodes away are made, as far as they could be; these NodeClaims were created."""

    created: frozenset[str]


def _moment(now: float) -> str:
    return dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
