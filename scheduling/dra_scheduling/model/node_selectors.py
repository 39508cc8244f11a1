"""Node selectors as pods, slices and allocations use them (core/v1 NodeSelector), and taints with tolerations."""

import msgspec

from dra_scheduling.model.base import Value

OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})


class NodeSelectorRequirement(Value, frozen=True):
    """One condition on a label (or, in `matchFields`, on `metadata.name`)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            msg = f"unknown operator {self.operator!r}, expected one of {', '.join(sorted(OPERATORS))}"
            raise ValueError(msg)


class NodeSelectorTerm(Value, frozen=True):
    """All requirements of a term must hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Value, frozen=True):
    """One of the terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Value, frozen=True):
    """A term that is worth `weight` (1 to 100) to the pod."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class PromisedTaint(Value, frozen=True):
    """A taint of what is not there yet."""

    key: str
    value: str = ""
    effect: str = ""


class Taint(PromisedTaint, frozen=True):
    """A taint of a node or a device."""

    time_added: str = ""


class Toleration(Value, frozen=True):
    """A pod's or a device request's toleration; an empty operator means Equal, an empty effect means all."""

    key: str = ""
    operator: str = msgspec.field(default="Equal")
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration covers the taint (core/v1 and resource.k8s.io/v1 agree on the rule)."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.operator in {"", "Equal"} and self.value == taint.value
