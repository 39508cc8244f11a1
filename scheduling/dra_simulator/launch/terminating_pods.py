"""Plays kubelets and the claim controller where pods that are being deleted come to their end."""

from collections.abc import Iterator

from msgspec.structs import replace

from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.events import ObjectChanged, ObjectRemoved
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimStatus


def endings(cluster: Cluster) -> tuple[ObjectChanged | ObjectRemoved, ...]:
    """Return what happens when the pods that are being deleted are gone.

    A claim that was made for such a pod goes, too. Of others they are no consumers any more, and one without consumers
    gives its devices back.
    """
    leaving = tuple(pod for pod in cluster.placements.pods.values() if pod.metadata.is_deleting)
    uids = frozenset(pod.metadata.uid for pod in leaving)
    return (*map(ObjectRemoved, leaving), *(_end_of(claim, uids) for claim in _concerned(cluster, uids)))


def _end_of(claim: ResourceClaim, uids: frozenset[str]) -> ObjectChanged | ObjectRemoved:
    owner = claim.metadata.controller
    return ObjectRemoved(claim) if owner is not None and owner.uid in uids else ObjectChanged(_without(claim, uids))


def _concerned(cluster: Cluster, uids: frozenset[str]) -> Iterator[ResourceClaim]:
    for claim in cluster.claims.values():
        owner = claim.metadata.controller
        if any(user.uid in uids for user in claim.status.reserved_for) or (owner is not None and owner.uid in uids):
            yield claim


def _without(claim: ResourceClaim, uids: frozenset[str]) -> ResourceClaim:
    left = tuple(user for user in claim.status.reserved_for if user.uid not in uids)
    status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
    return replace(claim, status=status)
