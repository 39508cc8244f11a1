"""All ResourceClaims, and what each has: its allocation, written or only decided, and its devices in the ledger.

The ledger follows the API: a device is taken while any claim, unfinished BindRequest or plan names it, whether it is
published or not.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.ledger import Held, Ledger, Source
from dra_scheduling.devices.ledger_entries import held_by, holder_of, special_holder, special_owner
from dra_scheduling.model.claims import MAX_CONSUMERS_PER_CLAIM, AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.change_log import ChangeLog


class Intent(NamedTuple):
    """An allocation that a BindRequest or plan of one pod gives to a claim; without a key it is the special claim.

    Without a `claim_uid` any claim of that name is meant.
    """

    entry: str
    claim: ObjectKey | None
    allocation: AllocationResult
    claim_uid: str = ""


class _Standing(NamedTuple):
    """What decisions read of a claim: a change of anything else helps no pod.

    The claim controller may take a finished consumer out and put it back hundreds of times a second while another one
    still runs, so of the consumers only their being too many is in it.
    """

    uid: str
    controller: str
    special_owner: str
    held: Held | None
    selector: NodeSelector | None
    is_deleting: bool
    is_full: bool


class ClaimBook:
    """Claims by name, the special claims by pod, and allocations that the API server does not show yet."""

    __slots__ = ("_changes", "_claims", "_intents", "_ledger", "_pools", "_special")

    def __init__(self, ledger: Ledger, pools: PoolIndex, changes: ChangeLog) -> None:
        self._claims: dict[ObjectKey, ResourceClaim] = {}
        self._special: dict[str, set[ObjectKey]] = {}
        self._intents: dict[ObjectKey, dict[tuple[str, str], Intent]] = {}
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
        return next((intent.allocation for _, intent in self._intents_for(key)), None)

    def intended_consumers(self, key: ObjectKey) -> frozenset[str]:
        """Return the uids of the pods that are about to become consumers of the claim."""
        return frozenset(pod_uid for pod_uid, _ in self._intents_for(key))

    def special_claims_of(self, pod: Pod) -> tuple[ResourceClaim, ...]:
        """Return the special claims that exist for exactly this pod, by name."""
        keys = sorted(self._special.get(pod.metadata.uid, ()))
        return tuple(self._claims[key] for key in keys)

    def apply(self, claim: ResourceClaim) -> ClusterEvent:
        """Take over a claim's state; return what pods it could help."""
        standing = self._standing(claim.key)
        before = self._claims.get(claim.key)
        freed: list[DeviceID] = []
        if before is not None:
            self._disown(before)
            if before.metadata.uid != claim.metadata.uid:
                freed += self._release(_claim_source(before))
        self._claims[claim.key] = claim
        owner = special_owner(claim)
        if owner:
            self._special.setdefault(owner, set()).add(claim.key)
        freed += self.hold(_claim_source(claim), held_by(holder_of(claim), claim.status.allocation))
        change = ClusterEvent.NOTHING if self._standing(claim.key) == standing else ClusterEvent.CLAIMS
        return change | (ClusterEvent.DEVICES if freed else ClusterEvent.NOTHING)

    def remove(self, key: ObjectKey) -> ClusterEvent:
        """Forget a claim; its devices are free unless something else names them."""
        claim = self._claims.pop(key, None)
        if claim is None:
            return ClusterEvent.NOTHING
        self._disown(claim)
        return ClusterEvent.CLAIMS | (
            ClusterEvent.DEVICES if self._release(_claim_source(claim)) else ClusterEvent.NOTHING
        )

    def intend(self, pod_uid: str, intents: Collection[Intent]) -> ClusterEvent:
        """Hold what a BindRequest or plan of the pod gives away, until `withdraw`; return what pods that could help."""
        freed: list[DeviceID] = []
        before = self._prospects(intents)
        for intent in intents:
            holder = special_holder(pod_uid) if intent.claim is None else str(intent.claim)
            freed += self.hold(_intent_source(pod_uid, intent), held_by(holder, intent.allocation))
            if intent.claim is not None:
                self._intents.setdefault(intent.claim, {})[pod_uid, intent.entry] = intent
        return self._help_since(before, intents, freed)

    def withdraw(self, pod_uid: str, intents: Collection[Intent]) -> ClusterEvent:
        """Take back what `intend` noted; return what pods that could help."""
        freed: list[DeviceID] = []
        before = self._prospects(intents)
        for intent in intents:
            freed += self._release(_intent_source(pod_uid, intent))
            key = intent.claim
            if key is not None and key in self._intents:
                self._intents[key].pop((pod_uid, intent.entry), None)
                if not self._intents[key]:
                    del self._intents[key]
        return self._help_since(before, intents, freed)

    def hold(self, source: Source, now: Held) -> list[DeviceID]:
        """Let the source hold this instead of what it held; return the devices of which more is free now."""
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

    def _intents_for(self, key: ObjectKey) -> Iterator[tuple[str, Intent]]:
        """Yield what is on its way to the claim, with the pod: another claim that had this name gets nothing more."""
        claim = self._claims.get(key)
        for (pod_uid, _), intent in self._intents.get(key, {}).items():
            if claim is None or intent.claim_uid in {"", claim.metadata.uid}:
                yield pod_uid, intent

    def _prospects(self, intents: Iterable[Intent]) -> list[object]:
        return [self._prospect(intent.claim) for intent in intents if intent.claim is not None]

    def _help_since(self, before: list[object], intents: Iterable[Intent], freed: list[DeviceID]) -> ClusterEvent:
        change = ClusterEvent.NOTHING if self._prospects(intents) == before else ClusterEvent.CLAIMS
        return change | (ClusterEvent.DEVICES if freed else ClusterEvent.NOTHING)

    def _prospect(self, key: ObjectKey) -> tuple[AllocationResult | None, bool]:
        """Return what another pod with this claim is told: the allocation, written or not, and whether it is full."""
        claim = self._claims.get(key)
        written = claim.status.allocation if claim is not None else None
        return written or self.intended_allocation(key), self._is_full(key)

    def _standing(self, key: ObjectKey) -> _Standing | None:
        claim = self._claims.get(key)
        if claim is None:
            return None
        allocation, controller = claim.status.allocation, claim.metadata.controller
        return _Standing(
            uid=claim.metadata.uid,
            controller=controller.uid if controller is not None else "",
            special_owner=special_owner(claim),
            held=held_by("", allocation) if allocation is not None else None,
            selector=allocation.node_selector if allocation is not None else None,
            is_deleting=claim.metadata.is_deleting,
            is_full=self._is_full(key),
        )

    def _is_full(self, key: ObjectKey) -> bool:
        claim = self._claims.get(key)
        if claim is None:
            return False
        consumers = {consumer.uid for consumer in claim.status.reserved_for}
        return len(consumers | self.intended_consumers(key)) >= MAX_CONSUMERS_PER_CLAIM

    def _disown(self, claim: ResourceClaim) -> None:
        owner = special_owner(claim)
        if owner in self._special:
            self._special[owner].discard(claim.key)
            if not self._special[owner]:
                del self._special[owner]

    def _release(self, source: Source) -> list[DeviceID]:
        return self.hold(source, Held(""))

    def _note(self, freed: list[DeviceID], taken: list[DeviceID]) -> None:
        reaches = {device: self._pools.reach_of_device(device) for device in (*freed, *taken)}
        if any(reaches[device].is_everywhere for device in freed):
            self._changes.everything_changed()
        for device in taken:
            if reaches[device].is_everywhere:
                self._changes.shared_takes += 1
        for node in sorted({node for reach in reaches.values() for node in reach.nodes}):
            self._changes.changed(node)


def _claim_source(claim: ResourceClaim) -> Source:
    return Source("claim", claim.metadata.uid)


def _intent_source(pod_uid: str, intent: Intent) -> Source:
    return Source("intent", f"{pod_uid}/{intent.entry}/{intent.claim or ''}")
