"""Nodes with devices that somebody has who would not go with the node."""

from collections.abc import Iterator

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey


def held_nodes(cluster: Cluster) -> dict[str, str]:
    """Return such nodes by name, each with the claim that holds devices of it, in words.

    A claim keeps its devices as long as anybody may use them but pods of one node: pods elsewhere or without a node,
    what is no pod, or nobody so far. Devices that other nodes reach, too, do not go with a node.
    """
    found: dict[str, str] = {}
    for claim in sorted(cluster.claims.values(), key=lambda one: one.key):
        allocation = claim.status.allocation
        if allocation is None or not _is_held_by_others(cluster, claim):
            continue
        for result in allocation.devices.results:
            for node in cluster.pools.reach_of_device(result.device_id).nodes:
                found.setdefault(node, f"claim {claim.key} holds devices of it, and not only for pods on it")
    return found


def _is_held_by_others(cluster: Cluster, claim: ResourceClaim) -> bool:
    homes = set(_homes(cluster, claim))
    # The claim of pods that have all ended is about to be free.
    return "" in homes or len(homes) > 1 or not claim.status.reserved_for


def _homes(cluster: Cluster, claim: ResourceClaim) -> Iterator[str]:
    """Yield the nodes of the consumers, empty for one that has none or is no pod."""
    for user in claim.status.reserved_for:
        pod = None
        if user.resource == "pods" and not user.api_group:
            pod = cluster.pod(ObjectKey(claim.key.namespace, user.name))
        if pod is None or pod.metadata.uid != user.uid:
            yield ""
        elif not pod.is_finished:
            yield pod.spec.node_name
