"""The rulebook: all rules between pods and hosts that do not depend on how much is free, in the order of asking."""

from collections.abc import Iterator

import msgspec

from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.fit.dynamic_resources import DynamicResources
from dra_scheduling.fit.node_affinity import NodeAffinityRule, NodeSelectorRule
from dra_scheduling.fit.node_name import NodeName
from dra_scheduling.fit.node_ports import NodePorts
from dra_scheduling.fit.node_unschedulable import NodeInitialized, NodeUnschedulable
from dra_scheduling.fit.rule import Host, Rule, Wanted
from dra_scheduling.fit.taint_toleration import TaintToleration
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.host_ports import HostPort

NODE_RULES: tuple[Rule, ...] = (
    NodeInitialized(),
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeSelectorRule(),
    NodeAffinityRule(),
)
"""The rules that read nothing of a host but the node itself."""
RULES: tuple[Rule, ...] = (*NODE_RULES, DynamicResources(), NodePorts())
"""All of them, in kube-scheduler's order, but for claims with devices, which are told before ports are."""


class BarePod(msgspec.Struct, frozen=True):
    """A pod of which nothing but its spec counts."""

    pod: Pod
    resolved: ResolvedClaims = ResolvedClaims()
    ports: tuple[HostPort, ...] = ()


class BareNode(msgspec.Struct):
    """A node on which nothing runs."""

    node: Node
    used_ports: frozenset[HostPort] = frozenset()

    def meets(self, term: NodeSelectorTerm) -> bool:
        """Whether the term holds for the node."""
        return term_matches(term, self.node.name, self.node.metadata.labels)


def refusals(rules: tuple[Rule, ...], wanted: Wanted, host: Host) -> Iterator[Refusal]:
    """Yield what each of the rules has against the host."""
    for rule in rules:
        refusal = rule.filter(wanted, host)
        if refusal is not None:
            yield refusal


def first_refusal(rules: tuple[Rule, ...], wanted: Wanted, host: Host) -> Refusal | None:
    """Return what the first of the rules has against the host that has anything."""
    for rule in rules:
        refusal = rule.filter(wanted, host)
        if refusal is not None:
            return refusal
    return None


def demands(rules: tuple[Rule, ...], pod: Pod) -> tuple[tuple[NodeSelectorTerm, ...], ...]:
    """Return what the rules want of the labels of a node to be: of each of these, one term is to be met."""
    return tuple(terms for rule in rules if (terms := rule.demands(pod)))


def static_refusal(pod: Pod, node: Node) -> Refusal | None:
    """Return the first rule that keeps the pod off the node itself, whatever else runs there."""
    return first_refusal(NODE_RULES, BarePod(pod), BareNode(node))
