"""The hosts that there are before anything new is made, and what is planned for them already."""

from collections.abc import Iterator

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.features import NODE_ALLOCATABLE
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.inventory import MachineTable, nominees_of, requested_drivers
from dra_scheduling.inventory.machine import machine_of_node
from dra_scheduling.inventory.replacements import is_replacement
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import Failure
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.daemonset_devices import Daemons
from dra_scheduling.provisioning.evaluate_host import evaluate_host
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.in_flight_nodeclaims import planned_nodes
from dra_scheduling.provisioning.node_allocatable_resources import OfNode
from dra_scheduling.provisioning.offering_backoff import Resting, Rests
from dra_scheduling.provisioning.pending_changes import PendingChanges
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.provisioning.plan_context import PlanContext, PlanEffort
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode
from dra_scheduling.state.host_ports import HostPort
from dra_scheduling.state.node_state import NodeState
from dra_scheduling.template_devices import DeviceHostType, Published, TemplateAllocator


class Hosts:
    """Nodes about to have room, nodes being set up and planned NodeClaims, in this order, with their pods.

    What nominated pods take of room is counted at once. Their devices are reserved only when somebody else might want
    some (`replay`), because that means to search for them again.
    """

    def __init__(self, cluster: Cluster, budget: SearchBudget, now: str, situation: PendingChanges) -> None:
        self._cluster = cluster
        self._situation = situation
        self._resting = Resting(cluster, now)
        self._rests: dict[MachineTable, Rests] = {}
        self._owed: dict[str, list[PendingPod]] = {}
        self._owing: dict[ObjectKey, str] = {}
        self._claims: dict[str, list[ObjectKey]] = {}
        published = Published(cluster.pools, situation.ready)
        allocator = TemplateAllocator(
            published, cluster.ledger, cluster.inventory.bindings(), situation.replanning, cluster.journal
        )
        of_node = OfNode(cluster, allocator) if cluster.features.has(NODE_ALLOCATABLE) else None
        self.context = PlanContext(
            journal=cluster.journal,
            allocator=allocator,
            classes=cluster.classes,
            daemons=Daemons(cluster, allocator, budget, of_node),
            placed=cluster.placements.indexes,
            of_node=of_node,
            budget=budget,
            effort=PlanEffort(),
        )
        if self.context.placed:
            for uid in sorted(situation.going):
                cluster.placements.discount(uid)
        self.all: list[PlannedNode] = list(_emptying(cluster, situation))
        for host in planned_nodes(cluster, situation.in_flight):
            # What has become a node has registered, whatever others of its type did.
            failures = tuple(Failure) if host.spec.node is None else (Failure.DEVICES,)
            rests = self._resting.of(host.spec.table, failures)
            if rests.every:
                host.spec = msgspec.structs.replace(host.spec, rests=rests)
            self._remember_nominated(host)
            self.all.append(host)
        self._shares_devices = any(True for _ in cluster.pools.wide())

    def replay_for(self, asked: PendingPod) -> None:
        """Reserve the devices of nominated pods that have to do with what the pod asks for."""
        for key in asked.shared_claims:
            name = self._owing.get(key)
            if name is not None:
                self._replay_named(name)
        if self._owed and self._shares_devices and asked.shape.has_devices:
            for host in self.all:
                self.replay(host)

    def replay(self, host: PlannedNode) -> bool:
        """Reserve the devices of the pods nominated to the host; return whether anything was to be done."""
        owed = self._owed.pop(host.spec.name, None)
        if not owed:
            return False
        owing = {key: name for one in owed for key in one.shared_claims if (name := self._owing.pop(key, ""))}
        self.context.journal.note(lambda: self._owe_again(host, owed, owing))
        for asked in owed:
            host.remove_pod(asked, self.context)
        for asked in owed:
            placement = self._placement(host, asked)
            if placement is not None:
                host.reserve(asked, placement, self.context)
                self.placed(host, asked, placement)
            else:
                self._charge(host, asked)
        return True

    def placed(self, host: PlannedNode, asked: PendingPod, placement: HostPlacement) -> None:
        """Note which claims have their devices on the host."""
        keys = self._claims.setdefault(host.spec.name, [])
        former = len(keys)
        self.context.journal.note(lambda: keys.__delitem__(slice(former, None)))
        keys += asked.claim_keys(placement.need)

    def open(self, host: PlannedNode) -> None:
        """Add a host that nobody has asked before."""
        self.context.journal.note(self.all.pop)
        self.all.append(host)

    def claim_name(self, host: PlannedNode) -> str:
        """Return the name of the NodeClaim that the host is, empty for a node that is there."""
        return "" if host.spec.origin is Origin.THERE else host.spec.name

    def drivers_of(self, host: PlannedNode) -> frozenset[str]:
        """Return the drivers whose devices have to appear on the node: of template devices that pods are to have."""
        claim = self._cluster.inventory.claims.get(host.spec.name)
        found = set(requested_drivers(claim)) if claim is not None else set[str]()
        left = frozenset(host.spec.table.kin_names(host.types))
        records = self.context.allocator.records
        for key in self._claims.get(host.spec.name, ()):
            record = records.get(key)
            if record is not None and record.candidate == host.spec.name:
                for name, served in record.by_type.items():
                    if name in left:
                        found.update(use.device.driver for use in served.uses if use.is_template)
        return frozenset(found)

    def rests(self, table: MachineTable) -> Rests:
        """Return the machines that have failed lately and are not to be tried again yet."""
        found = self._rests.get(table)
        if found is None:
            found = self._rests[table] = self._resting.of(table)
        return found

    def _remember_nominated(self, host: PlannedNode) -> None:
        claim = self._cluster.inventory.claims[host.spec.name]
        is_replacing = is_replacement(claim)
        for nominee in nominees_of(claim):
            pod = self._cluster.pod(nominee.key)
            if pod is None or pod.metadata.uid != nominee.uid or not self._is_to_come(pod, is_replacing=is_replacing):
                continue
            asked = ask(self._cluster, pod, self._situation.replanning)
            if isinstance(asked, Refusal):
                continue
            need = self._charge(host, asked)
            if need is not None and asked.claims(need) is not None:
                self._owed.setdefault(host.spec.name, []).append(asked)
                for key in asked.shared_claims:
                    self._owing[key] = host.spec.name

    def _charge(self, host: PlannedNode, asked: PendingPod) -> ExtendedNeed | None:
        need = asked.shape.need_on(host.kind_of(asked.shape.extended), self._cluster.classes)
        if isinstance(need, Refusal):
            return None
        host.add_pod(asked, need, self.context)
        host.count_pods(self.context)
        return need

    def _is_to_come(self, pod: Pod, *, is_replacing: bool) -> bool:
        """Whether the pod is still to take its room on the host that it was nominated to."""
        if not pod.spec.node_name:
            return self._cluster.is_pending(pod)
        return is_replacing and pod.metadata.uid in self._situation.going

    def _owe_again(self, host: PlannedNode, owed: list[PendingPod], owing: dict[ObjectKey, str]) -> None:
        self._owed[host.spec.name] = owed
        self._owing.update(owing)

    def _replay_named(self, name: str) -> None:
        for host in self.all:
            if host.spec.name == name:
                self.replay(host)

    def _placement(self, host: PlannedNode, asked: PendingPod) -> HostPlacement | None:
        for variant in asked.variants:
            found = evaluate_host(host, asked, variant, self.context)
            if isinstance(found, HostPlacement):
                return found
        return None


