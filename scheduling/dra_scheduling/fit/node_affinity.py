"""Labels that a pod wants its node to have: the node selector and the required node affinity."""

from collections.abc import Mapping
from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted, refused
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_scheduling.model.pods import Pod

SHOWN_AFFINITY = 160


class NodeSelectorRule:
    """Keeps pods off nodes outside of their node selector; a part of kube-scheduler's NodeAffinity."""

    name: ClassVar[str] = "NodeSelector"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.node_selector

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return bool(wanted.pod.spec.node_selector)

    def demands(self, pod: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return the node selector as a term."""
        wanted = tuple(
            NodeSelectorRequirement(key=key, operator="In", values=(value,))
            for key, value in pod.spec.node_selector.items()
        )
        return (NodeSelectorTerm(match_expressions=wanted),) if wanted else ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal of a node that lacks a label."""
        selector, labels = wanted.pod.spec.node_selector, host.node.metadata.labels
        if all(labels.get(key) == value for key, value in selector.items()):
            return None
        return refused("NodeSelectorMismatch", f"outside of node selector {_pairs(selector)}")


class NodeAffinityRule:
    """Keeps pods off nodes that no term of their required affinity matches."""

    name: ClassVar[str] = "NodeAffinity"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.affinity.node_affinity

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return _required(wanted.pod) is not None

    def demands(self, pod: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return the terms of the required affinity."""
        selector = _required(pod)
        # A selector without terms matches nothing, and neither does an empty term.
        return () if selector is None else selector.node_selector_terms or (NodeSelectorTerm(),)

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal of a node that no term matches."""
        selector = _required(wanted.pod)
        if selector is None or any(map(host.meets, selector.node_selector_terms)):
            return None
        return refused("NodeAffinityMismatch", f"outside of required node affinity ({_described(selector)})")


def _required(pod: Pod) -> NodeSelector | None:
    return pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution


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
