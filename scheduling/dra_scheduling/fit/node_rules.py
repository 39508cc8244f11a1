"""The rules between a pod and a node that do not depend on what else runs there."""

from collections.abc import Mapping

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.requirements import matches
from dra_scheduling.model.node_selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
    Toleration,
)
from dra_scheduling.model.pods import Node, Pod

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
REFUSING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
SHOWN_AFFINITY = 160


def static_refusal(pod: Pod, node: Node) -> Refusal | None:
    """Return the first rule that keeps the pod off the node, in the order in which kube-scheduler asks."""
    return (
        _being_set_up(pod, node)
        or _unschedulable(pod, node)
        or _pinned_elsewhere(pod, node)
        or _tainted(pod, node)
        or _selected_elsewhere(pod, node)
        or _affine_elsewhere(pod, node)
    )


def is_choosy(pod: Pod) -> bool:
    """Whether the pod keeps off some nodes by itself; any node that is not guarded takes one that does not."""
    spec = pod.spec
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return bool(spec.node_name or spec.node_selector or required is not None)


def static_refusals(pod: Pod, node: Node) -> tuple[Refusal, ...]:
    """Return every rule that keeps the pod off the node, for people who want to know all of them."""
    rules = (_being_set_up, _unschedulable, _pinned_elsewhere, _tainted, _selected_elsewhere, _affine_elsewhere)
    found = (rule(pod, node) for rule in rules)
    return tuple(refusal for refusal in found if refusal is not None)


def is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def _being_set_up(_: Pod, node: Node) -> Refusal | None:
    if not node.is_being_set_up:
        return None
    return _refusal("NodeBeingSetUp", "still being set up")


def _unschedulable(pod: Pod, node: Node) -> Refusal | None:
    if not node.spec.unschedulable or is_tolerated(UNSCHEDULABLE, pod.spec.tolerations):
        return None
    return _refusal("NodeUnschedulable", "unschedulable (cordoned)")


def _pinned_elsewhere(pod: Pod, node: Node) -> Refusal | None:
    wanted = pod.spec.node_name
    if not wanted or wanted == node.name:
        return None
    return _refusal("NodeNameMismatch", f"not the node {wanted} of spec.nodeName")


def _tainted(pod: Pod, node: Node) -> Refusal | None:
    for taint in node.spec.taints:
        if taint.effect in REFUSING_EFFECTS and not is_tolerated(taint, pod.spec.tolerations):
            value = f"={taint.value}" if taint.value else ""
            return _refusal("UntoleratedTaint", f"with untolerated taint {taint.key}{value}:{taint.effect}")
    return None


def _selected_elsewhere(pod: Pod, node: Node) -> Refusal | None:
    wanted, labels = pod.spec.node_selector, node.metadata.labels
    if all(labels.get(key) == value for key, value in wanted.items()):
        return None
    return _refusal("NodeSelectorMismatch", f"outside of node selector {_pairs(wanted)}")


def _affine_elsewhere(pod: Pod, node: Node) -> Refusal | None:
    selector = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if selector is None or matches(selector, node.name, node.metadata.labels):
        return None
    return _refusal("NodeAffinityMismatch", f"outside of required node affinity ({_described(selector)})")


def _refusal(reason: str, message: str) -> Refusal:
    return Refusal(reason=reason, message=message, wake=ClusterEvent.NODE)


def _pairs(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def _described(selector: NodeSelector) -> str:
    text = " or ".join(_term_text(term) for term in selector.node_selector_terms) or "without terms"
    return text if len(text) <= SHOWN_AFFINITY else f"{text[:SHOWN_AFFINITY]}..."


def _term_text(term: NodeSelectorTerm) -> str:
    requirements = (*term.match_expressions, *term.match_fields)
    return " and ".join(_requirement_text(requirement) for requirement in requirements) or "empty term"


def _requirement_text(requirement: NodeSelectorRequirement) -> str:
    return " ".join(filter(None, (requirement.key, requirement.operator, ",".join(requirement.values))))
