"""ResourceClaims, templates and allocations (resource.k8s.io/v1)."""

from msgspec import field

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.node_selectors import NodeSelector, Toleration
from dra_scheduling.model.slices import DeviceSelector, OpaqueDeviceConfiguration
from kube_cel.quantity import Quantity

EXACT_COUNT = "ExactCount"
ALL_DEVICES = "All"
MAX_DEVICES_PER_CLAIM = 32
MAX_CONFIGURATIONS_PER_ALLOCATION = 64
MAX_CONSUMERS_PER_CLAIM = 256
CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED_CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class CapacityRequirements(Value, frozen=True):
    """How much of each capacity a request wants of a shareable device."""

    requests: dict[str, Quantity] = {}


class DeviceDerivedAttribute(Value, frozen=True):
    """An attribute that a CEL expression gives to each device, for the constraints on one request only (KEP-6080)."""

    name: str
    expression: str


class _Wanted(Value, frozen=True):
    """Devices of one class. `count` matters in mode ExactCount only."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()

    @property
    def mode(self) -> str:
        """`ExactCount` unless the request says otherwise, as the server defaults it."""
        return self.allocation_mode or EXACT_COUNT

    @property
    def wanted(self) -> int:
        """The number of devices in mode ExactCount; 0 means 1, as the server defaults it."""
        return self.count or 1


class ExactDeviceRequest(_Wanted, frozen=True):
    """A request without alternatives."""

    admin_access: bool = False


class DeviceSubRequest(_Wanted, frozen=True, kw_only=True):
    """One alternative of `firstAvailable`."""

    name: str


class DeviceRequest(Value, frozen=True):
    """A named request: either `exactly` or `firstAvailable`."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()

    def __post_init__(self) -> None:
        if (self.exactly is not None) == bool(self.first_available):
            msg = "expected exactly one of exactly, firstAvailable (resource.k8s.io/v1)"
            raise ValueError(msg)


class DeviceConstraint(Value, frozen=True):
    """A rule over the devices of the named requests (`request` or `request/subrequest`); none named means all."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Value, frozen=True):
    """Configuration for the devices of the named requests; none named means all."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Value, frozen=True):
    """What a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Value, frozen=True):
    """Immutable once created."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Value, frozen=True):
    """One allocated device."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] = {}

    @property
    def device_id(self) -> DeviceID:
        """The device's identity."""
        return DeviceID(self.driver, self.pool, self.device)


class DeviceAllocationConfiguration(Value, frozen=True):
    """Configuration carried into an allocation; `source` is FromClass or FromClaim."""

    source: str
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Value, frozen=True):
    """The devices of an allocation and their configuration."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Value, frozen=True):
    """A claim's allocation; without a node selector every node can use it."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class ResourceClaimConsumerReference(Value, frozen=True):
    """One entry of `status.reservedFor`."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Value, frozen=True):
    """A condition of an object; `status` is True, False or Unknown."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Value, frozen=True):
    """What a driver says of one allocated device, or of one share of it."""

    driver: str
    pool: str
    device: str
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[DeviceCondition, ...] = ()

    @property
    def device_id(self) -> DeviceID:
        """The device's identity."""
        return DeviceID(self.driver, self.pool, self.device)


class ResourceClaimStatus(Value, frozen=True):
    """`allocation` is immutable while set; `reservedFor` holds at most 256 consumers."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Value, frozen=True):
    """A claim for devices, shared by the pods in `status.reservedFor`."""

    metadata: ObjectMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    def is_special_claim_of(self, pod_name: str, pod_uid: str) -> bool:
        """Whether this is the extended resource claim of exactly that pod (annotation and controller owner agree)."""
        owner = self.metadata.controller
        return (
            self.metadata.annotations.get(EXTENDED_CLAIM_ANNOTATION) == "true"
            and owner is not None
            and (owner.api_version, owner.kind, owner.name, owner.uid) == ("v1", "Pod", pod_name, pod_uid)
        )


class ResourceClaimTemplateSpec(Value, frozen=True):
    """The claim that each pod gets."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Value, frozen=True):
    """A template from which the claim controller makes one claim a pod."""

    metadata: ObjectMeta
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
