"""The ways in which nodes are taken away, each a search for the next decision: empty, drifted, underutilized nodes."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from dra_scheduling.basics.reasons import in_short
from dra_scheduling.disruption.candidates import Candidate, Ineligible
from dra_scheduling.disruption.disruption_budgets import Tally, allowed
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.drift import Drift
from dra_scheduling.disruption.prices import keep_cheaper, price_of
from dra_scheduling.disruption.simulate_scheduling import SchedulingSimulation, WhatIfOptions, simulation
from dra_scheduling.model.nodeclaims import NodeClaim

EMPTY = "Empty"
DRIFTED = "Drifted"
UNDERUTILIZED = "Underutilized"
SPOT_TYPES = ("spot",)
MOST_TOGETHER = 100
SHOWN_NODES = 3
T = TypeVar("T")


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """NodeClaims that are to go for one reason, once those in `created` are ready. `message` is for people."""

    reason: str
    message: str
    claims: tuple[NodeClaim, ...]
    created: tuple[NodeClaim, ...] = ()


class Allowance:
    """How many nodes of each pool may still go; what is taken off for one node is gone for the next."""

    __slots__ = ("_left", "_now", "_reason", "_tallies")

    def __init__(self, tallies: dict[str, Tally], reason: str, now: float) -> None:
        self._tallies = tallies
        self._reason = reason
        self._now = now
        self._left: dict[str, int] = {}

    def left(self, candidate: Candidate) -> int:
        """Return how many nodes of the candidate's pool may still go."""
        name = candidate.pool.name
        if name not in self._left:
            self._left[name] = allowed(candidate.pool, self._reason, self._tallies.get(name, Tally()), self._now)
        return self._left[name]

    def take(self, candidate: Candidate) -> bool:
        """Take one node off; return whether the budgets of its pool allow for it."""
        if not self.left(candidate):
            return False
        self._left[candidate.pool.name] -= 1
        return True


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What all methods work on. `first` is where the search among single nodes begins, `most` how far it goes.

    `tell` is told why single nodes that were looked at stay.
    """

    outlook: DisruptionView
    candidates: tuple[Candidate, ...]
    tallies: dict[str, Tally]
    options: WhatIfOptions
    now: float
    first: int = 0
    most: int = 25
    tell: Callable[[Ineligible], None]

    def allowance(self, reason: str) -> Allowance:
        """Return what budgets allow now."""
        return Allowance(self.tallies, reason, self.now)

    @property
    def is_late(self) -> bool:
        """Whether no further node is to be looked at this time."""
        return self.options.budget.is_late()


def empty_nodes(search: Search) -> Decision | None:
    """Return the nodes without pods, all that budgets allow."""
    allowance = search.allowance(EMPTY)
    found = [
        one
        for one in search.candidates
        if not one.moved and not one.protection and one.is_quiet(search.now) and allowance.take(one)
    ]
    return _decision(EMPTY, "no pod needs it", found) if found else None


def drifted_nodes(search: Search) -> Decision | None:
    """Return a node that is not as its pool wants it any more, the first whose pods find other places.

    What forbids eviction counts unless the node has a termination grace period: then pods have to go in the end.
    """
    allowance = search.allowance(DRIFTED)
    kinds = {one.instance_type for one in search.outlook.cluster.inventory.instance_types.values()}
    drift = Drift(kinds.__contains__)
    drifted = [(one, why) for one in search.candidates if (why := drift.of(one.claim, one.pool)) is not None]
    for one, why in _turned(search, drifted):
        is_free = not one.protection or bool(one.claim.spec.termination_grace_period)
        if is_free and allowance.left(one) and not search.is_late:
            with simulation(search.outlook, [one.node.name], search.options) as scenario:
                if scenario.is_possible:
                    return _with_places(DRIFTED, [one], scenario, f"{why.message}; ")
    return None


def several_nodes(search: Search) -> Decision | None:
    """Return the most nodes, of those whose going disturbs least, that go for nothing or for one cheaper node."""
    allowance = search.allowance(UNDERUTILIZED)
    found = [one for one in _underutilized(search)[:MOST_TOGETHER] if allowance.take(one)]
    best: Decision | None = None
    least, most = 2, len(found)
    while least <= most and not search.is_late:
        number = (least + most) // 2
        decision = consolidation(search.outlook, found[:number], search.options)
        if isinstance(decision, Decision):
            best, least = decision, number + 1
        else:
            most = number - 1
    return best


def single_node(search: Search) -> Decision | None:
    """Return the first node that goes for nothing or for a cheaper one."""
    allowance = search.allowance(UNDERUTILIZED)
    for one in _turned(search, _underutilized(search)):
        if allowance.left(one) and not search.is_late:
            decision = consolidation(search.outlook, [one], search.options)
            if isinstance(decision, Decision):
                return decision
            # What a search says that ran out of time need not be so.
            if decision and not search.is_late:
                search.tell(Ineligible(claim=one.claim, message=decision, is_lasting=True))
    return None


def shut(search: Search) -> Iterator[Ineligible]:
    """Yield the candidates that nothing is tried with: pods may not be evicted, or a budget is shut.

    Budgets that other nodes have used up open again by themselves.
    """
    whole = {name: Tally(tally.nodes) for name, tally in search.tallies.items()}
    allowances = {reason: Allowance(whole, reason, search.now) for reason in (EMPTY, UNDERUTILIZED)}
    for one in search.candidates:
        reason = UNDERUTILIZED if one.moved else EMPTY
        message = one.protection
        if not message and not allowances[reason].left(one):
            message = f"the budgets of NodePool {one.pool.name} allow no node to go now ({reason})"
        if message and one.is_consolidated(search.now):
            yield Ineligible(claim=one.claim, message=message, is_lasting=True)


def consolidation(outlook: DisruptionView, group: Sequence[Candidate], options: WhatIfOptions) -> Decision | str:
    """Return how these nodes can go for less money than they cost, or in words why they cannot.

    There are no words where that may change by itself: a pod would go to a node that is not initialized yet.
    """
    with simulation(outlook, [one.node.name for one in group], options) as scenario:
        return _consolidated(scenario, group)


def _consolidated(scenario: SchedulingSimulation, group: Sequence[Candidate]) -> Decision | str:
    if not scenario.is_possible:
        return scenario.obstacle if scenario.stuck else ""
    opened = scenario.opened
    if not opened:
        return _with_places(UNDERUTILIZED, group, scenario)
    if len(opened) > 1:
        return f"its pods would need {len(opened)} new nodes"
    total = _total(group)
    if total is None:
        return "what it costs is not known"
    host = opened[0]
    names = {machine.name for machine in host.spec.table.members(host.types)}
    # Several nodes that end in one of a type that one of them has already had better lose only the others.
    alike = [one.price for one in group if one.instance_type in names and one.price is not None]
    limit = min([total, *alike]) if len(group) > 1 else total
    # Of spot capacity there is always something cheaper, and less certain.
    spared = SPOT_TYPES if any(one.is_spot for one in group) else ()
    if not keep_cheaper(host, limit, scenario.context, but_not=spared):
        return "no cheaper node would do"
    more = f"for {price_of(host):g} instead of {total:g} an hour; "
    return _with_places(UNDERUTILIZED, group, scenario, more)


def _total(group: Sequence[Candidate]) -> float | None:
    prices = [one.price for one in group]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None


def _underutilized(search: Search) -> tuple[Candidate, ...]:
    found = [one for one in search.candidates if one.moved and not one.protection and one.is_consolidated(search.now)]
    return tuple(sorted(found, key=lambda one: (one.cost, one.claim.name)))


def _turned(search: Search, candidates: Sequence[T]) -> tuple[T, ...]:
    """Return as many candidates as are looked at in one go, another part each time."""
    if len(candidates) <= search.most:
        return tuple(candidates)
    first = search.first % len(candidates)
    return (*candidates[first:], *candidates[:first])[: search.most]


def _with_places(reason: str, group: Sequence[Candidate], scenario: SchedulingSimulation, more: str = "") -> Decision:
    result = scenario.result()
    names = sorted({move.node for move in result.moves if move.node})
    places = [f"on {in_short(names, SHOWN_NODES)}"] if names else []
    places += [f"on a new node, NodeClaim {claim.name}" for claim in result.created]
    message = f"its pods have room {' and '.join(places)}" if places else "no pod needs it"
    return _decision(reason, more + message, group, result.created)


def _decision(reason: str, message: str, group: Sequence[Candidate], created: tuple[NodeClaim, ...] = ()) -> Decision:
    return Decision(reason=reason, message=message, claims=tuple(one.claim for one in group), created=created)
