"""InstanceTypes and NodePools: what is wrong in themselves, and what of them never comes to anything."""

from collections.abc import Iterator
from typing import NamedTuple

from dra_scheduling.basics.features import Features
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, Expanded, expand, namesake_fault
from dra_scheduling.inventory import MachineTable, PoolTemplate
from dra_scheduling.inventory.machine import machine_of
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.slices import DeviceClass
from dra_scheduling.nodeclaims import pool_faults
from dra_scheduling.nodeclaims.lifecycle_steps import OWN_GROUP
from dra_scheduling.provisioning.nodepool_limits import Limits
from dra_simulator.check.findings import Remarks, error, warning
from dra_simulator.complete import World
from dra_simulator.launch.host_views import values_text

TEMPLATE = "$.spec.template.spec"
MOST_TOLD = 3


class Types(NamedTuple):
    """The types that nodes of a NodePool may have; without a name it is no pool's."""

    pool: str
    requirements: Requirements
    table: MachineTable


class Supply:
    """The NodePools, InstanceTypes and DaemonSets of an input, with its classes and no NodeClaim."""

    __slots__ = ("cluster", "expanded")

    def __init__(self, world: World, features: Features) -> None:
        self.cluster = Cluster(features=features)
        for value in world.objects:
            if isinstance(value, NodePool | InstanceType | DaemonSet | DeviceClass):
                self.cluster.apply(value)
        made = ((value.name, expand(value, features)) for value in world.of(InstanceType))
        self.expanded = {name: one for name, one in made if isinstance(one, Expanded)}

    def templates(self) -> Iterator[PoolTemplate]:
        """Yield all NodePools, those included that make no nodes for pods, by name."""
        for name in sorted(self.cluster.inventory.pools):
            template = self.cluster.inventory.template(name)
            if template is not None:
                yield template

    def tables(self) -> Iterator[Types]:
        """Yield the types that nodes may have, by NodePool; without any NodePool those of the input are one table."""
        inventory = self.cluster.inventory
        for template in self.templates():
            yield Types(template.name, template.requirements, inventory.table(template))
        if not inventory.pools and self.expanded:
            machines = (machine_of(name, one, one.candidate) for name, one in sorted(self.expanded.items()))
            yield Types("", Requirements.of_new_node(), MachineTable(machines))

    def type_remarks(self, value: InstanceType) -> Remarks:
        """Yield what is wrong or suspicious in an InstanceType."""
        yield from (
            error("$.spec.capacity", f"expected cpu and memory, there is no {name}")
            for name in ("cpu", "memory")
            if name not in value.spec.capacity
        )
        found = expand(value, self.cluster.features)
        if not isinstance(found, Expanded):
            yield from (error(f"$.{fault.path}", fault.message) for fault in found)
            return
        yield from (warning(f"$.{fault.path}", fault.message) for fault in found.warnings)
        clash = namesake_fault(value, self.cluster.inventory.instance_types.values(), self.cluster.features)
        if clash is not None:
            yield error(f"$.{clash.path}", clash.message)
        elif not found.is_available:
            yield warning("$.spec.offerings", "expected an offering that is available, none is")
        elif self.cluster.inventory.pools:
            yield from self._unused(value, found)

    def pool_remarks(self, value: NodePool) -> Remarks:
        """Yield what is wrong or suspicious in a NodePool."""
        faults = pool_faults(value)
        yield from (error(f"$.{fault.path}", fault.message) for fault in faults)
        group = value.spec.template.spec.node_class_ref.group
        if group != OWN_GROUP:
            yield warning(
                f"{TEMPLATE}.nodeClassRef.group", f"others make the nodes of {group}, the operator only plans with them"
            )
        template = self.cluster.inventory.template(value.name)
        if faults or template is None or not self.expanded:
            return
        table = self.cluster.inventory.table(template)
        if not table.everything:
            yield warning(f"{TEMPLATE}.requirements", "no InstanceType of the input meets them")
            return
        offered = table.offered(template.requirements)
        if not offered:
            yield warning(f"{TEMPLATE}.requirements", "no offering of the input that is available meets them")
            return
        if not Limits(self.cluster).within(template, table) & offered:
            yield warning("$.spec.limits", "not one of its instance types is within them, the pool makes no node")
        for key, least in template.min_values:
            is_type = key == INSTANCE_TYPE_LABEL
            count = offered.bit_count() if is_type else len(table.values_of(key, offered, template.requirements))
            if count < least:
                message = f"minValues asks for {least} of {key}, the InstanceTypes of the input leave {count}"
                yield warning(f"{TEMPLATE}.requirements", message)

    def _unused(self, value: InstanceType, found: Expanded) -> Remarks:
        needs = tuple(found.requirements.by_key.values())
        against = []
        for template in self.templates():
            if not value.belongs_to(template.pool.spec.template.spec.node_class_ref.name):
                continue
            wrong = template.requirements.conflict(needs)
            if wrong is not None:
                wants = values_text(template.requirements.of(wrong.key))
                against.append(f"{template.name} wants {wrong.key} {wants}")
            elif found.offerings_within(template.requirements.narrowed(needs)):
                return
            else:
                against.append(f"{template.name} takes none of its available offerings")
        said = "; ".join(against[:MOST_TOLD]) or "none is of its node class"
        yield warning("$.spec.requirements", f"no NodePool of the input can use it: {said}")
