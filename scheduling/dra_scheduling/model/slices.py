"""ResourceSlices and DeviceClasses (resource.k8s.io/v1)."""

from msgspec import field

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.node_selectors import NodeSelector, Taint
from kube_cel.quantity import Quantity
from kube_cel.semver import Version

TYPE_NAMES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")


class DeviceAttribute(Value, frozen=True):
    """One attribute; exactly one of its fields is set. `version` and `versions` are strict semver 2.0.0."""

    int_: int | None = field(default=None, name="int")
    bool_: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        values = (self.int_, self.bool_, self.string, self.version, self.ints, self.bools, self.strings, self.versions)
        if sum(value is not None for value in values) != 1:
            msg = f"expected exactly one of {', '.join(TYPE_NAMES)}"
            raise ValueError(msg)
        for text in (self.version, *(self.versions or ())):
            if text is not None:
                Version.parse(text)


class CapacityRange(Value, frozen=True):
    """Valid amounts of a request: from `min` to `max` in steps from `min` on."""

    min: Quantity
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Value, frozen=True):
    """How much of a shareable capacity a request takes (KEP-5075)."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Value, frozen=True):
    """One capacity of a device."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class Counter(Value, frozen=True):
    """An amount of a shared counter."""

    value: Quantity


class CounterSet(Value, frozen=True):
    """What partitions of one physical device share (KEP-4815)."""

    name: str
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Value, frozen=True):
    """What one device takes from a counter set of its pool, and the groups of devices that it goes with there."""

    counter_set: str
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class NodeAllocatableMapping(Value, frozen=True):
    """How much of a resource of the node a device is: a multiple of a capacity consumed of it, or an amount each."""

    capacity_key: str = ""
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Value, frozen=True):
    """How much of a resource of the node the use of a device costs: once a pod, and once a container that uses it."""

    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResource(Value, frozen=True):
    """What a device takes of a resource that nodes offer themselves, such as cpu (KEP-5517)."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Value, frozen=True):
    """One device of a slice. `node_allocatable_resource_mappings` are what Kubernetes 1.36 had for the resources."""

    name: str
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[Taint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    node_allocatable_resources: dict[str, NodeAllocatableResource] = {}
    node_allocatable_resource_mappings: dict[str, object] = {}


class ResourcePool(Value, frozen=True, omit_defaults=False):
    """The pool a slice belongs to. Only slices of the highest generation count."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1

    def __post_init__(self) -> None:
        if not self.name:
            msg = "expected a pool name"
            raise ValueError(msg)
        if self.resource_slice_count < 1:
            msg = f"resourceSliceCount is {self.resource_slice_count}, expected at least 1"
            raise ValueError(msg)


class ResourceSliceSpec(Value, frozen=True):
    """Where the devices of a slice can be reached: exactly one of the four node fields is set."""

    driver: str
    pool: ResourcePool
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()

    def __post_init__(self) -> None:
        if not self.driver:
            msg = "expected a driver name"
            raise ValueError(msg)
        ways = (bool(self.node_name), self.node_selector is not None, self.all_nodes, self.per_device_node_selection)
        if sum(ways) != 1:
            msg = "expected exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection"
            raise ValueError(msg)


class ResourceSlice(Value, frozen=True):
    """A part of a pool, published by a driver."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec


class CELDeviceSelector(Value, frozen=True):
    """A CEL expression over one device."""

    expression: str


class DeviceSelector(Value, frozen=True):
    """A selector; CEL is the only kind there is."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(Value, frozen=True):
    """Parameters that only the driver understands."""

    driver: str
    parameters: object = None


class DeviceClassConfiguration(Value, frozen=True):
    """Configuration that every device of the class gets."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Value, frozen=True):
    """What devices belong to the class, and the extended resource name it answers to."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(Value, frozen=True):
    """A named kind of device."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()
