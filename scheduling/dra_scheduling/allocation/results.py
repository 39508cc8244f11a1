"""Allocations in the shape that a claim's status takes."""

from collections.abc import Sequence
from functools import lru_cache

from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.claimspecs import ParsedClaim
from dra_scheduling.model.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_scheduling.model.nodeselection import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_scheduling.pools.bits import members
from dra_scheduling.requirements import NODE_NAME_FIELD


def allocation(claim: ParsedClaim, picks: Sequence[int], board: Board, node: str) -> AllocationResult:
    """Return the claim's allocation: `picks` holds the devices of each request, in the order of the requests."""
    results = []
    taken = 0
    for request, mask in zip(claim.requests, picks, strict=True):
        taken |= mask
        for pool, part in board.parts(mask):
            driver, pool_name = pool.key
            results += [
                DeviceRequestAllocationResult(
                    request=request.name,
                    driver=driver,
                    pool=pool_name,
                    device=pool.device(number).name,
                    tolerations=request.tolerations,
                )
                for number in members(part)
            ]
    return AllocationResult(
        devices=DeviceAllocationResult(results=tuple(results), config=claim.config),
        node_selector=_node_selector(taken, board, node),
    )


def _node_selector(taken: int, board: Board, node: str) -> NodeSelector | None:
    """Return where the allocation can be used: one node, the nodes of all terms at once, or (None) every node.

    A device of one node, or one that binds to the node it is used on, pins the allocation (as kube-scheduler does).
    """
    expressions: dict[NodeSelectorRequirement, None] = {}
    fields: dict[NodeSelectorRequirement, None] = {}
    for pool, part in board.parts(taken):
        if part & pool.pinned:
            return one_node(node)
        for number in members(part):
            term = pool.placement(number).term
            if term is not None:
                expressions |= dict.fromkeys(term.match_expressions)
                fields |= dict.fromkeys(term.match_fields)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


@lru_cache(maxsize=16_384)
def one_node(name: str) -> NodeSelector:
    """Return the selector of one node by its name."""
    requirement = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))
