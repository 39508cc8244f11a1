"""Whether nodes still are what their NodePools ask for now."""

from collections.abc import Callable

import msgspec

from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory.nodepool_templates import required
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.provisioning.nodeclaim_builder import HASH, HASH_VERSION, pool_hash

POOL_DRIFTED = "NodePoolDrifted"
REQUIREMENTS_DRIFTED = "RequirementsDrifted"
TYPE_NOT_FOUND = "InstanceTypeNotFound"


class Difference(msgspec.Struct, frozen=True):
    """How a NodeClaim differs from its pool: a reason, named as Karpenter names it, and the same in words."""

    reason: str
    message: str


class Drift:
    """How NodeClaims differ from what their pools would make now.

    Pools change in two ways: some fields make every NodeClaim another one (by hash), requirements only those whose
    labels they exclude. A hash of another version says nothing. `is_type` tells whether any InstanceType is called so.
    """

    __slots__ = ("_hashes", "_is_type")

    def __init__(self, is_type: Callable[[str], bool]) -> None:
        self._is_type = is_type
        self._hashes: dict[str, str] = {}

    def of(self, claim: NodeClaim, pool: NodePool) -> Difference | None:
        """Return how the NodeClaim differs from its pool, None if it does not."""
        notes, labels = claim.metadata.annotations, claim.metadata.labels
        written = notes.get(HASH)
        is_same_version = notes.get(HASH_VERSION) == pool.metadata.annotations.get(
            HASH_VERSION, notes.get(HASH_VERSION)
        )
        if is_same_version and written is not None and written != self._hash(pool):
            return Difference(POOL_DRIFTED, f"the template of NodePool {pool.name} has changed")
        for requirement in required(pool.spec.template.spec.requirements):
            value = labels.get(requirement.key)
            if not requirement.has(value):
                message = f"NodePool {pool.name} does not allow its {requirement.key} ({value or 'absent'}) any more"
                return Difference(REQUIREMENTS_DRIFTED, message)
        kind = labels.get(INSTANCE_TYPE_LABEL)
        if kind is not None and not self._is_type(kind):
            return Difference(TYPE_NOT_FOUND, f"there is no InstanceType {kind} any more")
        return None

    def _hash(self, pool: NodePool) -> str:
        if pool.name not in self._hashes:
            self._hashes[pool.name] = pool_hash(pool)
        return self._hashes[pool.name]
