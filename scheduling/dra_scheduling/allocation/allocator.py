"""Devices for the claims of a pod on one node: all of them at once, or the reason why not."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Allocated, Answer, Chosen, Exhausted, Impossible
from dra_scheduling.allocation.allocation_refusals import NO_MATCH, not_in_time, nothing_published
from dra_scheduling.allocation.allocation_results import allocation
from dra_scheduling.allocation.claim_query import ClaimQuery, NodeDevices
from dra_scheduling.allocation.claim_requests import ParsedClaim
from dra_scheduling.allocation.cooldown import avoid_cooldown
from dra_scheduling.allocation.deadline import IsLate, never
from dra_scheduling.allocation.prioritized_list import choose
from dra_scheduling.allocation.search_reporter import Reporter
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.devices import NodePlace, PoolIndex, PoolOnNode
from dra_scheduling.devices.bits import packed, unpacked
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import AllocationResult

Given = TypeVar("Given", Answer, Impossible | Exhausted)
DEFAULT_BUDGET = 100_000
"""Steps for one pod on one node, of about two microseconds each; counted, so that no result depends on the machine."""


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
    query = ClaimQuery(claims)
    board = SearchSpace(pools.on_node(node), ledger)
    found = choose(query, board, budget, reporter)
    if isinstance(found, Chosen):
        return _written(query, found, found.picks, board, node.name)
    return _of_node(found, node, pools)


def survey(
    query: ClaimQuery,
    node: NodePlace,
    pools: PoolIndex,
    ledger: Ledger,
    budget: int = DEFAULT_BUDGET,
    is_late: IsLate = never,
) -> Answer:
    """Return whether the node could serve the claims; nodes that look the same are searched once.

    An answer that another node gave took no steps here. A search ends soon after it `is_late`. Which devices it would
    be is for `fulfil` to say: picks are places among those that count here.
    """
    return _of_node(_survey(query, pools.on_node(node), ledger, budget, is_late)[0], node, pools)


def _survey(
    query: ClaimQuery, reached: tuple[PoolOnNode, ...], ledger: Ledger, budget: int, is_late: IsLate
) -> tuple[Answer, NodeDevices | None]:
    """Return the answer, and in terms of which sight it is to be understood, if of any."""
    sight = query.kept_sight(reached, ledger)
    if sight is None:
        if not query.learn(reached, is_late):
            return Exhausted(refusal=not_in_time([asks[0] for asks in query.asks]), steps=0, is_late=True), None
        sight = query.sight(reached, ledger)
    if sight is None:
        return choose(query, SearchSpace(reached, ledger), budget, is_late=is_late), None
    found = query.known(sight)
    if found is None:
        board = SearchSpace(reached, ledger)
        found = choose(query, board, budget, is_late=is_late)
        if isinstance(found, Chosen):
            kept = _kept_on(board, reached, sight)
            found = msgspec.structs.replace(found, picks=tuple(packed(mask, kept) for mask in found.picks))
        if not isinstance(found, Exhausted) or (budget >= DEFAULT_BUDGET and not found.is_late):
            query.keep(sight, _without_steps(found))
    return found, sight


def known_answer(query: ClaimQuery, node: NodePlace, pools: PoolIndex, ledger: Ledger) -> Answer | None:
    """Return what `survey` returns, None where that takes time."""
    sight = query.kept_sight(pools.on_node(node), ledger)
    found = None if sight is None else query.known(sight)
    return None if found is None else _of_node(found, node, pools)


def fulfil(query: ClaimQuery, node: NodePlace, pools: PoolIndex, ledger: Ledger) -> Allocated | Impossible | Exhausted:
    """Return what `allocate` returns, from the answer that is kept if there is one.

    Only of devices that are alike others are chosen, which have had time to cool down.
    """
    reached = pools.on_node(node)
    found, sight = _survey(query, reached, ledger, DEFAULT_BUDGET, never)
    if not isinstance(found, Chosen):
        return _of_node(found, node, pools)
    board, picks = SearchSpace(reached, ledger), found.picks
    if sight is not None:
        kept = _kept_on(board, reached, sight)
        picks = tuple(unpacked(mask, kept) for mask in picks)
    if ledger.cooldown:
        picks = avoid_cooldown(query, found.choice, picks, board, ledger.cooldown)
    return _written(query, found, picks, board, node.name)


def _of_node(answer: Given, node: NodePlace, pools: PoolIndex) -> Given:
    """Return the answer with what only this node's slices tell: nodes whose devices look the same share an answer."""
    if isinstance(answer, Impossible) and answer.refusal.reason == NO_MATCH and not pools.has_slices(node):
        return msgspec.structs.replace(answer, refusal=nothing_published(answer.refusal))
    return answer


def _kept_on(board: SearchSpace, pools: tuple[PoolOnNode, ...], sight: NodeDevices) -> int:
    """Return the devices of the board that count."""
    if len(pools) == 1:
        return sight.kept[0]
    kept_of, mask = dict(zip(pools, sight.kept, strict=True)), 0
    for offset, pool, _ in board.pools:
        mask |= kept_of[pool] << offset
    return mask


def _without_steps(answer: Answer) -> Answer:
    match answer:
        case Chosen():
            return msgspec.structs.replace(answer, steps=0)
        case Impossible():
            return Impossible(refusal=answer.refusal, steps=0)
        case Exhausted():
            return Exhausted(refusal=answer.refusal, steps=0)


def _written(query: ClaimQuery, found: Chosen, picks: tuple[int, ...], board: SearchSpace, node: str) -> Allocated:
    """Return what is to be written down where these devices of the board were picked."""
    return Allocated(
        allocations=_allocations(query, found.choice, picks, board, node),
        steps=found.steps,
        free_left=found.free_left,
        score=found.score,
    )


def _allocations(
    query: ClaimQuery, choice: tuple[int, ...], picks: tuple[int, ...], board: SearchSpace, node: str
) -> tuple[AllocationResult, ...]:
    written, place = [], 0
    for claim in query.claims:
        places = range(place, place + len(claim.requests))
        alternatives = [query.asks[number][choice[number]].alternative for number in places]
        written.append(allocation(claim, alternatives, [picks[number] for number in places], board, node))
        place += len(claim.requests)
    return tuple(written)
