"""Which nodes may be taken away, what that would cost, and what keeps the others."""

from collections.abc import Iterator, Mapping

import msgspec

from dra_scheduling.basics.times import duration_of, seconds_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.decision_annotations import RETRY_AFTER, record_of
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.protection import is_protected, pod_protection
from dra_scheduling.instancetypes import CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import nominees_of
from dra_scheduling.inventory.replacements import REPLACES, is_to_go
from dra_scheduling.model.nodeclaims import NEVER, NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL, Node, Pod
from dra_scheduling.nodeclaims.lifecycle_steps import DO_NOT_DISRUPT, INITIALIZED, is_own

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
PRIORITY_SCALE = 2.0**25
COST_SCALE = 2.0**27
MOST_COST = 10.0
SPOT = "spot"
WHEN_EMPTY = "WhenEmpty"
SETTLING_SECONDS = 15.0
"""So long after a pod came or went nothing is consolidated, whatever the pool says: its successor may be on its way."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node that may be taken away. `moved` are the pods that would need another one.

    `price` is that of its offering by the hour, None if nobody knows. `cost` says how much its going would disturb.
    `protection` says in words what forbids to evict its pods now; `quiet_since` (seconds since 1970) is when a pod came
    or went last, as far as that is known: before `watched_since` pods may have gone unseen.
    """

    claim: NodeClaim
    node: Node
    pool: NodePool
    moved: tuple[Pod, ...]
    price: float | None
    cost: float
    protection: str
    quiet_since: float
    watched_since: float

    @property
    def is_spot(self) -> bool:
        """Whether it was the cheaper kind that may be taken back at any time."""
        return self.node.metadata.labels.get(CAPACITY_TYPE_LABEL) == SPOT

    @property
    def instance_type(self) -> str:
        """Its type."""
        return self.node.metadata.labels.get(INSTANCE_TYPE_LABEL, "")

    def is_quiet(self, now: float) -> bool:
        """Whether nothing has changed on it for as long as its pool demands before it is consolidated."""
        rest = rest_of(self.pool)
        is_watched = now >= self.watched_since + SETTLING_SECONDS
        return is_watched and rest is not None and now >= self.quiet_since + rest

    def is_consolidated(self, now: float) -> bool:
        """Whether its pool demands that it goes if it is not needed, and it was not used a moment ago."""
        policy = self.pool.spec.disruption.consolidation_policy
        return self.is_quiet(now) and not (self.moved and policy == WHEN_EMPTY)


class Ineligible(msgspec.Struct, frozen=True, kw_only=True):
    """A node that must not be taken away now, and why.

    `is_lasting` says that its pool would have it consolidated, and that it stays until somebody changes something.
    """

    claim: NodeClaim
    message: str
    is_lasting: bool = False


class NodeActivity(msgspec.Struct, frozen=True, kw_only=True):
    """When nodes changed last as somebody saw who is watching `since` (seconds since 1970, by name of the node)."""

    changed: Mapping[str, float] = {}
    since: float = 0.0


def survey(outlook: DisruptionView, now: float, unrest: NodeActivity) -> Iterator[Candidate | Ineligible]:
    """Yield the initialized nodes of our NodeClaims whose pool may make others, each with what speaks against it.

    `now` is in seconds since 1970.
    """
    for name in sorted(outlook.cluster.inventory.claims):
        claim = outlook.cluster.inventory.claims[name]
        pool = outlook.cluster.inventory.pools.get(claim.metadata.labels.get(NODE_POOL_LABEL, ""))
        if pool is not None and pool.spec.replicas is None and not pool.metadata.is_deleting:
            found = _look_at(outlook, claim, pool, now, unrest)
            if found is not None:
                yield found


def rest_of(pool: NodePool) -> float | None:
    """Return for how many seconds nothing may have changed on a node before it is consolidated, None for never."""
    after = pool.spec.disruption.consolidate_after
    seconds = None if after == NEVER else duration_of(after)
    return None if seconds is None else max(seconds, SETTLING_SECONDS)


def cannot_be_moved(outlook: DisruptionView, node: str, now: float) -> str:
    """Return in words what forbids to evict the pods of a node now, empty if nothing does."""
    return pod_protection(outlook.pods_on(node), outlook.moving_from(node), outlook.cluster.budgets, now)


