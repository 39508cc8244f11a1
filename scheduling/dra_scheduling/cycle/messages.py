"""What pods are told of plans: the texts of conditions and Events about NodeClaims."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, told_once
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import place_in
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL, Pod
from dra_scheduling.state.assignments import Nominated, OutOfBudget, Unschedulable

NOMINATED = "Nominated"


def nominated_to_nodeclaim(pod: Pod, claim: NodeClaim) -> Nominated:
    """Return the message for a pod that waits for a NodeClaim; it stays the same while the node comes up."""
    message = f"waits for NodeClaim {claim.name} ({_pool_and_types(claim)})"
    return Nominated(
        pod=pod,
        message=message,
        reasons=(_reason(message),),
        wake=_events_for(pod),
        node_claim=claim.name,
        place=place_in(claim, pod),
    )


def nominated_to_node(pod: Pod, node: str) -> Nominated:
    """Return the message for a pod that waits until terminating pods have left a node."""
    message = f"waits for the pods that are being deleted on node {node}"
    wake = _events_for(pod) | ClusterEvent.NODE
    return Nominated(pod=pod, message=message, reasons=(_reason(message),), wake=wake, node=node)


def plan_only(pod: Pod, claim: NodeClaim) -> Unschedulable:
    """Return the message for a pod whose NodeClaim is planned and not created."""
    message = f"a NodeClaim would serve it ({_pool_and_types(claim)}), and none is made with DRA_NODECLAIMS=plan"
    return _without_node(pod, NOMINATED, message)


def not_launched(pod: Pod, claim: NodeClaim) -> Unschedulable:
    """Return the message for a pod whose NodeClaim could not be launched, until another one is made."""
    why = next(one.message or one.reason for one in claim.status.conditions if one.type == "Launched")
    message = f"no new node: NodeClaim {claim.name} was not launched, another one is made after a pause: {why}"
    return _without_node(pod, "NotLaunched", message)


def plan_failed(pod: Pod) -> Unschedulable:
    """Return the message for a pod whose plan ended with a defect."""
    return _without_node(pod, "PlanFailed", "no new node: the plan failed, the log of the scheduler says why")


def combine(outcome: Unschedulable, refused: Unschedulable | OutOfBudget) -> Unschedulable:
    """Return the refusal of the nodes followed by the refusal of the plan for a new one."""
    reasons = (*outcome.reasons, *refused.reasons)
    return msgspec.structs.replace(
        outcome,
        message=told_once(f"{outcome.message}; {refused.message}", reasons),
        reasons=reasons,
        wake=outcome.wake | refused.wake,
    )


def _reason(message: str, reason: str = NOMINATED) -> FoldedReason:
    return FoldedReason(reason=reason, message=message, nodes=0)


def _without_node(pod: Pod, reason: str, message: str) -> Unschedulable:
    return Unschedulable(pod=pod, message=message, reasons=(_reason(message, reason),), wake=ClusterEvent.SUPPLY)


def _events_for(pod: Pod) -> ClusterEvent:
    # Claims of its own come from templates: no other pod gets them devices.
    shares = any(one.resource_claim_name for one in pod.spec.resource_claims)
    claims = ClusterEvent.CLAIMS if shares else ClusterEvent.NOTHING
    return ClusterEvent.DEVICES | ClusterEvent.ROOM | ClusterEvent.POD | claims


def _pool_and_types(claim: NodeClaim) -> str:
    pool = f"NodePool {claim.metadata.labels.get(NODE_POOL_LABEL, '')}"
    types = next((one.values for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL), ())
    if not types:
        return pool
    return f"{pool}, {types[0] if len(types) == 1 else f'one of {len(types)} instance types'}"
