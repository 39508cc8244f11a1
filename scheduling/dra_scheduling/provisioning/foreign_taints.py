"""Nodes that were made for a pod and got a taint that nobody planned with: whoever put it there may take it away.

Another node would get the same taint, or stand empty once the first one is free. The pod therefore waits for its node
as long as drivers have to publish there, and gets another one after that.
"""

from collections.abc import Iterator

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.taint_toleration import taint_text, untolerated
from dra_scheduling.inventory.replacements import is_to_go
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL, Pod
from dra_scheduling.nodeclaims.lifecycle import gate_begins
from dra_scheduling.provisioning.hosts import there
from dra_scheduling.provisioning.loop_guard import answer_of
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.state.node_state import NodeState

NODE_TAINTED = "NodeTainted"


class TaintedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that was made for a pod, and the taint that keeps the pod off it. `until` is in seconds since 1970."""

    claim: NodeClaim
    state: NodeState
    taint: Taint
    until: float


def tainted_nodes(cluster: Cluster, pod: Pod, gate_seconds: float) -> Iterator[TaintedNode]:
    """Yield the nodes made for the pod with a taint that it does not tolerate and that no NodePool gave them."""
    for claim, state in cluster.nodes_made_for(pod):
        node = state.node
        if node.is_being_set_up or node.metadata.is_deleting or node.spec.unschedulable or is_to_go(claim):
            continue
        foreign = (one for one in untolerated(node.spec.taints, pod) if one not in claim.spec.taints)
        taint = next(foreign, None)
        if taint is not None:
            until = gate_begins(claim, node) + gate_seconds
            yield TaintedNode(claim=claim, state=state, taint=taint, until=until)


def awaits_tainted_node(
    cluster: Cluster, asked: PendingPod, context: PlanContext, *, now: str, gate_seconds: float
) -> Refusal | None:
    """Return that the pod waits for a node made for it that would take it without such a taint, None if it does not."""
    for one in tainted_nodes(cluster, asked.pod, gate_seconds):
        if one.until <= seconds_of(now):
            continue
        host = there(one.state)
        planned = tuple(taint for taint in host.spec.taints if taint in one.claim.spec.taints)
        host.spec = msgspec.structs.replace(host.spec, taints=planned)
        if answer_of(host, asked, context) is None:
            return _refusal(one)
    return None


def _refusal(one: TaintedNode) -> Refusal:
    pool = one.claim.metadata.labels.get(NODE_POOL_LABEL, "")
    message = (
        f"node {one.state.node.name} was made for it and has {taint_text(one.taint)}, which NodePool {pool} did not "
        f"give it: the pod waits for that node until {time_of(one.until)}"
    )
    return Refusal(reason=NODE_TAINTED, message=message, wake=ClusterEvent.SUPPLY | ClusterEvent.NODE)