def _emptying(cluster: Cluster, situation: PendingChanges) -> Iterator[PlannedNode]:
    """Yield the nodes that pods are about to leave, as they will be then, by name."""
    for name in sorted(situation.emptying - situation.closed):
        state = cluster.nodes.get(name)
        if state is not None and not state.node.is_being_set_up:
            host = there(state, situation.going)
            host.is_plain &= not any(pool.pinned for pool in cluster.pools.on_node(state.place))
            yield host


def there(state: NodeState, going: frozenset[str] | None = None) -> PlannedNode:
    """Return a node that exists as it will be without the pods that go: all that are being deleted, or only these."""
    used: dict[str, int] = {}
    ports: list[HostPort] = []
    for uid, charge in state.charges.items():
        if not (charge.is_going if going is None else uid in going):
            ports += charge.ports
            for name, amount in charge.amounts.items():
                used[name] = used.get(name, 0) + amount
    machine = machine_of_node(state.node, state.allocatable, DeviceHostType(name=""))
    spec = HostSpec(
        name=state.node.name,
        origin=Origin.THERE,
        table=MachineTable((machine,)),
        taints=state.node.spec.taints,
        node=state.place,
        is_cordoned=state.node.spec.unschedulable,
    )
    offered = {name: amount for name, amount in used.items() if name in state.allocatable}
    host = PlannedNode(spec, Requirements.of_labels(state.node.metadata.labels), 1, offered)
    host.ports = tuple(ports)
    return host
