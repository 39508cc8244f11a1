"""Devices for the claims of a pod on one node: all of them at once, or the reason why not."""

from collections.abc import Sequence

import msgspec

from dra_scheduling.allocation.asks import Ask, asks_of, twins_of
from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.bounds import are_apart, shortage
from dra_scheduling.allocation.candidates import candidates_of
from dra_scheduling.allocation.claimspecs import MatchRule, ParsedClaim
from dra_scheduling.allocation.constraints import MatchAttribute
from dra_scheduling.allocation.matching import bundle_shortage, match_attribute
from dra_scheduling.allocation.refusals import gave_up, no_choice, too_few
from dra_scheduling.allocation.results import allocation
from dra_scheduling.allocation.search import Demand, Found, NotFound, Watcher, search
from dra_scheduling.ledger import Ledger
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.pools.bits import smallest
from dra_scheduling.reasons import Refusal
from dra_scheduling.reporting import NamedSteps, Reporter

DEFAULT_BUDGET = 100_000
"""Steps for one pod on one node, of about two microseconds each; counted, so that no result depends on the machine."""


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation a claim, in the order of the claims.

    `free_left` is the number of devices that the claims could also have had and that stay free: the smaller, the fuller
    the node. `steps` is the number of devices that the search tried.
    """

    allocations: tuple[AllocationResult, ...]
    steps: int
    free_left: int


class Impossible(msgspec.Struct, frozen=True, kw_only=True):
    """The node cannot serve the claims; the refusal is the proof."""

    refusal: Refusal
    steps: int


class Exhausted(msgspec.Struct, frozen=True, kw_only=True):
    """The budget ended before the search knew."""

    refusal: Refusal
    steps: int


def allocate(
    claims: Sequence[ParsedClaim],
    node: NodePlace,
    pools: PoolIndex,
    ledger: Ledger,
    budget: int = DEFAULT_BUDGET,
    reporter: Reporter | None = None,
) -> Allocated | Impossible | Exhausted:
    """Return devices for every claim on this node, the first choice in the order of requests, pools and devices.

    The ledger is read and left as it is. `budget` bounds the steps of the search; a reporter is told each of them.
    """
    board = Board(pools.on_node(node), ledger)
    asks = asks_of(claims)
    candidates = candidates_of(asks, board)
    if isinstance(candidates, Refusal):
        return Impossible(refusal=candidates, steps=0)
    rules = [rule for claim in claims for rule in claim.rules]
    demands = _demands(asks, rules, candidates)
    short = shortage(demands)
    if short is not None:
        lacking = [asks[index] for index in short.demands]
        return Impossible(refusal=too_few(lacking, short.wanted, short.found, board), steps=0)
    constraints = _constraints(asks, rules, demands, board)
    if isinstance(constraints, Refusal):
        return Impossible(refusal=constraints, steps=0)
    watcher = None if reporter is None else NamedSteps(asks, board, reporter)
    found = _choose(demands, constraints, budget, watcher)
    if isinstance(found, NotFound):
        return _unsuccessful(found, asks)
    return Allocated(
        allocations=_allocations(claims, asks, found.picks, board, node.name),
        steps=found.steps,
        free_left=_free_left(candidates, found.picks),
    )


def _unsuccessful(found: NotFound, asks: Sequence[Ask]) -> Impossible | Exhausted:
    if found.is_exhausted:
        return Exhausted(refusal=gave_up(asks, found.steps), steps=found.steps)
    return Impossible(refusal=no_choice(asks), steps=found.steps)


def _demands(asks: Sequence[Ask], rules: Sequence[MatchRule], candidates: Sequence[int]) -> list[Demand]:
    twins = twins_of(asks, rules)
    return [
        Demand(candidates=mask, wanted=ask.request.wanted or mask.bit_count(), rules=ask.rules, twin=twin)
        for ask, mask, twin in zip(asks, candidates, twins, strict=True)
    ]


def _constraints(
    asks: Sequence[Ask], rules: Sequence[MatchRule], demands: Sequence[Demand], board: Board
) -> list[MatchAttribute] | Refusal:
    constraints = []
    for number, rule in enumerate(rules):
        bound = [index for index, ask in enumerate(asks) if number in ask.rules]
        constraint = match_attribute(rule, [asks[index] for index in bound], [demands[index] for index in bound], board)
        if isinstance(constraint, Refusal):
            return constraint
        constraints.append(constraint)
    return bundle_shortage(asks, demands, rules, constraints) or constraints


def _choose(
    demands: Sequence[Demand], constraints: Sequence[MatchAttribute], budget: int, watcher: Watcher | None
) -> Found | NotFound:
    """Return the devices of each demand; where demands do not get into each other's way, that needs no search."""
    if watcher is not None or constraints or not are_apart(demand.candidates for demand in demands):
        return search(demands, constraints, budget, watcher)
    picks = tuple(smallest(demand.candidates, demand.wanted) for demand in demands)
    return Found(picks, sum(demand.wanted for demand in demands))


def _allocations(
    claims: Sequence[ParsedClaim], asks: Sequence[Ask], picks: Sequence[int], board: Board, node: str
) -> tuple[AllocationResult, ...]:
    chosen = [[0] * len(claim.requests) for claim in claims]
    for ask, mask in zip(asks, picks, strict=True):
        chosen[ask.claim_index][ask.request_index] = mask
    return tuple(allocation(claim, masks, board, node) for claim, masks in zip(claims, chosen, strict=True))


def _free_left(candidates: Sequence[int], picks: Sequence[int]) -> int:
    left = taken = 0
    for mask, picked in zip(candidates, picks, strict=True):
        left |= mask
        taken |= picked
    return (left & ~taken).bit_count()
