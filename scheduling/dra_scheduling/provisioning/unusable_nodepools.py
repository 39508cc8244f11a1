"""NodePools that a pod asks for by name and that make no nodes."""

from collections.abc import Iterator

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory.nodepool_validation import pool_faults
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.provisioning.pending_pod import PendingPod

MOST_TOLD = 3


def unusable_pools(cluster: Cluster, asked: PendingPod) -> tuple[Refusal, ...]:
    """Return why NodePools that the pod wants its node from make none; nothing where it leaves the choice."""
    usable = {template.name for template in cluster.inventory.templates()}
    names = [name for name in _wanted(asked) if name not in usable]
    return tuple(_refusal(name, cluster.inventory.pools.get(name)) for name in names[:MOST_TOLD])


def pools_without_nodes(cluster: Cluster) -> tuple[Refusal, ...]:
    """Return why no NodePool of the cluster makes nodes for pods, where there are NodePools but none that does."""
    pools = sorted(cluster.inventory.pools.items())
    return tuple(_refusal(name, pool) for name, pool in pools[:MOST_TOLD])


def _wanted(asked: PendingPod) -> Iterator[str]:
    # The last variants are those without anything that is only preferred.
    requirements = asked.variants[-1].requirements or ()
    for one in requirements:
        if one.key == NODE_POOL_LABEL and not one.excludes:
            yield from sorted(one.values)


def _refusal(name: str, pool: NodePool | None) -> Refusal:
    return Refusal(reason="NodePoolNotUsable", message=f"NodePool {name}: {_why(pool)}", wake=ClusterEvent.SUPPLY)


def _why(pool: NodePool | None) -> str:
    if pool is None:
        return "there is none of that name, or it cannot be read"
    if pool.metadata.is_deleting:
        return "it is being deleted"
    faults = pool_faults(pool)
    if faults:
        return f"it is not valid: {faults[0]}"
    said = pool.condition("ValidationSucceeded")
    if said is not None and said.status == "False":
        return f"it is not valid: {said.message or said.reason}"
    if pool.spec.replicas is not None:
        return "it has a fixed number of nodes and makes none for pods"
    group = pool.spec.template.spec.node_class_ref.group
    return f"its nodes are made by somebody else, its node class is of group {group}"
