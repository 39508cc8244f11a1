"""The part of the loop that removes nodes: looks every few seconds whether any is not needed.

What it decides is a list of writes, in order. Until they are made (or not), nothing new is decided; what is left of an
earlier decision, by this process or another, is found on the NodeClaims themselves.
"""

from collections.abc import Iterable
from typing import TypeGuard

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.times import time_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.reporter import CycleReporter, Phase
from dra_scheduling.cycle.timers import SearchDeadlines
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
from dra_scheduling.disruption.replacement_pods import SuccessorsState
from dra_scheduling.model.base import Value

CARRY_SECONDS = 1.0
"""What was decided is looked after so often."""
MOST_NODES = 25
"""So many single nodes are looked at in one go."""
MOST_SECONDS = 1.0
LEAST_REST = 10.0
"""The pause after a look without a decision is at least so many times as long as the look took."""
TOLD_SECONDS = 900.0
"""So long people are told nothing new about a NodeClaim that stays."""
MOST_TOLD = 10
"""Of so many NodeClaims people are told in one go; of the others the next time."""


class DisruptState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot."""

    decides_at: float = 0.0
    carries_at: float = 0.0
    seen: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    changed: dict[str, float] = msgspec.field(default_factory=dict)
    since: float | None = None
    told: dict[str, tuple[str, float]] = msgspec.field(default_factory=dict)
    successors: SuccessorsState = SuccessorsState()
    doubted: dict[str, float] = msgspec.field(default_factory=dict)
    turn: int = 0
    assumed: tuple[str, ...] = ()
    is_writing: bool = False


class StayNotices:
    """What people were told last about NodeClaims that stay: only what is new to them is told, and seldom."""

    __slots__ = ("last",)

    def __init__(self, last: dict[str, tuple[str, float]] | None = None) -> None:
        self.last = dict(last or {})

    def news(self, kept: Iterable[Ineligible], now: float) -> tuple[Stay, ...]:
        """Return what is to be told now; it counts as told."""
        new = [one for one in kept if self._is_new(one, now)][:MOST_TOLD]
        self.last.update({one.claim.metadata.uid: (one.message, now) for one in new})
        return tuple(Stay(claim=one.claim, notice=one.message) for one in new)

    def keep_only(self, uids: frozenset[str]) -> None:
        """Forget all other NodeClaims."""
        self.last = {uid: told for uid, told in self.last.items() if uid in uids}

    def _is_new(self, kept: Ineligible, now: float) -> bool:
        last = self.last.get(kept.claim.metadata.uid)
        return last is None or (kept.message != last[0] and now >= last[1] + TOLD_SECONDS)


class Disruptor:
    """Decides about the nodes of a cluster; everything it knows besides the cluster is in its `state`."""

    def __init__(
        self,
        cluster: Cluster,
        interval: float,
        *,
        deadlines: SearchDeadlines,
        reporter: CycleReporter,
        state: DisruptState | None = None,
    ) -> None:
        known = DisruptState() if state is None else state
        self._cluster = cluster
        self._interval = interval
        self._deadlines = deadlines
        self._reporter = reporter
        self._decides_at, self._carries_at = known.decides_at, known.carries_at
        self._seen = {node: frozenset(uids) for node, uids in known.seen.items()}
        self._changed = dict(known.changed)
        self._since = known.since
        self._notices = StayNotices(known.told)
        self._successors = Successors(known.successors)
        self._doubted = dict(known.doubted)
        self._turn = known.turn
        self._assumed = known.assumed
        self._is_writing = known.is_writing
        self._searched_at: float | None = None

    @property
    def state(self) -> DisruptState:
        """The state from which another one can be made, on a cluster with the same content."""
        return DisruptState(
            decides_at=self._decides_at,
            carries_at=self._carries_at,
            seen={node: tuple(sorted(uids)) for node, uids in self._seen.items()},
            changed=dict(self._changed),
            since=self._since,
            told=dict(self._notices.last),
            successors=self._successors.state,
            doubted=dict(self._doubted),
            turn=self._turn,
            assumed=self._assumed,
            is_writing=self._is_writing,
        )

    def next_time(self) -> float | None:
        """Return when to look next; None while writes are being made, or where there are no NodeClaims."""
        if self._is_writing or not self._cluster.inventory.claims:
            return None
        return min(self._decides_at, self._carries_at)

    def steps(self, now: float, *, is_quiet: bool) -> tuple[Step, ...]:
        """Return what is to be written now; `written` has to be called when that is done.

        Nothing new is decided unless it is quiet: pods that wait come first.
        """
        self._searched_at = None
        when = self.next_time()
        if when is None or now < when:
            return ()
        with self._reporter.timed(Phase.DISRUPT):
            try:
                steps = self._steps(now, is_quiet=is_quiet)
            except Exception as error:  # noqa: BLE001  whatever it is, scheduling goes on without it
                self._reporter.failed(Phase.DISRUPT, error, ())
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

    def took(self, seconds: float) -> None:
        """Take note of how long the last look took: after a long one without a decision the next one can wait."""
        if self._searched_at is not None:
            self._decides_at = self._searched_at + max(self._interval, LEAST_REST * seconds)

    def _steps(self, now: float, *, is_quiet: bool) -> tuple[Step, ...]:
        is_carrying = is_under_way(self._cluster)
        self._carries_at = now + (CARRY_SECONDS if is_carrying else self._interval)
        is_due = now >= self._decides_at
        is_deciding = is_due and is_quiet
        if is_due:
            self._decides_at = now + (self._interval if is_quiet else CARRY_SECONDS)
        if not is_deciding and not is_carrying:
            return ()
        view = DisruptionView(self._cluster)
        self._successors.look(view, now)
        # No deadline here: what was decided is not to be given up because a search took long.
        steps = next_steps(view, WhatIfOptions(now=_moment(now)))
        if steps and is_deciding:
            self._decides_at = now + CARRY_SECONDS
        confirmed = self._confirmed(steps, now)
        if self._successors.are_expected:
            # They will need room that others must not be moved to meanwhile.
            self._decides_at = now + CARRY_SECONDS
            return confirmed
        if steps or not is_deciding:
            return confirmed
        return self._decided(view, now)

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

    def _decided(self, view: DisruptionView, now: float) -> tuple[Step, ...]:
        if self._since is None:
            self._since = now
        self._note_changes(view, now)
        budget = SearchBudget(is_late=self._deadlines.start(MOST_SECONDS))
        options = WhatIfOptions(now=_moment(now), budget=budget)
        activity = NodeActivity(changed=self._changed, since=self._since)
        kept: list[Ineligible] = []
        decision = next_decision(view, options, unrest=activity, first=self._turn, most=MOST_NODES, tell=kept.append)
        if decision is None:
            self._turn += MOST_NODES
            self._decides_at = now + self._interval
            self._searched_at = now
            return self._explained(kept, now)
        self._reporter.disrupting(decision)
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
        self._notices.keep_only(frozenset(claim.metadata.uid for claim in claims))
        return self._notices.news(kept, now)

    def _note_changes(self, view: DisruptionView, now: float) -> None:
        """Remember when pods came or went, or what a node replaces, node by node, as far as somebody was looking."""
        seen: dict[str, frozenset[str]] = {}
        for claim in self._cluster.inventory.claims.values():
            node = claim.status.node_name
            if node in self._cluster.nodes:
                pods = frozenset(pod.metadata.uid for pod in view.moving_from(node))
                # Once what it replaces is gone, the pods from there are on their way.
                seen[node] = pods | still_replaced(self._cluster, claim)
                if self._seen.get(node, seen[node]) != seen[node]:
                    self._changed[node] = now
        self._seen = seen
        self._changed = {node: when for node, when in self._changed.items() if node in seen}


def is_taken_back(step: Step) -> TypeGuard[AbandonDecision | Remove]:
    """Whether the step is one of those that end a decision because it was no good."""
    return isinstance(step, AbandonDecision) or (isinstance(step, Remove) and step.reason == GIVEN_UP)


def _moment(now: float) -> str:
    return time_of(now // 1)
