"""The rulebook: all rules between pods and hosts that do not depend on how much is free, in the order of asking."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.fit.dynamic_resources import AllocatedClaims
from dra_scheduling.fit.node_affinity import NodeAffinityRule, NodeSelectorRule
from dra_scheduling.fit.node_name import NodeName
from dra_scheduling.fit.node_ports import NodePorts
from dra_scheduling.fit.node_unschedulable import NodeInitialized, NodeUnschedulable
from dra_scheduling.fit.rule import Check, Host, PlacedPods, Rule, Wanted
from dra_scheduling.fit.taint_toleration import TaintToleration
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.host_ports import HostPort

NODE_RULES: tuple[Rule[Any], ...] = (
    NodeInitialized(),
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeSelectorRule(),
    NodeAffinityRule(),
)
"""The rules that read nothing of a host but the node itself."""
RULES: tuple[Rule[Any], ...] = (*NODE_RULES, AllocatedClaims(), NodePorts())
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


class NoPlacedPods:
    """A cluster without nodes and pods."""

    hosts: Mapping[str, Host] = {}

    def placed_pods(self) -> tuple[tuple[Pod, str], ...]:
        """Return nothing: no pod is placed."""
        return ()


EMPTY_VIEW = NoPlacedPods()


def prepare(rules: Iterable[Rule[Any]], wanted: Wanted, view: PlacedPods = EMPTY_VIEW) -> tuple[Check, ...]:
    """Return what those of the rules prepared that have something to ask for such pods."""
    asked = ((rule, rule.prepare(wanted, view)) for rule in rules)
    return tuple(Check(rule, prepared) for rule, prepared in asked if prepared is not None)


def refusals(checks: Iterable[Check], host: Host) -> Iterator[Refusal]:
    """Yield what each of the rules has against the host."""
    for check in checks:
        refusal = check.refusal(host)
        if refusal is not None:
            yield refusal


def first_refusal(checks: Iterable[Check], host: Host) -> Refusal | None:
    """Return what the first of the rules has against the host that has anything."""
    for rule, prepared in checks:
        refusal: Refusal | None = rule.filter(prepared, host)
        if refusal is not None:
            return refusal
    return None


def demands(checks: Iterable[Check]) -> tuple[tuple[NodeSelectorTerm, ...], ...]:
    """Return what the rules want of the labels of a node to be: of each of these, one term is to be met."""
    return tuple(terms for check in checks if (terms := check.terms()))


def static_refusal(pod: Pod, node: Node) -> Refusal | None:
    """Return the first rule that keeps the pod off the node itself, whatever else runs there."""
    return first_refusal(prepare(NODE_RULES, BarePod(pod)), BareNode(node))
