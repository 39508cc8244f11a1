"""Host ports: what somebody on the node listens on already."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.host_ports import HostPort, host_ports, port_refusal


class NodePorts(Rule[tuple[HostPort, ...]]):
    """Keeps pods off hosts where another pod has one of their host ports."""

    name: ClassVar[str] = "NodePorts"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return host_ports(pod)

    def prepare(self, wanted: Wanted, _: RuleView) -> tuple[HostPort, ...] | None:
        """Return the ports that the pods take, None where they take none."""
        return wanted.ports or None

    def filter(self, prepared: tuple[HostPort, ...], host: Host) -> Refusal | None:
        """Return the refusal for the first port that is taken."""
        return port_refusal(prepared, host.used_ports)
