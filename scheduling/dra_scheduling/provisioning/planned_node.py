"""A node that pods are planned for: one that is there, one being set up, or a NodeClaim that may become many types.

All four kinds of host are one class: what is known of the node, which types it may still become, and which pods,
devices and room are planned on it. `evaluate_host` asks whether it takes one pod more.
"""

from collections.abc import Mapping

import msgspec

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.basics.resources import Resources
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.daemonset_devices import Reserved
from dra_scheduling.provisioning.host_rules import PlannedHost
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.node_allocatable_resources import plus
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.state.host_ports import HostPort
from dra_scheduling.state.pod_indexes import PlacedPod
from dra_scheduling.template_devices import Allotment

HOSTNAME = "kubernetes.io/hostname"


class HostPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """What a host becomes if it takes the pod; nothing is reserved yet.

    `of_node` is what its devices take of each kind of machine beyond what the pod itself needs.
    """

    types: int
    requirements: Requirements
    need: ExtendedNeed
    allotment: Allotment | None = None
    of_node: Mapping[str, Mapping[str, int]] = {}


class PlannedNode:
    """A host with the pods planned for it. `types` are those of the table that it may still become, as bits."""

    __slots__ = (
        "_amounts",
        "_daemons",
        "_has_devices",
        "denied",
        "is_full",
        "is_plain",
        "of_node",
        "pods",
        "ports",
        "requirements",
        "spec",
        "types",
        "used",
    )

    def __init__(self, spec: HostSpec, requirements: Requirements, types: int, used: Mapping[str, int]) -> None:
        self.spec = spec
        self.requirements = requirements
        self.types = types
        self.used = dict(used)
        self.ports: tuple[HostPort, ...] = ()
        self.pods: list[Pod] = []
        self.is_full = False
        """Whether there is no room even for the smallest pod of the plan."""
        self.denied: set[tuple[bytes, ...]] = set()
        """What claims asked for that its devices cannot serve any more: undone with what took them."""
        self.is_plain = not types & ~spec.table.plain
        """Whether it has no devices. Pods that need none go to such hosts first."""
        self.of_node: dict[str, Mapping[str, int]] = {}
        """What devices take of each kind of machine."""
        self._amounts: dict[str, dict[str, int]] = {}
        self._daemons: Reserved | None = None
        self._has_devices = False

    def under(self, requirements: Requirements) -> PlannedHost:
        """Return what rules see of the host if its labels are like this."""
        return PlannedHost(self.spec, requirements, frozenset(self.ports))

    def deny(self, content: tuple[bytes, ...], context: PlanContext) -> None:
        """Keep in mind that its devices cannot serve this any more."""
        if content not in self.denied:
            context.journal.note(lambda: self.denied.discard(content))
            self.denied.add(content)

    def add_pod(self, asked: PendingPod, need: ExtendedNeed, context: PlanContext) -> None:
        """Let the pod take its room and its ports, whatever devices it has."""
        self._note_state(context, asked.pod.metadata.uid)
        for name, amount in need.node.items():
            self.used[name] = self.used.get(name, 0) + amount
        self._amounts[asked.pod.metadata.uid] = need.node.amounts
        self.ports += asked.shape.ports
        self.pods.append(asked.pod)

    def remove_pod(self, asked: PendingPod, context: PlanContext) -> None:
        """Give back what a pod that was added took."""
        uid = asked.pod.metadata.uid
        self._note_state(context, uid)
        for name, amount in self._amounts.pop(uid, {}).items():
            self.used[name] -= amount
        ports = list(self.ports)
        for port in asked.shape.ports:
            ports.remove(port)
        self.ports = tuple(ports)
        self.pods = [pod for pod in self.pods if pod.metadata.uid != uid]

    def reserve(self, asked: PendingPod, placement: HostPlacement, context: PlanContext) -> None:
        """Let the pod have its placement; devices of types that are ruled out by it become free."""
        self.add_pod(asked, placement.need, context)
        self.types = placement.types
        self.requirements = placement.requirements
        self._add_of_node(placement.of_node)
        if placement.allotment is not None:
            context.allocator.commit(placement.allotment)
            self._has_devices = True
        self._keep_devices(context)
        self.count_pods(context)

    def narrow(self, types: int, requirements: Requirements, context: PlanContext) -> bool:
        """Let the host be only these types under these requirements; return whether that leaves enough choice.

        Devices of types that are ruled out by it become free.
        """
        self._note_state(context)
        self.requirements = requirements
        self.types &= types & self.spec.table.offered(requirements)
        self._keep_devices(context)
        self.count_pods(context)
        return bool(self.types) and self.has_choice(self.types, requirements)

    def count_pods(self, context: PlanContext) -> None:
        """Let rules that look across nodes count the pods of the host where it is to be, as far as that is known."""
        if context.placed:
            labels = {HOSTNAME: self.spec.name, **self.under(self.requirements).node.metadata.labels}
            for pod in self.pods:
                context.placed.settle(pod.key, PlacedPod(pod, labels))

    def reserve_for_daemons(self, context: PlanContext) -> Reserved:
        """Let DaemonSets have their devices before any pod has; return what that came to."""
        if self._daemons is None:
            self._note_state(context)
            self._daemons = context.daemons.reserve(self.spec, self.requirements, self.types)
            context.effort.steps += self._daemons.steps
            self._has_devices |= bool(self._daemons.holders)
            self._add_of_node(self._daemons.of_node)
        return self._daemons

    def daemons_within(self, requirements: Requirements) -> tuple[ObjectKey, ...]:
        """Return the DaemonSets that have devices where a node with these requirements can be."""
        return () if self._daemons is None else self._daemons.holders_within(requirements)

    def kind_of(self, names: frozenset[str]) -> frozenset[str]:
        """Return which of these resources its machines offer themselves; all of them agree once a pod is on it."""
        return next((offer for offer, mask in self.spec.table.by_offer(names) if mask & self.types), frozenset())

    def is_narrowed_by(self, placement: HostPlacement) -> bool:
        """Whether the placement rules out what a NodeClaim that is written already may still become."""
        if self.spec.origin not in {Origin.PLANNED, Origin.SETTING_UP} or self.spec.node is not None:
            return False
        is_settled = self.spec.table.is_settled(self.types, self.requirements, placement.requirements)
        return placement.types != self.types or not is_settled

    def offered(self, types: int, requirements: Requirements) -> int:
        """Return those of the types that can be had under the requirements; of a node that is there it is its own."""
        return types if self.spec.node is not None else types & self.spec.table.offered(requirements)

    def has_room_for(self, more: Mapping[str, int]) -> bool:
        """Whether some type has room for so much more."""
        return bool(self.types & self.fitting(more, self.spec.table.most_room))

    def fitting(self, more: Resources | Mapping[str, int], room: MachineRoom) -> int:
        """Return the machines that have room for so much more."""
        table, total = self.spec.table, plus(self.used, more)
        mask = room.fitting(total)
        for name, of_devices in self.of_node.items():
            mask &= ~table.with_devices_of((name,)) | room.fitting(plus(total, of_devices))
        return mask

    def has_choice(self, types: int, requirements: Requirements) -> bool:
        """Whether these types leave as many values of labels possible as `minValues` asks for."""
        table = self.spec.table
        return all(
            (types.bit_count() if key == INSTANCE_TYPE_LABEL else len(table.values_of(key, types, requirements)))
            >= least
            for key, least in self.spec.min_values
        )

    def _keep_devices(self, context: PlanContext) -> None:
        """Free devices of types that are ruled out, and those for DaemonSets where the host cannot be any more."""
        if self._has_devices:
            context.allocator.retain(self.spec.name, self.spec.table.kin_names(self.types))
        if self.spec.node is None and self._daemons is not None and self._daemons.holders:
            context.allocator.confine(self.spec.name, self.requirements)

    def _note_state(self, context: PlanContext, uid: str = "") -> None:
        """Note how the host is, so that what is done to it now, for the pod of this uid if any, can be undone."""
        if not context.journal.is_kept:
            return
        known = (self.types, self.requirements, self.ports, self.is_full, self.is_plain)
        daemons, used, of_node = (self._daemons, self._has_devices), dict(self.used), dict(self.of_node)
        pods, count, amounts = self.pods, len(self.pods), self._amounts.get(uid)

        def put_back() -> None:
            self.types, self.requirements, self.ports, self.is_full, self.is_plain = known
            (self._daemons, self._has_devices), self.used, self.of_node = daemons, used, of_node
            # The list is only ever added to, or another one takes its place.
            del pods[count:]
            self.pods = pods
            self._amounts.pop(uid, None)
            if amounts is not None:
                self._amounts[uid] = amounts

        context.journal.note(put_back)

    def _add_of_node(self, more: Mapping[str, Mapping[str, int]]) -> None:
        for name, amounts in more.items():
            self.of_node[name] = plus(self.of_node.get(name, {}), amounts)
