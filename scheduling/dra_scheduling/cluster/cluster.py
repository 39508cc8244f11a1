"""The cluster as scheduling sees it, kept up to date object by object and the same whatever order they came in.

Nothing here is read from or written to anywhere: watch events, files and tests all end in `apply` and `remove`, and
what is decided but not yet visible is counted through `assume`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.journal import Journal
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster.statement import Statement, StatementParts
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.indexed_slice import Reach
from dra_scheduling.devices.ledger import Cooldown, Ledger
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.pod_class import PodClassCache
from dra_scheduling.fit.rule import Rule
from dra_scheduling.fit.rules import RULES, IndexedCluster, Rulebook
from dra_scheduling.fit.score_profiles import PACK, Profile
from dra_scheduling.inventory import Inventory
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.evictions import PodDisruptionBudget
from dra_scheduling.model.ids import ObjectKey, PoolKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.namespaces import Namespace
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.state.change_log import ChangeLog
from dra_scheduling.state.claim_book import ClaimBook
from dra_scheduling.state.commitments import Commitments
from dra_scheduling.state.domains import NodeLabels
from dra_scheduling.state.node_state import NodeState
from dra_scheduling.wire import KubernetesObject

DEFAULT_SCHEDULER_NAME = "dra-scheduler"
NO_LABELS: Mapping[str, str] = {}
Offer = Namespace | PodDisruptionBudget | ResourceSlice | DeviceTaintRule | DeviceClass


class Cluster:
    """Nodes, pods, claims, pools and classes, with the ledger of taken devices that follows from them.

    `node_class_groups` are those of the NodePools that nodes may be planned for; None stands for all. Devices in
    `cooldown` are given out where no other ones would do.
    """

    def __init__(
        self,
        scheduler_name: str = DEFAULT_SCHEDULER_NAME,
        features: Features = DEFAULT_FEATURES,
        node_class_groups: frozenset[str] | None = None,
        cooldown: Cooldown | None = None,
        rules: tuple[Rule[Any], ...] = RULES,
        profile: Profile = PACK,
    ) -> None:
        self.scheduler_name = scheduler_name
        self.journal = Journal()
        """The inverses of what the open statement has done."""
        self.changes = ChangeLog(self.journal)
        self.pools = PoolIndex(features)
        self.ledger = Ledger(cooldown, self.journal)
        self.classes = ClassIndex()
        self.nodes: dict[str, NodeState] = {}
        self._by_machine: dict[str, set[str]] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.claims = ClaimBook(self.ledger, self.pools, self.changes)
        self.placements = Commitments(self.nodes, self.claims, self.changes)
        self._labels = NodeLabels(self.nodes)
        view = IndexedCluster(rules, self.placements.indexes, self._labels, self.changes)
        self._rulebook = Rulebook(rules, view, profile)
        self.shapes = PodClassCache(features, rulebook=self._rulebook)
        self.inventory = Inventory(features, node_class_groups)
        self.budgets: dict[ObjectKey, PodDisruptionBudget] = {}
        self.features = features

    def apply(self, value: KubernetesObject) -> ClusterEvent:
        """Add an object or take over its new state; return what kind of pending pods this could help."""
        match value:
            case Pod():
                return self.placements.apply_pod(value) | self.inventory.apply_pod(value)
            case ResourceClaim():
                return self.claims.apply(value)
            case BindRequest():
                return self.placements.apply_bind_request(value)
            case Node():
                return self._apply_node(value)
            case NodePool() | NodeClaim() | InstanceType() | DaemonSet() | ResourceClaimTemplate():
                return self.inventory.apply(value)
            case _:
                return self._apply_offer(value)

    def remove(self, kind: type[KubernetesObject], key: ObjectKey) -> ClusterEvent:
        """Forget an object; return what kind of pending pods this could help."""
        removals: dict[type[KubernetesObject], Callable[[ObjectKey], ClusterEvent]] = {
            Pod: self._remove_pod,
            ResourceClaim: self.claims.remove,
            BindRequest: self.placements.remove_bind_request,
            Node: self._remove_node,
            Namespace: self._remove_namespace,
            ResourceSlice: self._remove_slice,
            DeviceTaintRule: self._remove_rule,
            DeviceClass: self._remove_class,
        }
        removal = removals.get(kind)
        if removal is not None:
            return removal(key)
        if kind is PodDisruptionBudget:
            self.budgets.pop(key, None)
        return self.inventory.remove(kind, key)

    def node_of(self, claim: NodeClaim) -> NodeState | None:
        """Return the node that a NodeClaim has become, which is there before the NodeClaim names it."""
        if claim.status.node_name:
            return self.nodes.get(claim.status.node_name)
        names = self._by_machine.get(claim.status.provider_id, set())
        return next((self.nodes[name] for name in sorted(names) if name in self.nodes), None)

    def nodes_made_for(self, pod: Pod) -> Iterator[tuple[NodeClaim, NodeState]]:
        """Yield the NodeClaims that name the pod and have become nodes, with these."""
        for claim in self.inventory.nominated_to(pod):
            state = self.node_of(claim)
            if state is not None:
                yield claim, state

    def assume(self, assignment: Assignment) -> None:
        """Count a decision: its room and devices are taken until the API server shows it, or until `forget`."""
        self.placements.assume(assignment)

    def forget(self, pod_uid: str) -> ClusterEvent:
        """Give back what an assumed decision took."""
        return self.placements.forget(pod_uid)

    def statement(self) -> Statement:
        """Return a transaction: what is done in its block is undone unless it is committed."""
        parts = StatementParts(
            self.journal,
            self.changes,
            self.nodes,
            self._labels,
            self.pools,
            self.ledger,
            self.classes,
            self.claims,
            self.placements,
            self.inventory,
        )
        return Statement(parts)

    def forget_answers(self) -> None:
        """Forget what nodes said to pods so far, as after a start: the next answers are the same, and cost more."""
        self.shapes = PodClassCache(self.features, rulebook=self._rulebook)

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return the pod of that name."""
        return self.placements.pods.get(key)

    def is_pending(self, pod: Pod) -> bool:
        """Whether the pod is ours to place: unbound, alive, and without a living BindRequest or plan."""
        return (
            pod.spec.scheduler_name == self.scheduler_name
            and not pod.spec.node_name
            and not pod.is_finished
            and not pod.metadata.is_deleting
            and not self.placements.is_committed(pod.key)
        )

    def pending(self) -> tuple[Pod, ...]:
        """Return the pods to place, in scheduling order."""
        return in_scheduling_order(pod for pod in self.placements.pods.values() if self.is_pending(pod))

    def _apply_node(self, node: Node) -> ClusterEvent:
        state = self.nodes.get(node.name)
        if state is None or state.node.spec.provider_id != node.spec.provider_id:
            if state is not None:
                self._leave_machine(state.node)
            if node.spec.provider_id:
                self._by_machine.setdefault(node.spec.provider_id, set()).add(node.name)
        before = state.node.metadata.labels if state is not None else NO_LABELS
        if state is None:
            self.nodes[node.name] = NodeState(node, self.placements.charges_on(node.name))
        elif not state.is_changed_by(node):
            # Its conditions and annotations are of no interest to pods, but to whoever looks after nodes.
            state.node = node
            return ClusterEvent.NOTHING
        else:
            state.update(node)
        self.pools.forget_node(node.name)
        self.changes.changed(node.name)
        return ClusterEvent.NODE | self._relabelled(node.name, before, node.metadata.labels)

    def _remove_node(self, key: ObjectKey) -> ClusterEvent:
        state = self.nodes.pop(key.name, None)
        if state is not None:
            self._leave_machine(state.node)
            self.placements.let_go(key.name)
            self.pools.forget_node(key.name)
            self.changes.changed(key.name)
            return self._relabelled(key.name, state.node.metadata.labels, NO_LABELS)
        return ClusterEvent.NOTHING

    def _relabelled(self, name: str, before: Mapping[str, str], now: Mapping[str, str]) -> ClusterEvent:
        """Let rules that look across nodes know; return what kind of pending pods this could help."""
        if before == now:
            return ClusterEvent.NOTHING
        self._labels.changed(name, before, now)
        return self.placements.node_changed(name)

    def _leave_machine(self, node: Node) -> None:
        names = self._by_machine.get(node.spec.provider_id, set())
        names.discard(node.name)
        if not names:
            self._by_machine.pop(node.spec.provider_id, None)

    def _apply_namespace(self, namespace: Namespace) -> ClusterEvent:
        before = self.namespaces.get(namespace.metadata.name)
        self.namespaces[namespace.metadata.name] = namespace
        had = before is not None and before.allows_admin_access
        return ClusterEvent.NOTHING if had == namespace.allows_admin_access else ClusterEvent.CLAIMS

    def _remove_namespace(self, key: ObjectKey) -> ClusterEvent:
        self.namespaces.pop(key.name, None)
        return ClusterEvent.NOTHING

    def _apply_offer(self, value: Offer) -> ClusterEvent:
        match value:
            case Namespace():
                return self._apply_namespace(value)
            case PodDisruptionBudget():
                self.budgets[value.key] = value
                return ClusterEvent.NOTHING
            case ResourceSlice():
                reach = self.pools.apply(value)
                self.pools.teach(PoolKey(value.spec.driver, value.spec.pool.name), self.ledger)
                return self._reach_changed(reach)
            case DeviceTaintRule():
                return self._reach_changed(self.pools.apply_rule(value)) | self._templates_tainted()
            case DeviceClass():
                revision = self.classes.revision
                self.classes.apply(value)
                return self._classes_changed(revision)

    def _remove_pod(self, key: ObjectKey) -> ClusterEvent:
        return self.placements.remove_pod(key) | self.inventory.remove_pod(key)

    def _remove_slice(self, key: ObjectKey) -> ClusterEvent:
        return self._reach_changed(self.pools.remove(key.name))

    def _remove_rule(self, key: ObjectKey) -> ClusterEvent:
        return self._reach_changed(self.pools.remove_rule(key.name)) | self._templates_tainted()

    def _templates_tainted(self) -> ClusterEvent:
        return self.inventory.taint(self.pools.rules_for_any_pool)

    def _remove_class(self, key: ObjectKey) -> ClusterEvent:
        revision = self.classes.revision
        self.classes.remove(key.name)
        return self._classes_changed(revision)

    def _reach_changed(self, reach: Reach) -> ClusterEvent:
        if reach.is_everywhere:
            self.changes.everything_changed()
        for node in sorted(reach.nodes):
            self.changes.changed(node)
        return ClusterEvent.SLICES if reach.is_everywhere or reach.nodes else ClusterEvent.NOTHING

    def _classes_changed(self, before: int) -> ClusterEvent:
        return ClusterEvent.NOTHING if before == self.classes.revision else ClusterEvent.CLASSES


def in_scheduling_order(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return pods by priority, then age, then name, so that a decision never depends on the order of arrival."""
    return tuple(sorted(pods, key=lambda pod: pod.rank))
