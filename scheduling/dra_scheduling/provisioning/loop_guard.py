"""Nodes that were made for a pod and are of no use to it: another one would not be either."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.provisioning.evaluate_host import evaluate_host
from dra_scheduling.provisioning.hosts import there
from dra_scheduling.provisioning.in_flight_nodeclaims import as_promised, in_vain
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode
from dra_scheduling.state.node_state import NodeState

OF_DEVICES = ClusterEvent.DEVICES | ClusterEvent.SLICES


def made_in_vain(cluster: Cluster, asked: PendingPod, context: PlanContext) -> Refusal | None:
    """Return why a node made for the pod does not take it, where another one is promised to be no different.

    What keeps the pod from that node would keep it from the next one: it is not what was promised. Where the promise
    has changed, or does not hold for the pod any more, there is another node to plan.
    """
    for claim, node in in_vain(cluster, asked.pod):
        promised = as_promised(cluster, claim)
        if promised is None or answer_of(promised, asked, context) is not None:
            continue
        kind = claim.metadata.labels.get(INSTANCE_TYPE_LABEL, "its type")
        return _refusal(cluster.nodes[node.name], kind, asked, context)
    return None


def answer_of(host: PlannedNode, asked: PendingPod, context: PlanContext) -> Refusal | None:
    """Return what the host says to the variant of the pod that asks least, None if it takes any."""
    context.effort.of_pod = 0
    point = len(context.journal)
    found: Refusal | None = None
    for variant in asked.variants:
        answer = evaluate_host(host, asked, variant, context)
        found = None if isinstance(answer, HostPlacement) else answer
        if found is None:
            break
    context.journal.rollback(point)
    return found


def _refusal(state: NodeState, kind: str, asked: PendingPod, context: PlanContext) -> Refusal:
    why = answer_of(there(state), asked, context)
    text = f"node {state.node.name} was made for it, stands empty, and does not take it"
    wake = ClusterEvent.SUPPLY | ClusterEvent.NODE | OF_DEVICES
    if why is None:
        return Refusal(reason="NodeDoesNotHelp", message=text, wake=wake)
    hint = f": compare what its drivers publish with InstanceType {kind}" if why.wake & OF_DEVICES else ""
    return msgspec.structs.replace(why, reason="NodeDoesNotHelp", message=f"{text}: {why.message}{hint}", wake=wake)
