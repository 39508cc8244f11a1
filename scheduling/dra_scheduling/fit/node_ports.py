"""Host ports: what somebody on the node listens on already."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.host_ports import host_ports, port_refusal


class NodePorts:
    """Keeps pods off hosts where another pod has one of their host ports."""

    name: ClassVar[str] = "NodePorts"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return host_ports(pod)

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return bool(wanted.ports)

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: a new node has all its ports."""
        return ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal for the first port that is taken."""
        return port_refusal(wanted.ports, host.used_ports) if wanted.ports else None
