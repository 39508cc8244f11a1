"""Devices for the claims of a pod on one node: all of them at once, or the reason why not."""

from collections.abc import Sequence

from dra_scheduling.allocation.alternatives import choose
from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.claimspecs import ParsedClaim
from dra_scheduling.allocation.clock import IsLate, never
from dra_scheduling.allocation.outcomes import Allocated, Answer, Chosen, Exhausted, Impossible
from dra_scheduling.allocation.query import Query
from dra_scheduling.allocation.results import allocation
from dra_scheduling.ledger import Ledger
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.reporting import Reporter

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
    query = Query(claims)
    board = Board(pools.on_node(node), ledger)
    return _written(query, choose(query, board, budget, reporter), board, node.name)


def survey(
    query: Query,
    node: NodePlace,
    pools: PoolIndex,
    ledger: Ledger,
    budget: int = DEFAULT_BUDGET,
    is_late: IsLate = never,
) -> Answer:
    """Return whether the node could serve the claims; nodes that look the same are searched once.

    An answer that another node gave took no steps here. A search ends soon after it `is_late`.
    """
    reached = pools.on_node(node)
    faces = query.faces(reached, ledger)
    if faces is None:
        return choose(query, Board(reached, ledger), budget, is_late=is_late)
    found = query.known(faces)
    if found is None:
        found = choose(query, Board(reached, ledger), budget, is_late=is_late)
        if not isinstance(found, Exhausted) or (budget >= DEFAULT_BUDGET and not found.is_late):
            query.keep(faces, _without_steps(found))
    return found


def fulfil(query: Query, node: NodePlace, pools: PoolIndex, ledger: Ledger) -> Allocated | Impossible | Exhausted:
    """Return what `allocate` returns, from the answer that is kept if there is one."""
    reached = pools.on_node(node)
    return _written(query, survey(query, node, pools, ledger), Board(reached, ledger), node.name)


def _without_steps(answer: Answer) -> Answer:
    match answer:
        case Chosen():
            return Chosen(
                choice=answer.choice, picks=answer.picks, steps=0, free_left=answer.free_left, score=answer.score
            )
        case Impossible():
            return Impossible(refusal=answer.refusal, steps=0)
        case Exhausted():
            return Exhausted(refusal=answer.refusal, steps=0)


def _written(query: Query, answer: Answer, board: Board, node: str) -> Allocated | Impossible | Exhausted:
    if not isinstance(answer, Chosen):
        return answer
    return Allocated(
        allocations=_allocations(query, answer, board, node),
        steps=answer.steps,
        free_left=answer.free_left,
        score=answer.score,
    )


def _allocations(query: Query, chosen: Chosen, board: Board, node: str) -> tuple[AllocationResult, ...]:
    written, place = [], 0
    for claim in query.claims:
        places = range(place, place + len(claim.requests))
        alternatives = [query.asks[number][chosen.choice[number]].alternative for number in places]
        written.append(allocation(claim, alternatives, [chosen.picks[number] for number in places], board, node))
        place += len(claim.requests)
    return tuple(written)
