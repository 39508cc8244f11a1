"""What a pod asks of nodes, or why it can have none, whatever nodes there are."""

from collections.abc import Mapping

from dra_scheduling.allocation.pod_claims import ResolvedClaims, admin_refusal, leftover_refusal, resolve
from dra_scheduling.basics.features import NODE_ALLOCATABLE
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.cluster.cluster import Cluster
from dra_scheduling.devices.node_allocatable_resources import is_mapped
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.fit.pod_rules import gate_refusal, unsupported_refusal
from dra_scheduling.model.pods import Pod


def usable_claims(cluster: Cluster, pod: Pod) -> ResolvedClaims | Refusal:
    """Return the claims of a pod that waits for a node, or the first thing that somebody else has to do before."""
    claims = cluster.claims
    refusal = gate_refusal(pod) or leftover_refusal(pod, claims.special_claims_of(pod))
    return refusal or resolve(pod, claims.get, claims.intended_allocation, claims.intended_consumers)


def shape_of(cluster: Cluster, pod: Pod, resolved: ResolvedClaims) -> PodClass | Refusal:
    """Return what the pod asks of a node, or the first thing that keeps it from every node."""
    return pod_refusal(cluster, pod, resolved) or cluster.shapes.shape_of(pod, resolved, cluster.classes)


def may_be_helped(cluster: Cluster, pod: Pod, changes: Mapping[str, ClusterEvent]) -> bool:
    """Whether changes of these kinds, by node, could make one of the nodes take the pod, as they were last judged."""
    resolved = usable_claims(cluster, pod)
    shape = resolved if isinstance(resolved, Refusal) else shape_of(cluster, pod, resolved)
    if isinstance(shape, Refusal):
        return False
    return any(shape.ranking.may_be_changed(node, change) for node, change in changes.items())


def pod_refusal(cluster: Cluster, pod: Pod, resolved: ResolvedClaims) -> Refusal | None:
    """Return the first thing that keeps the pod from every node whatever it asks for, or None."""
    return (
        unsupported_refusal(pod)
        or admin_refusal(resolved, cluster.namespaces.get(pod.metadata.namespace))
        or _sharing_refusal(cluster, pod, resolved)
    )


def _sharing_refusal(cluster: Cluster, pod: Pod, resolved: ResolvedClaims) -> Refusal | None:
    """Return the first claim with a part of a node's own resources that another pod has: kubelet gives it to one."""
    if not cluster.pools.features.has(NODE_ALLOCATABLE):
        return None
    for item in resolved.claims:
        consumers = {each.uid for each in item.claim.status.reserved_for}
        others = (consumers | cluster.claims.intended_consumers(item.claim.key)) - {pod.metadata.uid}
        results = item.allocation.devices.results if item.allocation is not None else ()
        if others and is_mapped(results, cluster.pools.device):
            message = f"ResourceClaim {item.claim.key} has a part of a node's own resources, which pods cannot share"
            return Refusal(reason="ClaimNotShareable", message=message, wake=ClusterEvent.CLAIMS)
    return None
