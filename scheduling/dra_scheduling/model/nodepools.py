"""NodePools (karpenter.sh/v1): what nodes may be made, how many, and when they may be taken away again."""

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.conditions import Condition, condition_of
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import DEFAULT_EXPIRY, NodeClassRef, NodeRequirement
from kube_cel.quantity import Quantity


class NodeTemplateMeta(Value, frozen=True):
    """Labels and annotations that every node of the pool gets."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class NodeTemplateSpec(Value, frozen=True):
    """The part of a NodeClaim's spec that the pool decides."""

    node_class_ref: NodeClassRef
    requirements: tuple[NodeRequirement, ...]
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after: str = DEFAULT_EXPIRY
    termination_grace_period: str = ""


class NodeTemplate(Value, frozen=True):
    """What the pool's NodeClaims start from."""

    spec: NodeTemplateSpec
    metadata: NodeTemplateMeta = NodeTemplateMeta()


class DisruptionBudget(Value, frozen=True):
    """How many nodes (a number, or `10%`) may be taken away at once, and when that holds."""

    nodes: str = "10%"
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    duration: str = ""


class Disruption(Value, frozen=True):
    """When nodes may be taken away."""

    consolidate_after: str = "0s"
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    budgets: tuple[DisruptionBudget, ...] = (DisruptionBudget(),)


class NodePoolSpec(Value, frozen=True):
    """What the pool is for. Higher `weight` goes first; with `replicas` it is of fixed size."""

    template: NodeTemplate
    disruption: Disruption = Disruption()
    limits: dict[str, Quantity] = {}
    weight: int = 0
    replicas: int | None = None


class NodePoolStatus(Value, frozen=True):
    """What the pool has."""

    conditions: tuple[Condition, ...] = ()
    resources: dict[str, Quantity] = {}
    nodes: int = 0
    node_class_observed_generation: int = 0


class NodePool(Value, frozen=True):
    """A pool of nodes that may be made."""

    metadata: ObjectMeta
    spec: NodePoolSpec
    status: NodePoolStatus = NodePoolStatus()

    @property
    def name(self) -> str:
        """The pool's name."""
        return self.metadata.name

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type."""
        return condition_of(self.status.conditions, kind)
