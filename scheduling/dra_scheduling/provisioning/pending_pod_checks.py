"""What keeps a pod from every host, and otherwise what it asks for."""

from msgspec.structs import replace

from dra_scheduling.allocation.pod_claims import ResolvedClaims, resolve
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import shape_of, usable_claims
from dra_scheduling.model.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.template_devices import Replanning

NOBODY_GOES = Replanning()


def ask(cluster: Cluster, pod: Pod, replanning: Replanning = NOBODY_GOES) -> PendingPod | Refusal:
    """Return what the pod asks for, or what it waits for whatever nodes there are.

    A pod that has a node is asked as it will be without one: its claims that are planned anew have no devices then.
    """
    if pod.spec.node_name:
        return _asked(cluster, replace(pod, spec=replace(pod.spec, node_name="")), _anew(cluster, pod, replanning))
    return _asked(cluster, pod, usable_claims(cluster, pod))


def _asked(cluster: Cluster, pod: Pod, resolved: ResolvedClaims | Refusal) -> PendingPod | Refusal:
    if isinstance(resolved, Refusal):
        return resolved
    shape = shape_of(cluster, pod, resolved)
    if isinstance(shape, Refusal):
        return shape
    return PendingPod(pod, shape, resolved, cluster.classes, cluster.features)


def _anew(cluster: Cluster, pod: Pod, replanning: Replanning) -> ResolvedClaims | Refusal:
    claims = cluster.claims

    def is_replanned(key: ObjectKey) -> bool:
        claim = claims.get(key)
        return claim is not None and replanning.concerns(claim)

    def claim_of(key: ObjectKey) -> ResourceClaim | None:
        claim = claims.get(key)
        return replace(claim, status=ResourceClaimStatus()) if claim is not None and is_replanned(key) else claim

    def allocation_of(key: ObjectKey) -> AllocationResult | None:
        return None if is_replanned(key) else claims.intended_allocation(key)

    return resolve(pod, claim_of, allocation_of, claims.intended_consumers)
