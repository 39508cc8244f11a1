"""Labels that a pod wants its node to have: the node selector and the required node affinity."""

from collections.abc import Mapping
from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted, refused
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_scheduling.model.pods import Pod

SHOWN_AFFINITY = 160


class NodeSelectorRule(Rule[Mapping[str, str]]):
    """Keeps pods off nodes outside of their node selector; a part of kube-scheduler's NodeAffinity."""

    name: ClassVar[str] = "NodeSelector"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.node_selector

    def prepare(self, wanted: Wanted, _: RuleView) -> Mapping[str, str] | None:
        """Return the node selector, None where the pods have none."""
        return wanted.pod.spec.node_selector or None

    def narrow(self, prepared: Mapping[str, str]) -> tuple[NodeSelectorTerm, ...]:
        """Return the node selector as a term."""
        pairs = prepared.items()
        return (
            NodeSelectorTerm(
                match_expressions=tuple(
                    NodeSelectorRequirement(key=key, operator="In", values=(value,)) for key, value in pairs
                )
            ),
        )

    def filter(self, prepared: Mapping[str, str], host: Host) -> Refusal | None:
        """Return the refusal of a node that lacks a label."""
        labels = host.node.metadata.labels
        if all(labels.get(key) == value for key, value in prepared.items()):
            return None
        return refused("NodeSelectorMismatch", f"outside of node selector {_pairs(prepared)}")


class NodeAffinityRule(Rule[NodeSelector]):
    """Keeps pods off nodes that no term of their required affinity matches."""

    name: ClassVar[str] = "NodeAffinity"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.affinity.node_affinity

    def prepare(self, wanted: Wanted, _: RuleView) -> NodeSelector | None:
        """Return the required affinity, None where the pods have none."""
        return wanted.pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution

    def narrow(self, prepared: NodeSelector) -> tuple[NodeSelectorTerm, ...]:
        """Return the terms of the required affinity."""
        # A selector without terms matches nothing, and neither does an empty term.
        return prepared.node_selector_terms or (NodeSelectorTerm(),)

    def filter(self, prepared: NodeSelector, host: Host) -> Refusal | None:
        """Return the refusal of a node that no term matches."""
        if any(map(host.meets, prepared.node_selector_terms)):
            return None
        return refused("NodeAffinityMismatch", f"outside of required node affinity ({_described(prepared)})")


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
