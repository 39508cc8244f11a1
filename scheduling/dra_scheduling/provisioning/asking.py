"""What keeps a pod from every host, and otherwise what it asks for."""

from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.refusing import pod_refusal
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodefit.wholepod import gate_refusal
from dra_scheduling.podclaims import leftover_refusal, resolve
from dra_scheduling.provisioning.asked import Asked
from dra_scheduling.reasons import Refusal


def ask(cluster: Cluster, pod: Pod) -> Asked | Refusal:
    """Return what the pod asks for, or what it waits for whatever nodes there are."""
    claims = cluster.claims
    refusal = gate_refusal(pod) or leftover_refusal(pod, claims.special_claims_of(pod))
    if refusal is not None:
        return refusal
    resolved = resolve(pod, claims.get, claims.intended_allocation, claims.intended_consumers)
    if isinstance(resolved, Refusal):
        return resolved
    refusal = pod_refusal(cluster, pod, resolved)
    if refusal is not None:
        return refusal
    shape = cluster.shapes.shape_of(pod, resolved, cluster.classes)
    if isinstance(shape, Refusal):
        return shape
    return Asked(pod, shape, resolved, cluster.classes, cluster.features)
