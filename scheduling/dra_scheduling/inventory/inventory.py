"""What nodes could be made: NodePools, InstanceTypes, DaemonSets, and the NodeClaims that were made already.

Kept up to date object by object. What is found out of the pools and types is kept until one of them changes.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.basics.requirements import WELL_KNOWN_LABELS, Requirement
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.inventory.daemonset_overhead import DaemonSetOverhead, requested_by, takes_devices
from dra_scheduling.inventory.known_daemonsets import DaemonSets
from dra_scheduling.inventory.machine import Machine, machine_of
from dra_scheduling.inventory.machines import MachineTable
from dra_scheduling.inventory.nodepool_templates import PoolTemplate, template_of
from dra_scheduling.inventory.nodepool_validation import pool_faults
from dra_scheduling.inventory.nominations import NOMINATED_PODS, REQUESTED_DRIVERS, Nominee, nominees_of, nominees_text
from dra_scheduling.inventory.tainted_devices import TaintedDevices
from dra_scheduling.model.claims import ResourceClaimTemplate
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.template_devices import AttributeBindings

InventoryObject = NodePool | InstanceType | NodeClaim | DaemonSet | ResourceClaimTemplate


class Inventory:
    """NodePools, InstanceTypes, DaemonSets with the templates of their claims, and NodeClaims by name."""

    __slots__ = (
        "_bindings",
        "_by_machine",
        "_by_node",
        "_claim_templates",
        "_daemons",
        "_expanded",
        "_features",
        "_groups",
        "_known",
        "_nominated",
        "_offers",
        "_pending",
        "_pools",
        "_tables",
        "_tainted",
        "_templates",
        "_types",
        "claims",
    )

    def __init__(self, features: Features = DEFAULT_FEATURES, groups: frozenset[str] | None = None) -> None:
        """`groups` are those of the node classes whose NodePools are planned with; None stands for all."""
        self._features = features
        self._groups = groups
        self._pools: dict[str, NodePool] = {}
        self._types: dict[str, InstanceType] = {}
        self._expanded: dict[str, Expanded] = {}
        self._daemons = DaemonSets()
        self._claim_templates: dict[ObjectKey, ResourceClaimTemplate] = {}
        self.claims: dict[str, NodeClaim] = {}
        """All NodeClaims by name, those included that were only decided."""
        self._nominated: dict[str, dict[str, None]] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        self._by_machine: dict[str, dict[str, None]] = {}
        # NodeClaims as the API has them, and what was decided about some that the API does not show yet.
        self._known: dict[str, NodeClaim] = {}
        self._pending: dict[str, NodeClaim] = {}
        self._templates: tuple[PoolTemplate, ...] | None = None
        self._tables: dict[str, MachineTable] = {}
        self._tainted = TaintedDevices()
        self._bindings: AttributeBindings | None = None
        self._offers: frozenset[frozenset[str]] | None = None

    def apply(self, value: InventoryObject) -> ClusterEvent:
        """Add an object or take over its new state; return what kind of pending pods this could help."""
        match value:
            case NodePool():
                return self._apply_pool(value)
            case InstanceType():
                return self._apply_type(value)
            case DaemonSet():
                return self._forget_answers() if self._daemons.apply(value) else ClusterEvent.NOTHING
            case ResourceClaimTemplate():
                key = ObjectKey(value.metadata.namespace, value.metadata.name)
                known = self._claim_templates.get(key)
                self._claim_templates[key] = value
                return ClusterEvent.NOTHING if known is not None and known.spec == value.spec else self._of_daemons(key)
            case NodeClaim():
                return self._apply_claim(value)

    def remove(self, kind: type, key: ObjectKey) -> ClusterEvent:
        """Forget an object; return what kind of pending pods this could help."""
        if kind is NodePool and self._pools.pop(key.name, None) is not None:
            return self._forget_answers()
        if kind is InstanceType and self._types.pop(key.name, None) is not None:
            self._expanded.pop(key.name, None)
            return self._forget_answers()
        if kind is DaemonSet and self._daemons.remove(key):
            return self._forget_answers()
        if kind is ResourceClaimTemplate and self._claim_templates.pop(key, None) is not None:
            return self._of_daemons(key)
        if kind is NodeClaim:
            return self._remove_claim(key.name)
        return ClusterEvent.NOTHING

    def apply_pod(self, pod: Pod) -> ClusterEvent:
        """Take over a pod's state: those of DaemonSets tell what the next ones will take."""
        return self._forget_answers() if self._daemons.apply_pod(pod) else ClusterEvent.NOTHING

    def remove_pod(self, key: ObjectKey) -> ClusterEvent:
        """Forget a pod."""
        return self._forget_answers() if self._daemons.remove_pod(key) else ClusterEvent.NOTHING

    def taint(self, rules: tuple[DeviceTaintRule, ...]) -> ClusterEvent:
        """Let devices of nodes to come have the taints of these rules; return what kind of pods this could help."""
        return self._forget_answers() if self._tainted.follow(rules) else ClusterEvent.NOTHING

    def assume(self, claim: NodeClaim) -> None:
        """Count a NodeClaim as decided, new or with more nominated pods, until the API shows as much or `forget`."""
        self._pending[claim.name] = claim
        self._settle(claim.name, self._known.get(claim.name))

    def assumed(self) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims as they were decided that the API does not show yet."""
        return tuple(self._pending.values())

    def decided(self, name: str) -> NodeClaim | None:
        """Return the NodeClaim as it was decided, if the API does not show it yet."""
        return self._pending.get(name)

    def forget(self, name: str) -> ClusterEvent:
        """Count what was decided about a NodeClaim no longer: it could not be written down."""
        if self._pending.pop(name, None) is None:
            return ClusterEvent.NOTHING
        return self._settle(name, self._known.get(name))

    def templates(self) -> tuple[PoolTemplate, ...]:
        """Return the NodePools that nodes may be made for: by weight, the heaviest first, then by name.

        A pool of fixed size makes no nodes for pods, nor does one of another group, one that is being deleted, or one
        that is invalid.
        """
        if self._templates is None:
            usable = [pool for pool in self._pools.values() if self._may_grow(pool)]
            usable.sort(key=lambda pool: (-pool.spec.weight, pool.name))
            self._templates = tuple(map(self._template_of, usable))
        return self._templates

    def template(self, name: str) -> PoolTemplate | None:
        """Return what a NodePool starts from, whether or not it may still grow."""
        pool = self._pools.get(name)
        if pool is None:
            return None
        return next((one for one in self.templates() if one.name == name), None) or self._template_of(pool)

    def table(self, template: PoolTemplate) -> MachineTable:
        """Return the instance types that nodes of the pool may have, what DaemonSets take off their room."""
        found = self._tables.get(template.name)
        if found is None:
            node_class = template.pool.spec.template.spec.node_class_ref.name
            own = (
                (machine_of(name, one, self._tainted.of(one.candidate)), template)
                for name, one in self._of_class(node_class)
            )
            machines = (self._less_daemons(_with_labels(*each), template) for each in own)
            usable = (one for one in machines if template.requirements.conflict(one.requirements) is None)
            found = self._tables[template.name] = MachineTable(usable)
        return found

    def bindings(self) -> AttributeBindings:
        """Return which devices of which types will share attributes, in every pool."""
        if self._bindings is None:
            self._bindings = AttributeBindings(
                {
                    scope: groups
                    for name, pool in sorted(self._pools.items())
                    for _, one in self._of_class(pool.spec.template.spec.node_class_ref.name)
                    for scope, groups in one.bindings(name).items()
                }
            )
        return self._bindings

    def expanded(self, name: str) -> Expanded | None:
        """Return what the InstanceType of that name has, None where there is no usable one."""
        return self._expanded.get(name)

    def instance_type(self, name: str) -> InstanceType | None:
        """Return an instance type as it is written."""
        return self._types.get(name)

    @property
    def offers(self) -> frozenset[frozenset[str]]:
        """The distinct sets of resources that nodes to be made for pods would offer themselves."""
        if self._offers is None:
            machines = (one for template in self.templates() for one in self.table(template).machines)
            self._offers = frozenset(
                frozenset(name for name, amount in one.allocatable.items() if amount > 0) for one in machines
            )
        return self._offers

    @property
    def instance_types(self) -> Mapping[str, InstanceType]:
        """All instance types by name."""
        return self._types

    @property
    def pools(self) -> Mapping[str, NodePool]:
        """All NodePools by name."""
        return self._pools

    @property
    def daemon_sets(self) -> Mapping[ObjectKey, DaemonSet]:
        """All DaemonSets by name."""
        return self._daemons.by_key

    def overhead(self, daemon: ObjectKey) -> DaemonSetOverhead:
        """Return what pods of a DaemonSet take of nodes to come."""
        return self._daemons.overhead(daemon)

    def expected_pod(self, daemon: ObjectKey) -> Pod:
        """Return what the next pod of a DaemonSet will be like."""
        return self._daemons.expected_pod(daemon)

    @property
    def claim_templates(self) -> Mapping[ObjectKey, ResourceClaimTemplate]:
        """All ResourceClaimTemplates by name."""
        return self._claim_templates

    def nominated_to(self, pod: Pod) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims that name the pod, by name: of several all but one have failed or are going."""
        return tuple(self.claims[name] for name in sorted(self._nominated.get(pod.metadata.uid, ())))

    def claims_of_node(self, node: Node) -> tuple[str, ...]:
        """Return the names of the NodeClaims that say that they are this node, or its machine."""
        machine = self._by_machine.get(node.spec.provider_id, ())
        return tuple(dict.fromkeys((*self._by_node.get(node.name, ()), *machine)))

    def _apply_pool(self, pool: NodePool) -> ClusterEvent:
        before = self._pools.get(pool.name)
        self._pools[pool.name] = pool
        if before is not None and before.spec == pool.spec and self._may_grow(before) == self._may_grow(pool):
            return ClusterEvent.NOTHING
        return self._forget_answers()

    def _apply_type(self, value: InstanceType) -> ClusterEvent:
        before = self._types.get(value.name)
        self._types[value.name] = value
        if before is not None and before.spec == value.spec:
            if before.metadata.labels != value.metadata.labels:
                return self._forget_answers()
            # Whether its devices may be trusted now is in the status.
            return ClusterEvent.NOTHING if before.status == value.status else ClusterEvent.SUPPLY
        found = expand(value, self._features)
        if isinstance(found, Expanded):
            self._expanded[value.name] = found
        else:
            self._expanded.pop(value.name, None)
        return self._forget_answers()

    def _apply_claim(self, claim: NodeClaim) -> ClusterEvent:
        before = self.claims.get(claim.name)
        self._known[claim.name] = claim
        pending = self._pending.get(claim.name)
        if pending is not None and set(nominees_of(pending)) <= set(nominees_of(claim)):
            del self._pending[claim.name]
        wake = self._settle(claim.name, claim)
        return wake if before is not None and _prospects(before) == _prospects(claim) else wake | ClusterEvent.SUPPLY

    def _remove_claim(self, name: str) -> ClusterEvent:
        self._pending.pop(name, None)
        self._known.pop(name, None)
        return self._settle(name, None) if name in self.claims else ClusterEvent.NOTHING

    def _settle(self, name: str, known: NodeClaim | None) -> ClusterEvent:
        """Let the NodeClaim be what the API says, with what was decided about it since."""
        before = self.claims.get(name)
        if before is not None:
            self._unlist(before)
        pending = self._pending.get(name)
        now = known if pending is None else pending if known is None else _with_decided(known, pending)
        if now is None:
            self.claims.pop(name, None)
            return ClusterEvent.SUPPLY
        self.claims[name] = now
        for nominee in nominees_of(now):
            self._nominated.setdefault(nominee.uid, {})[name] = None
        if now.status.node_name:
            self._by_node.setdefault(now.status.node_name, {})[name] = None
        if now.status.provider_id:
            self._by_machine.setdefault(now.status.provider_id, {})[name] = None
        return ClusterEvent.NOTHING

    def _unlist(self, claim: NodeClaim) -> None:
        for nominee in nominees_of(claim):
            _take_out(self._nominated, nominee.uid, claim.name)
        _take_out(self._by_node, claim.status.node_name, claim.name)
        _take_out(self._by_machine, claim.status.provider_id, claim.name)

    def _of_class(self, node_class: str) -> Iterator[tuple[str, Expanded]]:
        """Yield the types that node pools of a node class may use, by name; of those with one label the first."""
        seen: set[str] = set()
        for name in sorted(self._expanded):
            one = self._expanded[name]
            if one.name not in seen and self._types[name].belongs_to(node_class):
                seen.add(one.name)
                yield name, one

    def _template_of(self, pool: NodePool) -> PoolTemplate:
        """Return what nodes of the pool start from: labels that its types speak of may be whatever those say."""
        template = template_of(pool)
        types = self._of_class(pool.spec.template.spec.node_class_ref.name)
        told = frozenset(key for _, one in types for key in one.requirements.by_key)
        opened = replace(template.requirements, open_keys=template.requirements.open_keys | told)
        return replace(template, requirements=opened)

    def _less_daemons(self, machine: Machine, template: PoolTemplate) -> Machine:
        requirements = template.requirements.narrowed(machine.requirements)
        daemons = self._daemons.running_on(requirements, template.taints)
        taken = requested_by(daemons)
        left = {name: amount - taken.get(name, 0) for name, amount in machine.allocatable.items()}
        own = machine.allocatable
        of_devices = tuple(one.key for one in daemons if takes_devices(self._daemons.by_key[one.key], own))
        unsettled = tuple(one for one in daemons if not any(map(requirements.is_within, one.terms)))
        return replace(machine, allocatable=left, daemons=daemons, unsettled=unsettled, device_daemons=of_devices)

    def _of_daemons(self, template: ObjectKey) -> ClusterEvent:
        """Return what a change of a ResourceClaimTemplate could help: pods, if a DaemonSet takes devices by it."""
        for daemon in self._daemons.by_key.values():
            entries = daemon.spec.template.spec.resource_claims if daemon.key.namespace == template.namespace else ()
            if any(entry.resource_claim_template_name == template.name for entry in entries):
                return ClusterEvent.SUPPLY
        return ClusterEvent.NOTHING

    def _may_grow(self, pool: NodePool) -> bool:
        valid = pool.condition("ValidationSucceeded")
        # What is wrong with a pool may not be written yet.
        is_invalid = (valid is not None and valid.status == "False") or bool(pool_faults(pool))
        is_ours = self._groups is None or pool.spec.template.spec.node_class_ref.group in self._groups
        return is_ours and not pool.metadata.is_deleting and pool.spec.replicas is None and not is_invalid

    def _forget_answers(self) -> ClusterEvent:
        self._templates = None
        self._tables.clear()
        self._tainted.forget()
        self._bindings = None
        self._offers = None
        return ClusterEvent.SUPPLY


