"""Allocations in the shape that a claim's status takes."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from uuid import UUID, uuid5

from msgspec.structs import replace

from dra_scheduling.allocation.claim_requests import Alternative, ParsedClaim
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.requirements import NODE_NAME_FIELD
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.consumable_capacity import full_name
from dra_scheduling.devices.node_view import PoolOnNode
from dra_scheduling.model.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kube_cel.quantity import Quantity

SHARE_NAMESPACE = UUID("6f1f3b0c-6d0e-5a7e-9a52-2f6d6a1f7c11")
"""Shares get their ids from names below this one (RFC 9562, version 5), so that a plan made twice is the same plan."""


def allocation(
    claim: ParsedClaim, chosen: Sequence[Alternative], picks: Sequence[int], board: SearchSpace, node: str
) -> AllocationResult:
    """Return the claim's allocation: `picks` holds the devices of each request, in the order of the requests."""
    results: list[DeviceRequestAllocationResult] = []
    taken = 0
    for alternative, mask in zip(chosen, picks, strict=True):
        taken |= mask
        for pool, part in board.parts(mask):
            results += (_result(alternative, pool, number) for number in members(part))
    return AllocationResult(
        devices=DeviceAllocationResult(results=tuple(results), config=claim.config_of(chosen)),
        node_selector=_node_selector(taken, board, node),
    )


def with_share_ids(value: AllocationResult, claim_uid: str) -> AllocationResult:
    """Return the allocation with the ids of its shares, which follow from the claim, the request and the device."""
    if all(result.share_id is None for result in value.devices.results):
        return value
    results = tuple(
        result if result.share_id is None else replace(result, share_id=share_id(claim_uid, result))
        for result in value.devices.results
    )
    return replace(value, devices=replace(value.devices, results=results))


def share_id(claim_uid: str, result: DeviceRequestAllocationResult) -> str:
    """Return the id of the share that a result describes."""
    return str(uuid5(SHARE_NAMESPACE, "\n".join((claim_uid, result.request, *result.device_id))))


def _result(alternative: Alternative, pool: PoolOnNode, number: int) -> DeviceRequestAllocationResult:
    device = pool.device(number)
    is_share = bool(pool.shareable >> number & 1)
    return DeviceRequestAllocationResult(
        request=alternative.name,
        driver=pool.key.driver,
        pool=pool.key.pool,
        device=device.name,
        admin_access=alternative.is_admin,
        tolerations=alternative.wish.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id="" if is_share else None,
        consumed_capacity=dict(_consumed(alternative, pool, number)) if is_share else {},
    )


def _consumed(alternative: Alternative, pool: PoolOnNode, number: int) -> Iterator[tuple[str, Quantity]]:
    """Yield what a share takes of each capacity, under the names that the device publishes."""
    amounts = dict(pool.portions(alternative.wish)[number])
    for name, capacity in pool.device(number).capacity.items():
        yield name, Quantity(amounts[full_name(name, pool.key.driver)], capacity.value.family)


def _node_selector(taken: int, board: SearchSpace, node: str) -> NodeSelector | None:
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
