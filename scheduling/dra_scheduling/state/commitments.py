"""Where each pod takes room: on the node it is bound to, or on the one that a living BindRequest or plan names.

All three say the same thing about a pod, one after the other: the plan exists in memory first, then the BindRequest is
seen, then the bound pod. One function derives the present commitment from them, so that nothing is counted twice and
nothing is free in between.
"""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.bindrequests import (
    FAILED,
    BindRequest,
    ExtendedResourceClaimAllocation,
    ResourceClaimAllocation,
)
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_key
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.state.change_log import ChangeLog
from dra_scheduling.state.claim_book import ClaimBook, Intent
from dra_scheduling.state.node_state import NodeState, PodCharge, charge_of
from dra_scheduling.state.pod_indexes import PlacedPod, PodIndexes

SPECIAL_ENTRY = "<extended-resources>"


class Commitment(msgspec.Struct, frozen=True):
    """What one pod takes: room on a node, and devices through the claims that get them."""

    pod_uid: str
    node: str
    charge: PodCharge
    intents: tuple[Intent, ...]


class PlannedPlacement(msgspec.Struct, frozen=True):
    """A decision of this process. It counts until the API shows another BindRequest than `seen`, or a newer one."""

    assignment: Assignment
    seen: BindRequest | None

    def is_followed_by(self, request: BindRequest) -> bool:
        """Whether this state of the pod's BindRequest cannot be older than the decision."""
        if self.seen is None or self.seen.metadata.uid != request.metadata.uid:
            return True
        return self.seen.metadata.generation < request.metadata.generation