def _with_labels(machine: Machine, template: PoolTemplate) -> Machine:
    """Return the machine with what its silence means: it has no label that neither it nor its pool speaks of."""
    known = {one.key for one in machine.requirements} | template.requirements.by_key.keys() | WELL_KNOWN_LABELS
    absent = sorted(template.requirements.open_keys - known)
    if not absent:
        return machine
    more = (Requirement(key=key, may_be_absent=True) for key in absent)
    return replace(machine, requirements=(*machine.requirements, *more))


def _prospects(claim: NodeClaim) -> tuple[object, ...]:
    """Return what of a NodeClaim decides what its pool may still make: its machine, and whether it is at its end."""
    ended = tuple(one.type for one in claim.status.conditions if one.status == "False")
    return claim.metadata.labels, claim.metadata.is_deleting, ended


def _take_out(names: dict[str, dict[str, None]], key: str, name: str) -> None:
    if key in names:
        names[key].pop(name, None)
        if not names[key]:
            del names[key]


def _with_decided(known: NodeClaim, decided: NodeClaim) -> NodeClaim:
    """Return the NodeClaim as the API has it, with the pods that it was decided to take since."""
    nominees: dict[Nominee, None] = dict.fromkeys((*nominees_of(known), *nominees_of(decided)))
    drivers = decided.metadata.annotations.get(REQUESTED_DRIVERS, "")
    added = {NOMINATED_PODS: nominees_text(nominees)} | ({REQUESTED_DRIVERS: drivers} if drivers else {})
    return replace(known, metadata=replace(known.metadata, annotations={**known.metadata.annotations, **added}))
