"""NodeClaims (karpenter.sh/v1): a node that is wanted, until it is there and for as long as it lives."""

from msgspec import field

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.conditions import Condition, condition_of
from dra_scheduling.model.node_selectors import Taint
from kube_cel.quantity import Quantity

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
NEVER = "Never"
DEFAULT_EXPIRY = "720h"


class LabelRequirement(Value, frozen=True):
    """A condition on a label of a node to be."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            msg = f"unknown operator {self.operator!r}, expected one of {', '.join(OPERATORS)}"
            raise ValueError(msg)


class NodeRequirement(LabelRequirement, frozen=True):
    """A condition on a label of a node to be, and how many different values have to remain possible."""

    min_values: int | None = None


class NodeClassRef(Value, frozen=True):
    """Who makes the nodes, and by which of its classes."""

    group: str
    kind: str
    name: str


class NodeClaimResources(Value, frozen=True):
    """What the node has to have at least."""

    requests: dict[str, Quantity] = {}


class NodeClaimSpec(Value, frozen=True):
    """What is wanted; it never changes. Durations are Go text (`720h`, `1h30m`), or `Never` for `expire_after`."""

    node_class_ref: NodeClassRef
    requirements: tuple[NodeRequirement, ...]
    resources: NodeClaimResources = NodeClaimResources()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after: str = DEFAULT_EXPIRY
    termination_grace_period: str = ""


class NodeClaimStatus(Value, frozen=True):
    """What has become of it."""

    node_name: str = ""
    provider_id: str = field(default="", name="providerID")
    image_id: str = field(default="", name="imageID")
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()
    last_pod_event_time: str = ""


class NodeClaim(Value, frozen=True):
    """A wanted node."""

    metadata: ObjectMeta
    spec: NodeClaimSpec
    status: NodeClaimStatus = NodeClaimStatus()

    @property
    def name(self) -> str:
        """The NodeClaim's name."""
        return self.metadata.name

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type."""
        return condition_of(self.status.conditions, kind)