class Commitments:
    """Pods, BindRequests and plans by pod name, with the commitment that follows from them."""

    __slots__ = (
        "_by_node",
        "_changes",
        "_claims",
        "_commitments",
        "_key_of",
        "_nodes",
        "_plans",
        "_pod_of",
        "_requests",
        "indexes",
        "pods",
    )

    def __init__(self, nodes: dict[str, NodeState], claims: ClaimBook, changes: ChangeLog) -> None:
        self.pods: dict[ObjectKey, Pod] = {}
        self.indexes = PodIndexes(changes)
        self._nodes = nodes
        self._claims = claims
        self._changes = changes
        self._requests: dict[ObjectKey, dict[ObjectKey, BindRequest]] = {}
        self._pod_of: dict[ObjectKey, ObjectKey] = {}
        self._plans: dict[str, PlannedPlacement] = {}
        self._commitments: dict[ObjectKey, Commitment] = {}
        self._key_of: dict[str, ObjectKey] = {}
        self._by_node: dict[str, dict[str, PodCharge]] = {}

    def charges_on(self, node: str) -> dict[str, PodCharge]:
        """Return the live dictionary of charges on a node, known or not yet known."""
        return self._by_node.setdefault(node, {})

    def let_go(self, node: str) -> None:
        """Drop the charges of a node that is gone, once the last pod on it is gone, too."""
        if node not in self._nodes and not self._by_node.get(node, True):
            del self._by_node[node]

    def discount(self, uid: str) -> None:
        """Let rules no longer count a pod that is about to go; its room and its devices stay taken."""
        key = self._key_of.get(uid)
        if key is not None:
            self.indexes.settle(key, None)

    def node_changed(self, node: str) -> ClusterEvent:
        """Let rules know that the node is there, is not there, or has other labels; return what this could help."""
        if not self.indexes:
            return ClusterEvent.NOTHING
        change = self.indexes.nodes_changed()
        for uid in self._by_node.get(node, ()):
            change |= self._reindex(self._key_of[uid])
        return change

    def is_committed(self, key: ObjectKey) -> bool:
        """Whether the pod has a place already."""
        return key in self._commitments

    def apply_pod(self, pod: Pod) -> ClusterEvent:
        """Take over a pod's state; a pod of the same name with another uid is another pod."""
        before = self.pods.get(pod.key)
        self.pods[pod.key] = pod
        if before is not None and before.metadata.uid != pod.metadata.uid:
            self._plans.pop(before.metadata.uid, None)
        return self._settle(pod.key)

    def remove_pod(self, key: ObjectKey) -> ClusterEvent:
        """Forget a pod, and with it its plan."""
        pod = self.pods.pop(key, None)
        if pod is None:
            return ClusterEvent.NOTHING
        self._plans.pop(pod.metadata.uid, None)
        return self._settle(key)

    def apply_bind_request(self, request: BindRequest) -> ClusterEvent:
        """Take over a BindRequest's state; it takes the place of the plan that it was written from."""
        key = request.pod_key
        former = self._pod_of.get(request.key, key)
        change = self.remove_bind_request(request.key) if former != key else ClusterEvent.NOTHING
        self._requests.setdefault(key, {})[request.key] = request
        self._pod_of[request.key] = key
        pod = self.pods.get(key)
        is_ours = pod is not None and _is_for(request, pod) and request.key == key
        plan = self._plans.get(pod.metadata.uid) if pod is not None and is_ours else None
        if plan is not None and plan.is_followed_by(request):
            del self._plans[plan.assignment.pod.metadata.uid]
        return change | self._settle(key)

    def remove_bind_request(self, name: ObjectKey) -> ClusterEvent:
        """Forget a BindRequest."""
        key = self._pod_of.pop(name, None)
        if key is None:
            return ClusterEvent.NOTHING
        del self._requests[key][name]
        if not self._requests[key]:
            del self._requests[key]
        return self._settle(key)

    def assume(self, assignment: Assignment) -> None:
        """Count a decision from now on."""
        pod = assignment.pod
        request = self._requests.get(pod.key, {}).get(pod.key)
        self._plans[pod.metadata.uid] = PlannedPlacement(assignment, request)
        self._settle(pod.key)

    def plan_of(self, pod_uid: str) -> PlannedPlacement | None:
        """Return the decision about the pod that the API does not show yet."""
        return self._plans.get(pod_uid)

    def set_plan(self, pod: Pod, plan: PlannedPlacement | None) -> None:
        """Count this decision about the pod, and no other."""
        if plan is None:
            self._plans.pop(pod.metadata.uid, None)
        else:
            self._plans[pod.metadata.uid] = plan
        self._settle(pod.key)

    def put(self, pod: Pod, plan: PlannedPlacement | None) -> None:
        """Let the pod be as it is here, with this decision about it."""
        self.pods[pod.key] = pod
        self.set_plan(pod, plan)

    def assumed(self) -> tuple[Assignment, ...]:
        """Return the decisions that the API does not show yet."""
        return tuple(plan.assignment for plan in self._plans.values())

    def forget(self, pod_uid: str) -> ClusterEvent:
        """Count a decision no longer: it could not be written down."""
        plan = self._plans.pop(pod_uid, None)
        return ClusterEvent.NOTHING if plan is None else self._settle(plan.assignment.pod.key)

    def _settle(self, key: ObjectKey) -> ClusterEvent:
        change = self._commit(key)
        return change | self._reindex(key) if self.indexes else change

    def _reindex(self, key: ObjectKey) -> ClusterEvent:
        """Let rules count the pod where it is by now."""
        commitment = self._commitments.get(key)
        state = self._nodes.get(commitment.node) if commitment is not None else None
        placed = PlacedPod(self.pods[key], state.node.metadata.labels) if state is not None else None
        return self.indexes.settle(key, placed)

    def _commit(self, key: ObjectKey) -> ClusterEvent:
        before, now = self._commitments.get(key), self._commitment(key)
        if before == now:
            return ClusterEvent.NOTHING
        if before is not None:
            del self._key_of[before.pod_uid]
        # The new commitment comes first, so that a device that both name is never free in between.
        if now is not None:
            change = self._claims.intend(now.pod_uid, now.intents)
            self._commitments[key] = now
            self._key_of[now.pod_uid] = key
        else:
            change = ClusterEvent.NOTHING
            del self._commitments[key]
        return change | self._replace_charge(before, now) | self._withdraw_old(before, now)

    def _replace_charge(self, before: Commitment | None, now: Commitment | None) -> ClusterEvent:
        same = before is not None and now is not None and _room(before) == _room(now)
        if same:
            return ClusterEvent.NOTHING
        if before is not None:
            self.charges_on(before.node).pop(before.pod_uid, None)
            self.let_go(before.node)
            if before.node in self._nodes:
                self._nodes[before.node].give_back(before.charge)
                self._changes.changed(before.node)
        if now is not None:
            self.charges_on(now.node)[now.pod_uid] = now.charge
            if now.node in self._nodes:
                self._nodes[now.node].take(now.charge)
                self._changes.changed(now.node)
        return ClusterEvent.ROOM if before is not None and _leaves_room(before, now) else ClusterEvent.NOTHING

    def _withdraw_old(self, before: Commitment | None, now: Commitment | None) -> ClusterEvent:
        if before is None:
            return ClusterEvent.NOTHING
        kept = {(now.pod_uid, *intent[:2]) for intent in now.intents} if now is not None else set()
        stale = [intent for intent in before.intents if (before.pod_uid, *intent[:2]) not in kept]
        return self._claims.withdraw(before.pod_uid, stale)

    def _commitment(self, key: ObjectKey) -> Commitment | None:
        pod = self.pods.get(key)
        if pod is None or pod.is_finished:
            return None
        plan, requests = self._plans.get(pod.metadata.uid), self.living(pod)
        node = pod.spec.node_name
        intents: tuple[Intent, ...] = ()
        of_claims = pod.status.node_allocatable_resource_claim_statuses if node else ()
        if plan is not None:
            of_claims = of_claims or plan.assignment.of_node
            node = node or plan.assignment.node
            intents = _intents(pod, plan.assignment.claims, plan.assignment.extended)
            requests = [request for request in requests if request.key != key]
        for request in requests:
            spec = request.spec
            node = node or spec.selected_node
            of_claims = of_claims or spec.node_allocatable_resource_claim_statuses
            said = _intents(pod, spec.resource_claim_allocations, spec.extended_resource_claim_allocation)
            intents += tuple(_told_apart(intent, request) for intent in said) if intents else said
        return Commitment(pod.metadata.uid, node, charge_of(pod, of_claims), intents) if node else None

    def living(self, pod: Pod) -> list[BindRequest]:
        """Return the BindRequests that may be carried out for the pod; ours, which has the pod's name, comes first.

        There is one at most unless somebody else writes some, too: then the devices of all of them are spoken for.
        """
        requests = self._requests.get(pod.key, {}).values()
        living = [request for request in requests if _is_for(request, pod) and request.phase != FAILED]
        return sorted(living, key=lambda request: (request.key != pod.key, request.key))


