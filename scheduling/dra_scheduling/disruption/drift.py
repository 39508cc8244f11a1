"""Whether a node still is what its NodePool asks for now."""

from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory.templates import INSTANCE_TYPE_LABEL, required
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.provisioning.nodeclaims import HASH, HASH_VERSION, pool_hash


def drift_of(cluster: Cluster, claim: NodeClaim, pool: NodePool) -> str:
    """Return in words how the NodeClaim differs from what the pool would make now, empty if it does not.

    Pools change in two ways: some fields make every NodeClaim another one (by hash), requirements only those whose
    labels they exclude. A hash of another version says nothing.
    """
    notes, labels = claim.metadata.annotations, claim.metadata.labels
    if notes.get(HASH_VERSION) == pool.metadata.annotations.get(HASH_VERSION, notes.get(HASH_VERSION)):
        written = notes.get(HASH)
        if written is not None and written != pool_hash(pool):
            return f"the template of NodePool {pool.name} has changed"
    for requirement in required(pool.spec.template.spec.requirements):
        value = labels.get(requirement.key)
        if not requirement.has(value):
            return f"NodePool {pool.name} does not allow its {requirement.key} ({value or 'absent'}) any more"
    kind = labels.get(INSTANCE_TYPE_LABEL)
    if kind is not None and all(one.instance_type != kind for one in cluster.inventory.instance_types.values()):
        return f"there is no InstanceType {kind} any more"
    return ""
