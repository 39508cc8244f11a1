"""From InstanceTypes made ready to machines that can be planned with."""

from collections.abc import Iterable, Mapping

from dra_scheduling.basics.resources import CPU
from dra_scheduling.instancetypes import Expanded, offering_requirements
from dra_scheduling.inventory.machine import Machine, MachineOffering
from dra_scheduling.model.pods import Node
from dra_scheduling.template_devices import DeviceHostType
from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity


def machine_of(instance_type: str, expanded: Expanded, devices: DeviceHostType) -> Machine:
    """Return the machine, with these devices, that nodes of the InstanceType of that name will be."""
    return Machine(
        name=expanded.name,
        instance_type=instance_type,
        requirements=tuple(expanded.requirements.by_key[key] for key in sorted(expanded.requirements.by_key)),
        offerings=tuple(
            MachineOffering(
                requirements=offering_requirements(one),
                price=one.price.nano / NANO_PER_UNIT,
                capacity=one.capacity,
            )
            for one in expanded.offerings
            if one.available
        ),
        allocatable=dict(expanded.allocatable.items()),
        capacity=in_base_units(expanded.capacity.items()),
        devices=devices,
        alike=id(expanded.devices),
    )


def machine_of_node(node: Node, free: Mapping[str, int], devices: DeviceHostType) -> Machine:
    """Return a node that exists as a machine with so much room and no choice left."""
    return Machine(
        name=devices.name,
        offerings=(MachineOffering(),),
        allocatable=free,
        capacity=in_base_units(node.status.allocatable.items()),
        devices=devices,
    )


def in_base_units(amounts: Iterable[tuple[str, Quantity]]) -> dict[str, int]:
    """Return amounts with cpu in thousandths and everything else in whole units, rounded down."""
    return {name: one.nano // (NANO_PER_MILLI if name == CPU else NANO_PER_UNIT) for name, one in amounts}