def _room(commitment: Commitment) -> tuple[str, str, PodCharge]:
    return commitment.pod_uid, commitment.node, commitment.charge


def _leaves_room(before: Commitment, now: Commitment | None) -> bool:
    """Whether the change is more than that the pod is going to leave."""
    if now is None:
        return True
    charge = msgspec.structs.replace(now.charge, is_going=before.charge.is_going)
    return _room(before) != (now.pod_uid, now.node, charge)


def _is_for(request: BindRequest, pod: Pod) -> bool:
    """Whether the BindRequest means this pod and not an earlier one of its name."""
    return (request.pod_uid or pod.metadata.uid) == pod.metadata.uid


def _intents(
    pod: Pod, claims: tuple[ResourceClaimAllocation, ...], extended: ExtendedResourceClaimAllocation | None
) -> tuple[Intent, ...]:
    intents = [
        Intent(entry.name, key, entry.allocation, entry.claim_uid)
        for entry in claims
        if (key := claim_key(pod, entry.name)) is not None
    ]
    if extended is not None:
        intents.append(Intent(SPECIAL_ENTRY, None, extended.allocation))
    return tuple(intents)


def _told_apart(intent: Intent, request: BindRequest) -> Intent:
    return intent._replace(entry=f"{intent.entry} of {request.metadata.name}")
