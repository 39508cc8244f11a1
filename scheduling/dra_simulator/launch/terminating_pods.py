"""Plays kubelets and the claim controller where pods that are being deleted come to their end."""

from collections.abc import Iterator

from msgspec.structs import replace

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.pods import Pod


def let_go(cluster: Cluster) -> bool:
    """Let the pods that are being deleted be gone, and their claims with them; return whether there were any.

    A claim that was made for such a pod goes, too. Of others they are no consumers any more, and one without consumers
    gives its devices back.
    """
    leaving = tuple(pod for pod in cluster.placements.pods.values() if pod.metadata.is_deleting)
    uids = frozenset(pod.metadata.uid for pod in leaving)
    for pod in leaving:
        cluster.remove(Pod, pod.key)
    for claim in tuple(_concerned(cluster, uids)):
        owner = claim.metadata.controller
        if owner is not None and owner.uid in uids:
            cluster.remove(ResourceClaim, claim.key)
        else:
            cluster.apply(_without(claim, uids))
    return bool(leaving)


def _concerned(cluster: Cluster, uids: frozenset[str]) -> Iterator[ResourceClaim]:
    for claim in cluster.claims.values():
        owner = claim.metadata.controller
        if any(user.uid in uids for user in claim.status.reserved_for) or (owner is not None and owner.uid in uids):
            yield claim


def _without(claim: ResourceClaim, uids: frozenset[str]) -> ResourceClaim:
    left = tuple(user for user in claim.status.reserved_for if user.uid not in uids)
    status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
    return replace(claim, status=status)
