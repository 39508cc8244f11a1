"""Whether nodes still are what their NodePools ask for now."""

from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import Inventory
from dra_scheduling.inventory.templates import required
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.provisioning.nodeclaims import HASH, HASH_VERSION, pool_hash


class Drift:
    """How NodeClaims differ from what their pools would make now.

    Pools change in two ways: some fields make every NodeClaim another one (by hash), requirements only those whose
    labels they exclude. A hash of another version says nothing.
    """

    __slots__ = ("_hashes", "_kinds")

    def __init__(self, inventory: Inventory) -> None:
        self._kinds = frozenset(one.instance_type for one in inventory.instance_types.values())
        self._hashes: dict[str, str] = {}

    def of(self, claim: NodeClaim, pool: NodePool) -> str:
        """Return in words how the NodeClaim differs from its pool, empty if it does not."""
        notes, labels = claim.metadata.annotations, claim.metadata.labels
        written = notes.get(HASH)
        is_same_version = notes.get(HASH_VERSION) == pool.metadata.annotations.get(
            HASH_VERSION, notes.get(HASH_VERSION)
        )
        if is_same_version and written is not None and written != self._hash(pool):
            return f"the template of NodePool {pool.name} has changed"
        for requirement in required(pool.spec.template.spec.requirements):
            value = labels.get(requirement.key)
            if not requirement.has(value):
                return f"NodePool {pool.name} does not allow its {requirement.key} ({value or 'absent'}) any more"
        kind = labels.get(INSTANCE_TYPE_LABEL)
        return f"there is no InstanceType {kind} any more" if kind is not None and kind not in self._kinds else ""

    def _hash(self, pool: NodePool) -> str:
        if pool.name not in self._hashes:
            self._hashes[pool.name] = pool_hash(pool)
        return self._hashes[pool.name]
