"""Offerings of which there are only so many machines, such as a reservation, and how many of them are in use."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from dra_scheduling.instancetypes import CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL
from dra_scheduling.instancetypes.expansion import NOWHERE
from dra_scheduling.inventory.machine import Machine, MachineOffering
from dra_scheduling.inventory.machines import MachineTable
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node

OfferingKey = tuple[str, str, str]
"""The instance type as nodes name it, the zone and the capacity type."""
InUse = Mapping[OfferingKey, int]
LAUNCHED = "Launched"


def machines_in_use(claims: Iterable[NodeClaim], nodes: Iterable[Node]) -> Counter[OfferingKey]:
    """Return how many machines there are of each offering: of NodeClaims until they are gone, and of other nodes."""
    known = tuple(claims)
    there = {node.name: node for node in nodes}
    found: Counter[OfferingKey] = Counter()
    for claim in known:
        node = there.pop(claim.status.node_name, None)
        labels = {**claim.metadata.labels, **(node.metadata.labels if node is not None else {})}
        said = claim.condition(LAUNCHED)
        key = _key_of(labels)
        if key is not None and (said is None or said.status != "False"):
            found[key] += 1
    owned = {claim.status.provider_id for claim in known if claim.status.provider_id}
    for node in there.values():
        key = _key_of(node.metadata.labels)
        if key is not None and node.spec.provider_id not in owned:
            found[key] += 1
    return found


def offering_key(machine: str, offering: MachineOffering) -> OfferingKey:
    """Return what tells the offering of a machine from all others."""
    values = {one.key: next(iter(one.values), "") for one in offering.requirements}
    return machine, values.get(ZONE_LABEL, ""), values.get(CAPACITY_TYPE_LABEL, "")


def limited_offerings(table: MachineTable) -> Iterator[tuple[int, OfferingKey, MachineOffering]]:
    """Yield the offerings of a table that have an end, with the bit of their machine."""
    for number, machine in enumerate(table.machines):
        for offering in machine.offerings:
            if offering.capacity is not None:
                yield 1 << number, offering_key(machine.name, offering), offering


def without_offerings(table: MachineTable, gone: frozenset[OfferingKey]) -> MachineTable:
    """Return the table as if these offerings were not to be had; its machines are the same, in the same order."""
    return MachineTable(_without(machine, gone) for machine in table.machines)


def told(key: OfferingKey, capacity: int) -> str:
    """Return in words that all machines of an offering are in use."""
    machine, zone, capacity_type = key
    return f"all {capacity} of {machine} in {zone} ({capacity_type}) are in use"


def _without(machine: Machine, gone: frozenset[OfferingKey]) -> Machine:
    left = tuple(one for one in machine.offerings if offering_key(machine.name, one) not in gone)
    if len(left) == len(machine.offerings):
        return machine
    offerings = tuple(one.requirements for one in left) or (NOWHERE,)
    return replace(machine, offerings=left, devices=replace(machine.devices, offerings=offerings))


def _key_of(labels: Mapping[str, str]) -> OfferingKey | None:
    values = [labels.get(key) for key in (INSTANCE_TYPE_LABEL, ZONE_LABEL, CAPACITY_TYPE_LABEL)]
    machine, zone, capacity_type = values
    return None if machine is None or zone is None or capacity_type is None else (machine, zone, capacity_type)
