"""Whether a node has room for what devices take of its own resources, once it is known which devices (KEP-5517)."""

from collections.abc import Sequence

import msgspec

from dra_scheduling.basics.features import NODE_ALLOCATABLE
from dra_scheduling.basics.pod_requests import pod_requests, taken_by_claims
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.resources import Resources
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.node_allocatable_resources import ClaimUse, TakenOfNode, taken_of_node
from dra_scheduling.fit.node_resources_fit import room_refusals
from dra_scheduling.fit.pod_class import ExtendedNeed, PodClass
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.node_state import NodeState

Found = Sequence[AllocationResult]
"""What is allocated to the claims of a pod that are not allocated yet, the special claim last."""


def may_take_of_node(shape: PodClass, state: NodeState, pools: PoolIndex) -> bool:
    """Whether devices could take resources of the node: a quick look that spares most pods the exact one."""
    if not shape.has_devices or not pools.features.has(NODE_ALLOCATABLE):
        return False
    return any(item.allocation is not None for item in shape.resolved.claims) or any(
        sight.piece.takes_of_node for pool in pools.on_node(state.place) for sight in pool.sights
    )


def with_devices(
    shape: PodClass, state: NodeState, pools: PoolIndex, need: ExtendedNeed, found: Found
) -> ExtendedNeed | Refusal:
    """Return what the pods need of the node with these devices, or why that is too much."""
    of_claims = taken_of_node(shape.pod, _uses(shape, need, found), pools.device)
    if isinstance(of_claims, Refusal):
        return of_claims
    if not of_claims:
        return need
    whole = whole_need(shape.pod, need.node, of_claims)
    lacking = room_refusals(whole, state.free, state.allocatable)
    return lacking[0] if lacking else msgspec.structs.replace(need, node=whole)


def whole_need(pod: Pod, need: Resources, of_claims: TakenOfNode) -> Resources:
    """Return what the pod takes of the node in all, where it needs so much of it whatever its devices take."""
    total = pod_requests(pod, of_claims)
    names = need.amounts.keys() | taken_by_claims(of_claims).keys()
    return Resources({name: total.get(name) for name in sorted(names) if total.get(name)})


def _uses(shape: PodClass, need: ExtendedNeed, found: Found) -> list[ClaimUse]:
    planned = {item.claim.key: allocation for item, allocation in zip(shape.resolved.unallocated, found, strict=False)}
    uses = [
        ClaimUse(item.name, item.claim.metadata.name, (item.allocation or planned[item.claim.key]).devices.results)
        for item in shape.resolved.claims
    ]
    if need.special is not None:
        uses.append(ClaimUse("", "", found[-1].devices.results))
    return uses
