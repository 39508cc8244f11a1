"""BindRequest (scheduling.run.ai/v1alpha2): a complete decision, written down for the binder to carry out.

Group, fields and meaning are KAI's. `podUID`, `claimUID`, `decision`, what claims take of the node, and the status
fields after `failedAttempts` are additions, all optional.
"""

from msgspec import field

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.claims import AllocationResult, DeviceRequest
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import ContainerExtendedResourceRequest, NodeAllocatableResourceClaimStatus

PENDING = "Pending"
SUCCEEDED = "Succeeded"
FAILED = "Failed"


class ReceivedGPU(Value, frozen=True):
    """How many whole GPUs the pod got; `portion` is a decimal with two digits, for example `1.00`."""

    count: int = 0
    portion: str = ""


class ResourceClaimAllocation(Value, frozen=True):
    """The allocation of one claim, keyed by its name in `pod.spec.resourceClaims`.

    `claim_uid` says which claim was decided about: another one of that name may ask for something else.
    """

    name: str
    allocation: AllocationResult = AllocationResult()
    claim_uid: str = field(default="", name="claimUID")


class ExtendedResourceClaimAllocation(Value, frozen=True):
    """The special claim of a pod with DRA-backed extended resources: what to create, and who may use which request."""

    allocation: AllocationResult = AllocationResult()
    device_requests: tuple[DeviceRequest, ...] = ()
    container_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class BindRequestSpec(Value, frozen=True):
    """The decision. `decision` counts those about the pod from 0 on, so that a repeated one is a new generation."""

    pod_name: str
    selected_node: str
    pod_uid: str = field(default="", name="podUID")
    received_resource_type: str = ""
    received_gpu: ReceivedGPU | None = field(default=None, name="receivedGPU")
    resource_claim_allocations: tuple[ResourceClaimAllocation, ...] = ()
    extended_resource_claim_allocation: ExtendedResourceClaimAllocation | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    backoff_limit: int | None = None
    decision: int = 0


class BindRequestStatus(Value, frozen=True):
    """How far the binder got. A phase counts only for the generation that it was observed at.

    `Pending` is a bind that waits for its devices to be made ready; `reason` says for which.
    """

    phase: str = ""
    reason: str = ""
    failed_attempts: int = 0
    observed_generation: int = 0
    last_attempt_time: str = ""


class BindRequest(Value, frozen=True):
    """A pod that is to be bound to a node with the given devices."""

    metadata: ObjectMeta
    spec: BindRequestSpec
    status: BindRequestStatus = BindRequestStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def pod_key(self) -> ObjectKey:
        """Namespace and name of the pod."""
        return ObjectKey(self.metadata.namespace, self.spec.pod_name)

    @property
    def pod_uid(self) -> str:
        """The UID of the pod that was decided about: from the spec, else of the owner (KAI's way), else empty."""
        owners = (owner.uid for owner in self.metadata.owner_references if owner.kind == "Pod")
        return self.spec.pod_uid or next(owners, "")

    @property
    def phase(self) -> str:
        """The phase of the present generation: a status about an older decision says nothing about this one."""
        observed = self.status.observed_generation
        return self.status.phase if observed in {0, self.metadata.generation} else ""

    @property
    def has_ended(self) -> bool:
        """Whether the decision was carried out or given up."""
        return self.phase in {SUCCEEDED, FAILED}
