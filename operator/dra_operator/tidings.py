"""What pods are told of plans."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, told_once
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import place_in
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL, Pod
from dra_scheduling.state.assignments import Nominated, OutOfBudget, Unschedulable

NOMINATED = "Nominated"


def nominated(pod: Pod, claim: NodeClaim) -> Nominated:
    """Return what a pod is told that a NodeClaim was made for; nothing in it changes as the node comes up."""
    message = f"waits for NodeClaim {claim.name} ({_about(claim)})"
    reason = FoldedReason(reason=NOMINATED, message=message, nodes=0)
    return Nominated(
        pod=pod,
        message=message,
        reasons=(reason,),
        wake=_wake_of(pod),
        node_claim=claim.name,
        place=place_in(claim, pod),
    )


def lodged(pod: Pod, node: str) -> Nominated:
    """Return what a pod is told that others are about to make room for."""
    message = f"waits for the pods that are being deleted on node {node}"
    reason = FoldedReason(reason=NOMINATED, message=message, nodes=0)
    return Nominated(pod=pod, message=message, reasons=(reason,), wake=_wake_of(pod) | ClusterEvent.NODE)


def _wake_of(pod: Pod) -> ClusterEvent:
    # Claims of its own come from templates: no other pod gets them devices.
    shares = any(one.resource_claim_name for one in pod.spec.resource_claims)
    return (
        ClusterEvent.DEVICES
        | ClusterEvent.ROOM
        | ClusterEvent.POD
        | (ClusterEvent.CLAIMS if shares else ClusterEvent.NOTHING)
    )


def _about(claim: NodeClaim) -> str:
    pool = f"NodePool {claim.metadata.labels.get(NODE_POOL_LABEL, '')}"
    types = next((one.values for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL), ())
    if not types:
        return pool
    return f"{pool}, {types[0] if len(types) == 1 else f'one of {len(types)} instance types'}"


def would_be(pod: Pod, claim: NodeClaim) -> Unschedulable:
    """Return what a pod is told where NodeClaims are planned only."""
    message = f"a NodeClaim would serve it ({_about(claim)}), and none is made with DRA_NODECLAIMS=plan"
    reason = FoldedReason(reason=NOMINATED, message=message, nodes=0)
    return Unschedulable(pod=pod, message=message, reasons=(reason,), wake=ClusterEvent.SUPPLY)


def not_launched(pod: Pod, claim: NodeClaim) -> Unschedulable:
    """Return what a pod is told while nothing is made for it again."""
    why = next(one.message or one.reason for one in claim.status.conditions if one.type == "Launched")
    message = f"no new node: NodeClaim {claim.name} was not launched, another one is made after a pause: {why}"
    reason = FoldedReason(reason="NotLaunched", message=message, nodes=0)
    return Unschedulable(pod=pod, message=message, reasons=(reason,), wake=ClusterEvent.SUPPLY)


def plan_failed(pod: Pod) -> Unschedulable:
    """Return what a pod is told that nothing could be planned for."""
    message = "no new node: the plan failed, the log of the scheduler says why"
    reason = FoldedReason(reason="PlanFailed", message=message, nodes=0)
    return Unschedulable(pod=pod, message=message, reasons=(reason,), wake=ClusterEvent.SUPPLY)


def both(outcome: Unschedulable, said: Unschedulable | OutOfBudget) -> Unschedulable:
    """Return what the nodes say, and behind it what a plan said of a new one."""
    reasons = (*outcome.reasons, *said.reasons)
    return msgspec.structs.replace(
        outcome,
        message=told_once(f"{outcome.message}; {said.message}", reasons),
        reasons=reasons,
        wake=outcome.wake | said.wake,
    )
