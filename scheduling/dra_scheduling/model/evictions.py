"""PodDisruptionBudgets (policy/v1), as far as they say whether a pod may be evicted now."""

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import NodeSelectorRequirement


class LabelSelector(Value, frozen=True):
    """A selector of pods by label; an empty one selects all of its namespace."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()


class PodDisruptionBudgetSpec(Value, frozen=True):
    """Whom it protects; without a selector nobody."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Value, frozen=True):
    """How many of its pods may be evicted now, kept by the disruption controller."""

    disruptions_allowed: int = 0


class PodDisruptionBudget(Value, frozen=True):
    """A budget of evictions."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)
