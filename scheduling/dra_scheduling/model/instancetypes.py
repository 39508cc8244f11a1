"""InstanceTypes (dra-scheduler.dev/v1alpha1): a kind of machine, with the devices that its drivers will publish."""

from enum import Enum, auto

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.node_selectors import PromisedTaint
from dra_scheduling.model.nodeclaims import LabelRequirement
from dra_scheduling.model.slices import (
    Counter,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    NodeAllocatableResource,
)
from kube_cel.quantity import Quantity

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
NODE_CLASS_LABEL = "dra-scheduler.dev/node-class"
"""On an InstanceType: the name of the only node class that it belongs to. Without it, it belongs to all of them."""


class InstanceOffering(Value, frozen=True):
    """One way to get the machine. Prices are per hour, in one currency for all types.

    `capacity` is how many machines there are, as of a reservation; None where nobody knows of an end.
    """

    zone: str
    price: Quantity
    capacity_type: str = "on-demand"
    available: bool = True
    capacity: int | None = None


class DeviceGroup(Value, frozen=True):
    """`count` devices of one driver. `{index}` counts from 0 in the name, in strings and in counter sets' names."""

    driver: str
    name: str
    count: int = 1
    attributes: dict[str, DeviceAttribute] = {}
    attributes_by_index: dict[str, tuple[DeviceAttribute, ...]] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    allow_multiple_allocations: bool = False
    taints: tuple[PromisedTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    node_allocatable_resources: dict[str, NodeAllocatableResource] = {}


class CounterSetGroup(Value, frozen=True):
    """`count` counter sets of one driver; `{index}` counts from 0 in the name."""

    driver: str
    name: str
    count: int = 1
    counters: dict[str, Counter] = {}


class BoundDevices(Value, frozen=True):
    """Devices of one driver: the one of that name, or those of a name with `{index}` and these indexes."""

    driver: str
    name: str
    indexes: tuple[int, ...] = ()


class AttributeBinding(Value, frozen=True):
    """Devices that will have one value of the attribute, whatever it is.

    `published_value` is what a made-up driver publishes; planning does not look at it.
    """

    attribute: str
    devices: tuple[BoundDevices, ...] = ()
    published_value: DeviceAttribute | None = None


class InstanceDevices(Value, frozen=True):
    """The devices of a machine. All devices of a driver are one pool."""

    groups: tuple[DeviceGroup, ...] = ()
    shared_counters: tuple[CounterSetGroup, ...] = ()
    bindings: tuple[AttributeBinding, ...] = ()


class InstanceTypeSpec(Value, frozen=True):
    """What the machine is, has and costs. What pods may have is `capacity` without `overhead`."""

    offerings: tuple[InstanceOffering, ...]
    capacity: dict[str, Quantity]
    requirements: tuple[LabelRequirement, ...] = ()
    overhead: dict[str, Quantity] = {}
    devices: InstanceDevices = InstanceDevices()


class Failure(Enum):
    """What machines may fail at: to become a node, or to have their devices published there."""

    REGISTRATION = auto()
    DEVICES = auto()


class DriverDevices(Value, frozen=True):
    """How many devices a driver has on the machine."""

    driver: str
    devices: int = 0


class InstanceTypeStatus(Value, frozen=True):
    """What the operator makes of it. `devices` is the text of `drivers` for a table, `cheapest_price` a decimal."""

    conditions: tuple[Condition, ...] = ()
    device_count: int = 0
    drivers: tuple[DriverDevices, ...] = ()
    devices: str = ""
    cheapest_price: str = ""
    device_failures: int = 0
    """How often in a row a node of the type did not publish the devices that it was to have."""
    retry_after: str = ""
    """Until when no node of the type is made for pods with devices (RFC 3339, UTC)."""
    registration_failures: int = 0
    """How often in a row a machine of the type did not become a node."""
    registration_retry_after: str = ""
    """Until when no node of the type is made at all (RFC 3339, UTC)."""

    def row(self, failure: Failure) -> tuple[int, str]:
        """Return how often in a row machines have failed at that, and until when the type rests therefore."""
        if failure is Failure.REGISTRATION:
            return self.registration_failures, self.registration_retry_after
        return self.device_failures, self.retry_after


class InstanceType(Value, frozen=True):
    """A kind of machine."""

    metadata: ObjectMeta
    spec: InstanceTypeSpec
    status: InstanceTypeStatus = InstanceTypeStatus()

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def instance_type(self) -> str:
        """What its nodes have as `node.kubernetes.io/instance-type`: its name, unless a requirement says otherwise.

        Names of objects have neither capitals nor underscores, which names of machines may have.
        """
        written = (one for one in self.spec.requirements if one.key == INSTANCE_TYPE_LABEL and one.operator == "In")
        return next((one.values[0] for one in written if len(one.values) == 1), self.name)

    def shares_class_with(self, other: "InstanceType") -> bool:
        """Whether node pools of some node class may use both."""
        own, others = self.metadata.labels.get(NODE_CLASS_LABEL), other.metadata.labels.get(NODE_CLASS_LABEL)
        return own is None or others is None or own == others

    def belongs_to(self, node_class: str) -> bool:
        """Whether node pools of that node class may use it."""
        return self.metadata.labels.get(NODE_CLASS_LABEL, node_class) == node_class
