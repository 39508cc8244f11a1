"""The rulebook: all rules between pods and hosts that do not depend on how much is free, in the order of asking."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.fit.dynamic_resources import AllocatedClaims
from dra_scheduling.fit.node_affinity import NodeAffinityRule, NodeSelectorRule
from dra_scheduling.fit.node_name import NodeName
from dra_scheduling.fit.node_ports import NodePorts
from dra_scheduling.fit.node_unschedulable import NodeInitialized, NodeUnschedulable
from dra_scheduling.fit.rule import Check, Host, Rule, RuleView, Wanted
from dra_scheduling.fit.score_profiles import PACK, Profile
from dra_scheduling.fit.taint_toleration import TaintToleration
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.change_log import ChangeLog
from dra_scheduling.state.domains import Domains, NodeLabels
from dra_scheduling.state.host_ports import HostPort
from dra_scheduling.state.pod_indexes import PodIndex, PodIndexes

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


class IndexedCluster:
    """The view of a cluster that rules have; each of them has one index of its pods there."""

    __slots__ = ("_changes", "_indexes", "_labels", "_pods")

    def __init__(self, rules: Iterable[Rule[Any]], pods: PodIndexes, labels: NodeLabels, changes: ChangeLog) -> None:
        self._pods, self._labels, self._changes = pods, labels, changes
        self._indexes: dict[str, PodIndex | None] = {}
        for rule in rules:
            self.index_of(rule)

    def index_of(self, rule: Rule[Any]) -> PodIndex | None:
        """Return what the rule keeps of the pods that have a place; asked for the first time, no pod has one yet."""
        if rule.name not in self._indexes:
            index = self._indexes[rule.name] = rule.index(self)
            if index is not None:
                self._pods.add(index)
        return self._indexes[rule.name]

    def domains(self, key: str, missing: Refusal | None = None) -> Domains:
        """Return new domains, of the nodes with each value of a label; `missing` is held against nodes without it."""
        return Domains(key, self._labels, self._changes, missing)


def empty_view() -> IndexedCluster:
    """Return the view of a cluster without nodes and pods."""
    changes = ChangeLog()
    return IndexedCluster((), PodIndexes(changes), NodeLabels({}), changes)


EMPTY_VIEW = empty_view()


class Rulebook(NamedTuple):
    """What keeps pods off hosts in one cluster, and what makes a node the best for them."""

    rules: tuple[Rule[Any], ...] = RULES
    view: RuleView = EMPTY_VIEW
    profile: Profile = PACK


DEFAULT_RULEBOOK = Rulebook()


def prepare(rules: Iterable[Rule[Any]], wanted: Wanted, view: RuleView = EMPTY_VIEW) -> tuple[Check, ...]:
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
