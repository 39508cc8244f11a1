"""Pods and nodes (core/v1), as far as fitting one on the other needs them."""

from msgspec import field

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import NodeSelector, PreferredSchedulingTerm, Taint, Toleration
from kube_cel.quantity import Quantity

Rank = tuple[int, str, str, str]
Turn = tuple[int, bool, int, Rank]
"""Priority, whether no node was made for the pod, its place in the plan of that node, and then its rank."""
NODE_POOL_LABEL = "karpenter.sh/nodepool"
INITIALIZED_LABEL = "karpenter.sh/initialized"
REGISTERED_LABEL = "karpenter.sh/registered"


class ContainerResourceClaim(Value, frozen=True):
    """A claim that a container uses, by its name in `spec.resourceClaims`."""

    name: str


class ResourceRequirements(Value, frozen=True):
    """Requests and limits of a container or a pod, and the claims that a container uses."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerPort(Value, frozen=True):
    """A port; only host ports can collide."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Value, frozen=True):
    """A container. An init container with `restartPolicy: Always` is a sidecar."""

    name: str
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class NodeAffinity(Value, frozen=True):
    """Required and preferred node terms."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinity(Value, frozen=True):
    """Rules between pods; only their presence is read."""

    required_during_scheduling_ignored_during_execution: tuple[object, ...] = ()


class Affinity(Value, frozen=True):
    """A pod's affinities."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class TopologySpreadConstraint(Value, frozen=True):
    """A spread rule; only hard ones (`DoNotSchedule`) bind the scheduler."""

    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"


class PodResourceClaim(Value, frozen=True):
    """A claim the pod refers to, by name or through a template."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSchedulingGate(Value, frozen=True):
    """While a pod has a gate it is not scheduled."""

    name: str


class Volume(Value, frozen=True):
    """A volume; only whether it needs a PersistentVolumeClaim is read."""

    name: str = ""
    persistent_volume_claim: object = None
    ephemeral: object = None


class PodSpec(Value, frozen=True):
    """A pod's wishes."""

    node_name: str = ""
    host_network: bool = False
    scheduler_name: str = "default-scheduler"
    runtime_class_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, Quantity] = {}
    resources: ResourceRequirements = ResourceRequirements()
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    volumes: tuple[Volume, ...] = ()
    priority: int = 0
    priority_class_name: str = ""
    termination_grace_period_seconds: int | None = None


class PodCondition(Value, frozen=True):
    """One entry of `status.conditions`."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


class PodResourceClaimStatus(Value, frozen=True):
    """The claim made for a template reference; an empty claim name means that none is needed."""

    name: str
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Value, frozen=True):
    """Which request of the special claim serves a container's extended resource."""

    container_name: str
    resource_name: str
    request_name: str


class PodExtendedResourceClaimStatus(Value, frozen=True):
    """The special claim of a pod. The server never clears this field: the name may be a dead claim's."""

    resource_claim_name: str = ""
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class NodeAllocatableMappedResources(Value, frozen=True):
    """How much of a resource of the node the devices of a claim are."""

    name: str
    quantity: Quantity


class NodeAllocatableOverheadResources(Value, frozen=True):
    """How much of a resource of the node the use of a claim's devices costs."""

    name: str
    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResourceClaimStatus(Value, frozen=True):
    """What a claim takes of the node's own resources for a pod (KEP-5517); kubelet adds it to the pod's cgroups.

    `containers` are those that use the claim; each has its overhead.
    """

    resource_claim_name: str
    containers: tuple[str, ...] = ()
    mapping: tuple[NodeAllocatableMappedResources, ...] = ()
    overhead: tuple[NodeAllocatableOverheadResources, ...] = ()


class PodStatus(Value, frozen=True):
    """A pod's state."""

    phase: str = "Pending"
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(Value, frozen=True):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name; two pods of one name differ by `metadata.uid`."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def is_finished(self) -> bool:
        """Whether its containers have ended for good: it holds nothing any more."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def rank(self) -> Rank:
        """The place among pods that wait: higher priority first, then the older one, then by name."""
        return (-self.spec.priority, self.metadata.creation_timestamp, self.metadata.namespace, self.metadata.name)


class NodeSpec(Value, frozen=True):
    """What machine a node is, and what keeps pods away from it."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(default="", name="providerID")


class NodeCondition(Value, frozen=True):
    """One entry of a node's `status.conditions`; heartbeats are left out, since they say nothing new."""

    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    last_transition_time: str = ""


class NodeStatus(Value, frozen=True):
    """What a node has, what of it pods may have, and how it is."""

    allocatable: dict[str, Quantity] = {}
    capacity: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(Value, frozen=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def ready(self) -> NodeCondition | None:
        """What kubelet says of the node."""
        return next((one for one in self.status.conditions if one.type == "Ready"), None)

    @property
    def is_being_set_up(self) -> bool:
        """Whether it was made for a NodeClaim and is not initialized yet: what it publishes does not count so far."""
        labels = self.metadata.labels
        return NODE_POOL_LABEL in labels and labels.get(INITIALIZED_LABEL) != "true"
