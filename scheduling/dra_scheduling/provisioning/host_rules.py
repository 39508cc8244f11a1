"""What rules have against a host of a plan: they see the node as it will be once it is set up."""

import msgspec

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import Requirements, on_new_nodes, term_matches
from dra_scheduling.fit.preferences import AVOIDING_EFFECT
from dra_scheduling.fit.rule import Check, Host
from dra_scheduling.fit.rules import first_refusal
from dra_scheduling.fit.taint_toleration import taint_text, untolerated
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, NodeSpec, Pod
from dra_scheduling.provisioning.host_refusals import ANY_CHANGE, conflict_refusal, host_refusal
from dra_scheduling.provisioning.host_spec import HostSpec
from dra_scheduling.provisioning.pod_requirements import Variant
from dra_scheduling.state.host_ports import HostPort

AVOIDED = frozenset({AVOIDING_EFFECT})


class PromisedNode(Node, frozen=True):
    """A node as it will be when pods start on it."""

    @property
    def is_being_set_up(self) -> bool:
        """Whether it takes no pods yet: that is over then."""
        return False


class PlannedHost:
    """A host of a plan under some requirements, as rules see it."""

    __slots__ = ("_node", "_requirements", "_spec", "used_ports")

    def __init__(self, spec: HostSpec, requirements: Requirements, used_ports: frozenset[HostPort]) -> None:
        self._spec = spec
        self._requirements = requirements
        self._node: Node | None = None
        self.used_ports = used_ports

    @property
    def node(self) -> Node:
        """The node, with those labels whose values are known."""
        if self._node is None:
            spec = self._spec
            self._node = PromisedNode(
                metadata=ObjectMeta(name=spec.node.name if spec.node is not None else "", labels=self._labels()),
                spec=NodeSpec(taints=spec.taints, unschedulable=spec.is_cordoned),
            )
        return self._node

    def meets(self, term: NodeSelectorTerm) -> bool:
        """Whether the term holds for the node, or can hold for one that is not there yet."""
        node = self._spec.node
        if node is not None:
            return term_matches(term, node.name, node.labels)
        demanded = on_new_nodes(term)
        return demanded is not None and self._requirements.conflict(demanded) is None

    def _labels(self) -> dict[str, str]:
        known = self._requirements.by_key.items()
        return {key: next(iter(one.values)) for key, one in known if one.is_one_value}


def narrowed(spec: HostSpec, requirements: Requirements, variant: Variant) -> Requirements | Refusal:
    """Return what is known of the labels of the host once it meets what the variant demands, or why it cannot."""
    node = spec.node
    if node is not None:
        if variant.matches(node.name, node.labels):
            return requirements
        return host_refusal("NodeAffinityMismatch", "outside of the pod's node selector or affinity")
    if variant.requirements is None:
        return host_refusal("NodeAffinityMismatch", "the pod wants a node by its name, which a new one cannot have")
    wrong = requirements.conflict(variant.requirements)
    if wrong is not None:
        return conflict_refusal(wrong, requirements.of(wrong.key))
    return requirements.narrowed(variant.requirements)


def refused_by_rules(checks: tuple[Check, ...], host: Host) -> Refusal | None:
    """Return what the first of the rules has against the host that has anything."""
    refusal = first_refusal(checks, host)
    return None if refusal is None else as_host_refusal(refusal)


def as_host_refusal(refusal: Refusal) -> Refusal:
    """Return what a rule says of a host of a plan: another node or another supply may lift it, too.

    Pods are "with" a taint on nodes; a NodePool just has one.
    """
    text = refusal.message.removeprefix("with ")
    return msgspec.structs.replace(refusal, message=text, wake=refusal.wake | ANY_CHANGE)


def avoided(spec: HostSpec, pod: Pod) -> Refusal | None:
    """Return the refusal for the first taint that the pod had better not tolerate."""
    taint = next(untolerated(spec.taints, pod, AVOIDED), None)
    return None if taint is None else host_refusal("UntoleratedTaint", taint_text(taint))
