"""All ResourceClaims, and what each has: its allocation, written or only decided, and its devices in the ledger.

The ledger follows the API: a device is taken while any claim, unfinished BindRequest or plan names it, whether it is
published or not.
"""

from collections.abc import Iterable
from typing import NamedTuple

from dra_scheduling.changes import ChangeLog
from dra_scheduling.cluster.holdings import held_by, holder_of, special_holder, special_owner
from dra_scheduling.ledger import Held, Ledger, Source
from dra_scheduling.model.claims import MAX_CONSUMERS_PER_CLAIM, AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.pools import PoolIndex
from dra_scheduling.reasons import Wake


class Intent(NamedTuple):
    """An allocation that a BindRequest or plan of one pod gives to a claim; without a key it is the special claim."""

    entry: str
    claim: ObjectKey | None
    allocation: AllocationResult


class ClaimBook:
    """Claims by name, the special claims by pod, and allocations that the API server does not show yet."""

    __slots__ = ("_changes", "_claims", "_intents", "_ledger", "_pools", "_special")

    def __init__(self, ledger: Ledger, pools: PoolIndex, changes: ChangeLog) -> None:
        self._claims: dict[ObjectKey, ResourceClaim] = {}
        self._special: dict[str, set[ObjectKey]] = {}
        self._intents: dict[ObjectKey, dict[str, AllocationResult]] = {}
        self._ledger = ledger
        self._pools = pools
        self._changes = changes

    def get(self, key: ObjectKey) -> ResourceClaim | None:
        """Return the claim as the API server has it."""
        return self._claims.get(key)

    def values(self) -> Iterable[ResourceClaim]:
        """Return all claims."""
        return self._claims.values()

    def intended_allocation(self, key: ObjectKey) -> AllocationResult | None:
        """Return the allocation that is on its way to this claim, with its node selector, if there is one."""
        intents = self._intents.get(key)
        return next(iter(intents.values())) if intents else None

    def intended_consumers(self, key: ObjectKey) -> frozenset[str]:
        """Return the uids of the pods that are about to become consumers of the claim."""
        return frozenset(self._intents.get(key, ()))

    def special_claims_of(self, pod: Pod) -> tuple[ResourceClaim, ...]:
        """Return the special claims that exist for exactly this pod, by name."""
        keys = sorted(self._special.get(pod.metadata.uid, ()))
        return tuple(self._claims[key] for key in keys)

    def apply(self, claim: ResourceClaim) -> Wake:
        """Take over a claim's state; return what pods it could help."""
        before = self._claims.get(claim.key)
        if before is not None and before.metadata.uid != claim.metadata.uid:
            self._drop(before)
        self._claims[claim.key] = claim
        owner = special_owner(claim)
        if owner:
            self._special.setdefault(owner, set()).add(claim.key)
        held = held_by(holder_of(claim), claim.status.allocation)
        freed = self._hold(Source("claim", claim.metadata.uid), held)
        return _help_of(before, claim) | (Wake.DEVICES if freed else Wake.NOTHING)

    def remove(self, key: ObjectKey) -> Wake:
        """Forget a claim; its devices are free unless something else names them."""
        claim = self._claims.pop(key, None)
        if claim is None:
            return Wake.NOTHING
        return Wake.CLAIMS | (Wake.DEVICES if self._drop(claim) else Wake.NOTHING)

    def intend(self, pod_uid: str, intents: Iterable[Intent]) -> None:
        """Hold what a BindRequest or plan of the pod gives away, until `withdraw`."""
        for entry, key, allocation in intents:
            holder = special_holder(pod_uid) if key is None else str(key)
            self._hold(_intent_source(pod_uid, entry), held_by(holder, allocation))
            if key is not None:
                self._intents.setdefault(key, {})[pod_uid] = allocation

    def withdraw(self, pod_uid: str, intents: Iterable[Intent]) -> Wake:
        """Take back what `intend` noted; return whether devices became free by it."""
        freed: list[DeviceID] = []
        for entry, key, _ in intents:
            freed += self._release(_intent_source(pod_uid, entry))
            if key is not None and key in self._intents:
                self._intents[key].pop(pod_uid, None)
                if not self._intents[key]:
                    del self._intents[key]
        return Wake.DEVICES | Wake.CLAIMS if freed else Wake.NOTHING

    def _drop(self, claim: ResourceClaim) -> list[DeviceID]:
        owner = special_owner(claim)
        if owner in self._special:
            self._special[owner].discard(claim.key)
            if not self._special[owner]:
                del self._special[owner]
        return self._release(Source("claim", claim.metadata.uid))

    def _release(self, source: Source) -> list[DeviceID]:
        return self._hold(source, Held(""))

    def _hold(self, source: Source, now: Held) -> list[DeviceID]:
        """Let the source hold this instead of what it held; return the devices that became free, or parts of them."""
        ledger = self._ledger
        before = ledger.held.get(source, Held(""))
        if before == now:
            return []
        taken = [device for device in now.devices if not ledger.is_taken(device)]
        taken += [share.device for share in now.shares if not ledger.has_share(now.holder, share)]
        if now.everything:
            ledger.hold(source, now.holder, now.devices, now.shares)
            for key in {device.pool_key for device in now.everything}:
                self._pools.teach(key, ledger)
        else:
            ledger.release(source)
        freed = [device for device in before.devices if not ledger.is_taken(device)]
        freed += [share.device for share in before.shares if not ledger.has_share(before.holder, share)]
        self._note(freed, taken)
        return freed

    def _note(self, freed: list[DeviceID], taken: list[DeviceID]) -> None:
        reaches = {device: self._pools.reach_of_device(device) for device in (*freed, *taken)}
        if any(reaches[device].is_everywhere for device in freed):
            self._changes.everything_changed()
        for device in taken:
            if reaches[device].is_everywhere:
                self._changes.shared_takes += 1
        for node in sorted({node for reach in reaches.values() for node in reach.nodes}):
            self._changes.changed(node)


def _intent_source(pod_uid: str, entry: str) -> Source:
    return Source("intent", f"{pod_uid}/{entry}")


def _help_of(before: ResourceClaim | None, claim: ResourceClaim) -> Wake:
    """Return what a claim's change could help.

    The claim controller may take a finished consumer out and put it back hundreds of times a second while another one
    still runs: only a change of the allocation, of deletion or of room for another consumer is worth a look.
    """
    if before is None:
        return Wake.CLAIMS
    seen = (before.metadata.uid, before.status.allocation is None, before.metadata.is_deleting, _is_full(before))
    now = (claim.metadata.uid, claim.status.allocation is None, claim.metadata.is_deleting, _is_full(claim))
    return Wake.NOTHING if seen == now else Wake.CLAIMS


def _is_full(claim: ResourceClaim) -> bool:
    return len(claim.status.reserved_for) >= MAX_CONSUMERS_PER_CLAIM
