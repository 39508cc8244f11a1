"""What a rule is: one reason to keep pods off hosts, asked in the same way wherever pods and hosts meet."""

from typing import ClassVar, Protocol

from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.host_ports import HostPort


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
    """What rules read of a place for pods."""

    @property
    def node(self) -> Node:
        """What the node says of itself."""

    @property
    def used_ports(self) -> frozenset[HostPort]:
        """The host ports that are taken."""

    def meets(self, term: NodeSelectorTerm) -> bool:
        """Whether the term holds for the host; for one whose labels are open, whether it still can."""


class Rule(Protocol):
    """One rule, named as the plugin of kube-scheduler that it stands for."""

    name: ClassVar[str]
    """What kube-scheduler calls its plugin, or the part of it."""

    def signature(self, pod: Pod) -> object:
        """Return all of the pod that the rule reads, as can be written as JSON: pods with the same are one class."""

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a host that has no taint and is ready: otherwise none of these is asked."""

    def demands(self, pod: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return terms of which a node to be must meet one to pass the rule; none where labels do not decide."""

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return why the host does not take such pods."""


def refused(reason: str, message: str) -> Refusal:
    """Return the refusal of a rule that only a change of the node lifts."""
    return Refusal(reason=reason, message=message, wake=ClusterEvent.NODE)
