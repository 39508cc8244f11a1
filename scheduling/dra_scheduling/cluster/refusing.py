"""Why a pod with usable claims can have no node at all, whatever nodes there are."""

from dra_scheduling.cluster.index import Cluster
from dra_scheduling.features import NODE_ALLOCATABLE
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodefit.ofdevices import is_mapped
from dra_scheduling.nodefit.wholepod import unsupported_refusal
from dra_scheduling.podclaims import ResolvedClaims, admin_refusal
from dra_scheduling.reasons import Refusal, Wake


def pod_refusal(cluster: Cluster, pod: Pod, resolved: ResolvedClaims) -> Refusal | None:
    """Return the first thing that keeps the pod from every node, or None."""
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
            return Refusal(reason="ClaimNotShareable", message=message, wake=Wake.CLAIMS)
    return None