def is_being_bound_to(outlook: DisruptionView, node: str) -> bool:
    """Whether a pod that has no node yet is on its way to this one."""
    return any(not pod.spec.node_name for pod in outlook.pods_on(node))


def still_replaced(cluster: Cluster, claim: NodeClaim) -> frozenset[str]:
    """Return the names of the NodeClaims that this one stands in for and that are not gone yet."""
    record = record_of(claim, REPLACES) if REPLACES in claim.metadata.annotations else None
    return frozenset(record.node_claims).intersection(cluster.inventory.claims) if record is not None else frozenset()


def _look_at(
    outlook: DisruptionView, claim: NodeClaim, pool: NodePool, now: float, unrest: NodeActivity
) -> Candidate | Ineligible | None:
    state = outlook.cluster.nodes.get(claim.status.node_name)
    initialized = claim.condition(INITIALIZED)
    if not is_own(claim) or is_to_go(claim) or state is None or initialized is None or not initialized.is_true:
        return None
    if state.node.is_being_set_up or state.node.metadata.is_deleting:
        return None
    candidate = _candidate(outlook, claim, pool, now, unrest)
    if is_protected(claim.metadata) or is_protected(state.node.metadata):
        reason = f"it has the annotation {DO_NOT_DISRUPT}"
        return Ineligible(claim=claim, message=reason, is_lasting=candidate.is_consolidated(now))
    passing = _hindrance(outlook, claim, state.node, now)
    return Ineligible(claim=claim, message=passing) if passing else candidate


def _candidate(
    outlook: DisruptionView, claim: NodeClaim, pool: NodePool, now: float, unrest: NodeActivity
) -> Candidate:
    node = outlook.cluster.nodes[claim.status.node_name].node
    initialized = claim.condition(INITIALIZED)
    pods = outlook.pods_on(node.name)
    moved = outlook.moving_from(node.name)
    times = [seconds_of(pod.metadata.creation_timestamp) for pod in moved]
    # Somebody may wait for the room of pods that end.
    times += [seconds_of(pod.metadata.deletion_timestamp) for pod in pods]
    known = (initialized.last_transition_time if initialized is not None else "", claim.status.last_pod_event_time)
    return Candidate(
        claim=claim,
        node=node,
        pool=pool,
        moved=moved,
        price=outlook.prices.of(node.metadata.labels),
        cost=sum(map(_cost_of, moved)) * _lifetime_left(claim, now),
        protection=pod_protection(pods, moved, outlook.cluster.budgets, now),
        quiet_since=max([*times, *map(seconds_of, known), unrest.changed.get(node.name, 0.0)]),
        watched_since=unrest.since,
    )


def _hindrance(outlook: DisruptionView, claim: NodeClaim, node: Node, now: float) -> str:
    """Return in words what keeps the node for some time, empty if nothing does."""
    if seconds_of(claim.metadata.annotations.get(RETRY_AFTER, "")) > now:
        return "an attempt was given up a short time ago"
    if is_being_bound_to(outlook, node.name):
        return "a pod is being bound to it"
    for nominee in nominees_of(claim):
        pod = outlook.cluster.pod(nominee.key)
        if pod is not None and pod.metadata.uid == nominee.uid and outlook.cluster.is_pending(pod):
            return f"pod {pod.key} is nominated to it"
    if still_replaced(outlook.cluster, claim):
        return "it replaces a node that is not gone yet"
    return outlook.held_by_others(node.name)


def _cost_of(pod: Pod) -> float:
    """Return how bad it is to move the pod: 1 as a rule, more for important ones and those that say so themselves."""
    written = pod.metadata.annotations.get(DELETION_COST, "0")
    own = int(written) if written.lstrip("-").isdecimal() else 0
    cost = 1.0 + own / COST_SCALE + pod.spec.priority / PRIORITY_SCALE
    return min(max(cost, -MOST_COST), MOST_COST)


def _lifetime_left(claim: NodeClaim, now: float) -> float:
    """Return the share of its life that the node has before it: one that expires soon is no loss."""
    whole = None if claim.spec.expire_after == NEVER else duration_of(claim.spec.expire_after)
    if not whole:
        return 1.0
    age = now - seconds_of(claim.metadata.creation_timestamp)
    return min(max((whole - age) / whole, 0.0), 1.0)
