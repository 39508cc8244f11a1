"""What a rule is: one reason to keep pods off hosts, asked in the same way wherever pods and hosts meet.

A rule is asked in two steps, as a plugin of kube-scheduler is. `prepare` (PreFilter) reads the pod once for its whole
class and returns what `filter` needs, or None where the rule has nothing to ask of any host: then it costs nothing.
`filter` (Filter) looks at one host. What may be skipped follows from these answers, and from nothing else.

A rule that looks across nodes keeps an index of the pods that have a place, and answers in domains: groups of nodes by
the value of a label (`DomainRule`).
"""

from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.domains import Domains
from dra_scheduling.state.host_ports import HostPort
from dra_scheduling.state.pod_indexes import PodIndex

Prepared = TypeVar("Prepared")
"""What a rule found out once for a class of pods."""


class Wanted(Protocol):
    """What rules read of a class of pods: one pod of it, and what was found out for all of them."""

    @property
    def pod(self) -> Pod:
        """One of the pods; what it shares with the others is what the signatures of the rules say."""

    @property
    def resolved(self) -> ResolvedClaims:
        """The claims of the pod."""

    @property
    def ports(self) -> tuple[HostPort, ...]:
        """The host ports that the pod takes."""


class Host(Protocol):
    """What rules read of a place for pods: a node, one that is being set up, or one that is only planned."""

    @property
    def node(self) -> Node:
        """The node with the labels that are known; those of a node that is not there yet may become more."""

    @property
    def used_ports(self) -> frozenset[HostPort]:
        """The host ports that are taken."""

    def meets(self, term: NodeSelectorTerm) -> bool:
        """Whether the term holds for the host; for one whose labels are open, whether it still can."""


class RuleView(Protocol):
    """What rules that look across nodes read of the cluster."""

    def index_of(self, rule: "Rule[Any]") -> PodIndex | None:
        """Return what the rule keeps of the pods that have a place in this cluster: what its `index` returned."""

    def domains(self, key: str, missing: Refusal | None = None) -> Domains:
        """Return new domains, of the nodes with each value of a label; `missing` is held against nodes without it."""


class Rule(Generic[Prepared]):
    """One rule, named as the plugin of kube-scheduler that it stands for."""

    name: ClassVar[str]
    """What kube-scheduler calls its plugin, or the part of it."""
    minds_plain_hosts: ClassVar[bool] = True
    """Whether it may refuse a host that is ready, not cordoned and has no taint."""

    monotone: ClassVar[bool] = True
    """Whether a pod more never makes it take a host that it refused: then a plan need not ask such a host again."""

    is_of_instance_type: ClassVar[bool] = False
    """Whether its answer differs by instance type: a host that may become many asks for all of them at once."""

    def signature(self, pod: Pod) -> object:
        """Return all of the pod that the rule reads, as can be written as JSON: pods with the same are one class."""
        raise NotImplementedError

    def index(self, view: RuleView) -> PodIndex | None:  # noqa: ARG002 - most rules look at one node
        """Return what is to be told of each pod that takes or leaves a place in the cluster, None where nothing is."""
        return None

    def prepare(self, wanted: Wanted, view: RuleView) -> Prepared | None:
        """Return what such pods ask of hosts, None for nothing, whatever pods come and go."""
        raise NotImplementedError

    def domains(self, prepared: Prepared) -> Domains | None:  # noqa: ARG002 - most rules look at one node
        """Return the groups of nodes that the answer goes by, None where it goes by the node itself."""
        return None

    def filter(self, prepared: Prepared, host: Host) -> Refusal | None:
        """Return why the host does not take such pods."""
        raise NotImplementedError

    def narrow(self, prepared: Prepared) -> tuple[NodeSelectorTerm, ...]:  # noqa: ARG002 - most rules ask no labels
        """Return terms of which a node to be must meet one to pass the rule; none where labels do not decide."""
        return ()


class DomainRule(Rule[Domains]):
    """A rule about groups of nodes; what it prepares for a class are the `Domains` that its index keeps up to date."""

    monotone: ClassVar[bool] = False

    def domains(self, prepared: Domains) -> Domains:
        """Return what is closed to the class."""
        return prepared

    def filter(self, prepared: Domains, host: Host) -> Refusal | None:
        """Return what is held against the group that the host is in."""
        return prepared.refusal(host.node.metadata.labels)

    def preference(self, prepared: Domains, value: str) -> int:  # noqa: ARG002 - most rules take any that is open
        """Return what orders the open values for a node that may still have any of them, the smallest first."""
        return 0


class Check(NamedTuple):
    """A rule that has something to ask for a class of pods, with what it prepared for them."""

    rule: Rule[Any]
    prepared: Any

    def refusal(self, host: Host) -> Refusal | None:
        """Return why the host does not take the pods."""
        return self.rule.filter(self.prepared, host)

    @property
    def domains(self) -> Domains | None:
        """The groups of nodes that the answer goes by, None where it goes by the node itself."""
        return self.rule.domains(self.prepared)

    def terms(self) -> tuple[NodeSelectorTerm, ...]:
        """Return terms of which a node to be must meet one; none where labels do not decide."""
        return self.rule.narrow(self.prepared)


def refused(reason: str, message: str) -> Refusal:
    """Return the refusal of a rule that only a change of the node lifts."""
    return Refusal(reason=reason, message=message, wake=ClusterEvent.NODE)
