"""Instance types, and nodes that exist, as planning sees them, and how they are made from InstanceTypes and nodes."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.basics.resources import CPU
from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.instancetypes import Expanded, offering_requirements
from dra_scheduling.inventory.daemonset_overhead import DaemonSetOverhead
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node
from dra_scheduling.template_devices import DeviceHostType
from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity


class MachineOffering(msgspec.Struct, frozen=True, kw_only=True):
    """One way to get an instance type now: in a zone, as spot or on demand. Prices are per hour.

    `capacity` is how many machines there are of it, those in use included; None where nobody knows of an end.
    """

    requirements: tuple[Requirement, ...] = ()
    price: float = 0.0
    capacity: int | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """An instance type, or a node that exists: what it is like, what it has room for, and its devices by type.

    `name` is what its nodes have as `node.kubernetes.io/instance-type`, `instance_type` the name of the InstanceType.
    `offerings` are those available, the cheapest first. `capacity` counts towards the limits of a NodePool;
    `allocatable` is what pods may take, in base units. Machines whose `alike` is the same have the same devices.
    `daemons` are the DaemonSets whose pods may run on it, which `allocatable` is less by; `device_daemons` those of
    them that ask for devices. `unsettled` are those that do not run wherever the machine can be had.
    """

    name: str
    instance_type: str = ""
    requirements: tuple[Requirement, ...] = ()
    offerings: tuple[MachineOffering, ...] = ()
    allocatable: Mapping[str, int] = {}
    capacity: Mapping[str, int] = {}
    devices: DeviceHostType
    alike: int = 0
    daemons: tuple[DaemonSetOverhead, ...] = ()
    unsettled: tuple[DaemonSetOverhead, ...] = ()
    device_daemons: tuple[ObjectKey, ...] = ()

    @property
    def has_devices(self) -> bool:
        """Whether pods could ask for devices of it, from a driver or by the name of a resource."""
        return bool(self.devices.devices.pools) or any(map(is_extended_name, self.allocatable))

    def price_within(self, requirements: Requirements) -> float | None:
        """Return the lowest price under these requirements, None where the type cannot be had."""
        if requirements.conflict(self.requirements) is not None:
            return None
        within = requirements.narrowed(self.requirements)
        return next((one.price for one in self.offerings if within.conflict(one.requirements) is None), None)

    def runs(self, daemon: DaemonSetOverhead, requirements: Requirements) -> bool:
        """Whether a node of this kind with these requirements may have a pod of the DaemonSet."""
        within = requirements.narrowed(self.requirements)
        had = [one.requirements for one in self.offerings if within.conflict(one.requirements) is None]
        return any(daemon.may_run(within.narrowed(one)) for one in had or [()])


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
