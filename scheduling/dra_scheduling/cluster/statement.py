"""One transaction over what a cluster assumes: pods evicted and placed, claims allocated, NodeClaims opened.

A statement is for trying things: it does them to the cluster itself, so that every rule sees their effect, and takes
them back. There is one journal with the inverse of every step, those of the ledger and of kept answers included, so
that a rollback costs what was done and nothing else. Who did not look meanwhile has nothing to look at again.

It stands beside the cluster and not in `state/`, because NodeClaims are part of it and the inventory is above that.
"""

from collections.abc import Collection, Iterator
from enum import Enum, auto
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import msgspec
from msgspec.structs import replace

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.journal import Journal
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.ledger import Held, Ledger, Source
from dra_scheduling.devices.ledger_entries import special_owner
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.evaluate import WHOLE_BUDGET, ClaimDevices, Evaluator
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.inventory import Inventory
from dra_scheduling.inventory.nominations import NOMINATED_PODS, Nominee, nominees_of, nominees_text
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.state.change_log import ChangeLog, LogMark
from dra_scheduling.state.claim_book import ClaimBook
from dra_scheduling.state.commitments import Commitments, PlannedPlacement
from dra_scheduling.state.domains import NodeLabels
from dra_scheduling.state.node_state import NodeState

EVICTED_AT = "9999-12-31T23:59:59Z"
"""The deletion timestamp of a pod that a statement evicts: no deadline of its has passed."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class EvictedAs(Enum):
    """What an evicted pod counts as: `TERMINATING` still has its room and devices, `GONE` has given them back."""

    TERMINATING = auto()
    GONE = auto()


class StatementParts(NamedTuple):
    """The parts of a cluster that a statement changes, and what its nodes are asked with."""

    journal: Journal
    changes: ChangeLog
    nodes: dict[str, NodeState]
    labels: NodeLabels
    pools: PoolIndex
    ledger: Ledger
    classes: ClassIndex
    claims: ClaimBook
    placements: Commitments
    inventory: Inventory


class Checkpoint(NamedTuple):
    """A point that a statement can be rolled back to."""

    length: int
    log: LogMark


class StatementDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """What a committed statement decided.

    Assignments and NodeClaims count from now on. Evicted pods count until the API server shows that they are gone, so
    that nothing of theirs is free in between.
    """

    evictions: tuple[Pod, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    allocations: tuple[tuple[ObjectKey, AllocationResult], ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()


class _Eviction(NamedTuple):
    """A pod and its plan as they were before the first eviction."""

    pod: Pod
    plan: PlannedPlacement | None
    as_: EvictedAs


class Statement:
    """A context in which a cluster is changed by trial: leaving it undoes everything that was not committed.

    There is one at a time: a second one raises `ValueError` while the first is open.
    """

    def __init__(self, parts: StatementParts) -> None:
        self._parts = parts
        self._journal, self._changes = parts.journal, parts.changes
        self._claims, self._placements, self._inventory = parts.claims, parts.placements, parts.inventory
        self._start: Checkpoint | None = None
        self._evicted: dict[str, _Eviction] = {}
        self._originals: dict[ObjectKey, ResourceClaim] = {}
        self._allocated: dict[ObjectKey, AllocationResult] = {}
        self._assumed: dict[str, Assignment] = {}
        self._opened: dict[str, NodeClaim] = {}

    def __enter__(self) -> Self:
        self._journal.open()
        self._changes.begin()
        self._start = self.checkpoint()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def evicted(self) -> tuple[Pod, ...]:
        """The evicted pods as they were before, in the order of their first evictions."""
        return tuple(one.pod for one in self._evicted.values())

    def evict(self, pod: Pod, as_: EvictedAs) -> None:
        """Let the pod be terminating, or gone together with what no other pod uses of its claims."""
        known, uid = self._placements.pods.get(pod.key), pod.metadata.uid
        if known is None or known.metadata.uid != uid:
            raise ValueError(f"Pod {pod.key} is not in the cluster, or another one of its name is")
        before = self._evicted.get(uid) or _Eviction(known, self._placements.plan_of(uid), as_)
        self._note(self._evicted, uid, before._replace(as_=as_))
        if as_ is EvictedAs.TERMINATING:
            deleting = replace(known.metadata, deletion_timestamp=known.metadata.deletion_timestamp or EVICTED_AT)
            self._put_pod(replace(known, metadata=deleting), self._placements.plan_of(uid))
            return
        claims = self._claims_of(known)
        self._take_out_pod(known)
        for claim in claims:
            if claim.key not in self._originals:
                self._note(self._originals, claim.key, claim)
            self._settle_claim(claim.key)

    def close(self, node: str) -> None:
        """Let the node be gone for pods that look for one; those that are on it stay unless they are evicted.

        Rules across nodes count neither the node nor its pods meanwhile, as if it had been removed.
        """
        state = self._parts.nodes.pop(node, None)
        if state is None:
            raise ValueError(f"Node {node} is not in the cluster, or is closed already")
        self._journal.note(lambda: self._reopen(state))
        self._changes.changed(node)
        self._parts.labels.changed(node, state.node.metadata.labels, {})
        self._placements.node_changed(node)

    def evaluate(
        self, pod_class: PodClass, budget: SearchBudget = WHOLE_BUDGET, within: Collection[str] | None = None
    ) -> Iterator[str]:
        """Yield the nodes that take pods of the class as things stand, the best first, of all or of those `within`.

        To be read before the statement goes on.
        """
        parts = self._parts
        devices = ClaimDevices(parts.pools, parts.ledger, parts.classes)
        evaluator = Evaluator(pod_class, parts.nodes, devices, budget, parts.changes)
        pod_class.ranking.refresh(parts.nodes, parts.changes, evaluator.look)
        found = pod_class.ranking.in_order(parts.changes, evaluator.look)
        return (node for node in found if within is None or node in within)

    def restore(self, pod: Pod) -> None:
        """Take one eviction back, in any order: the pod has its room, its plan and its share of its claims again.

        Whether somebody else was given its room or devices meanwhile is for the caller to ask.
        """
        eviction = self._evicted.get(pod.metadata.uid)
        if eviction is None:
            raise ValueError(f"Pod {pod.key} was not evicted by this statement")
        self._note(self._evicted, pod.metadata.uid, None)
        self._put_pod(eviction.pod, eviction.plan)
        for key in self._keys_of(eviction.pod):
            self._settle_claim(key)

    def assume(self, assignment: Assignment) -> None:
        """Count the pod as placed, with its devices."""
        uid = assignment.pod.metadata.uid
        before = self._placements.plan_of(uid)
        self._note(self._assumed, uid, assignment)
        self._journal.note(lambda: self._placements.set_plan(assignment.pod, before))
        self._placements.assume(assignment)

    def allocate(self, claim: ResourceClaim, allocation: AllocationResult) -> None:
        """Give devices to a claim before its first pod has a place."""
        known = self._claims.get(claim.key)
        if known is None or known.metadata.uid != claim.metadata.uid:
            raise ValueError(f"ResourceClaim {claim.key} is not in the cluster, or another one of its name is")
        if claim.key not in self._originals:
            self._note(self._originals, claim.key, known)
        self._note(self._allocated, claim.key, allocation)
        self._settle_claim(claim.key)

    def release(self, source: Source) -> None:
        """Let one source hold no devices: a remedy to be tried, whatever would have to happen for it."""
        self._claims.hold(source, Held(""))

    def open(self, node_claim: NodeClaim) -> None:
        """Count a NodeClaim as decided, new or with more nominated pods."""
        name = node_claim.name
        before = self._inventory.decided(name)
        self._note(self._opened, name, node_claim)
        self._journal.note(lambda: self._inventory.forget(name) if before is None else self._inventory.assume(before))
        self._inventory.assume(node_claim)

    def nominate(self, pod: Pod, node_claim: str) -> None:
        """Nominate the pod to a NodeClaim that is there or was opened, behind the pods that it names already."""
        known = self._inventory.claims.get(node_claim)
        if known is None:
            raise ValueError(f"there is no NodeClaim {node_claim}")
        nominees = dict.fromkeys((*nominees_of(known), Nominee.of(pod)))
        annotations = {**known.metadata.annotations, NOMINATED_PODS: nominees_text(nominees)}
        self.open(replace(known, metadata=replace(known.metadata, annotations=annotations)))

    def checkpoint(self) -> Checkpoint:
        """Return the present as a point to come back to."""
        return Checkpoint(len(self._journal), self._changes.mark())

    def rollback(self, point: Checkpoint) -> None:
        """Undo everything since the point, which stays valid. A point of undone history is a `ValueError`."""
        self._journal.rollback(point.length)
        self._changes.rewind(point.log)

    def commit(self) -> StatementDecisions:
        """Make the statement's decisions final, and return them."""
        decided = StatementDecisions(
            evictions=self.evicted,
            assignments=tuple(one for uid, one in self._assumed.items() if uid not in self._evicted),
            allocations=tuple(self._allocated.items()),
            node_claims=tuple(self._opened.values()),
        )
        self._end()
        for claim in decided.node_claims:
            self._inventory.assume(claim)
        for assignment in decided.assignments:
            self._placements.assume(assignment)
        return decided

    def _end(self) -> None:
        if self._start is not None:
            self.rollback(self._start)
            self._changes.finish()
            self._journal.close()
            self._start = None

    def _reopen(self, state: NodeState) -> None:
        # While it was closed nobody kept what its pods take, and that is as it was by now.
        state.charges = self._placements.charges_on(state.node.name)
        self._parts.nodes[state.node.name] = state
        self._parts.labels.changed(state.node.name, {}, state.node.metadata.labels)
        self._placements.indexes.nodes_changed()

    def _note(self, notes: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
        """Keep a note of the statement's own, or drop it; the journal keeps the one before."""
        before = notes.get(key)
        self._journal.note(lambda: _set(notes, key, before))
        _set(notes, key, value)

    def _put_pod(self, pod: Pod, plan: PlannedPlacement | None) -> None:
        known = self._placements.pods.get(pod.key)
        former = self._placements.plan_of(pod.metadata.uid)
        if known is None:
            self._journal.note(lambda: self._placements.remove_pod(pod.key))
        else:
            self._journal.note(lambda: self._placements.put(known, former))
        self._placements.put(pod, plan)

    def _take_out_pod(self, pod: Pod) -> None:
        plan = self._placements.plan_of(pod.metadata.uid)
        self._journal.note(lambda: self._placements.put(pod, plan))
        self._placements.remove_pod(pod.key)

    def _claims_of(self, pod: Pod) -> tuple[ResourceClaim, ...]:
        """Return the claims of which the pod is a consumer, or was about to become one."""
        named = (self._claims.get(key) for key in dict.fromkeys(claim_keys(pod).values()))
        used = (one for one in named if one is not None and (one.status.reserved_for or one.key in self._originals))
        return (*used, *self._claims.special_claims_of(pod))

    def _keys_of(self, pod: Pod) -> tuple[ObjectKey, ...]:
        """Return the claims of the pod that the statement has changed."""
        special = (key for key, claim in self._originals.items() if special_owner(claim) == pod.metadata.uid)
        named = (key for key in claim_keys(pod).values() if key in self._originals)
        return tuple(dict.fromkeys((*named, *special)))

    def _settle_claim(self, key: ObjectKey) -> None:
        """Let the claim be what follows from its state at first, from who is gone, and from what it was given."""
        before = self._claims.get(key)
        if before is None:
            return
        original = self._originals[key].status
        gone = {uid for uid, one in self._evicted.items() if one.as_ is EvictedAs.GONE}
        users = tuple(user for user in original.reserved_for if user.uid not in gone)
        is_left = bool(original.reserved_for) and not users and not self._claims.intended_consumers(key)
        allocation = self._allocated.get(key, None if is_left else original.allocation)
        if users == before.status.reserved_for and allocation is before.status.allocation:
            return
        self._journal.note(lambda: self._claims.apply(before))
        self._claims.apply(replace(before, status=replace(before.status, reserved_for=users, allocation=allocation)))


def _set(notes: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    if value is None:
        notes.pop(key, None)
    else:
        notes[key] = value
