"""Host ports: two pods of a node cannot listen on the same one."""

from collections.abc import Collection
from itertools import chain
from typing import NamedTuple

from dra_scheduling.basics.pod_requests import is_sidecar
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import ContainerPort, Pod

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's wildcard, nothing is bound here
DEFAULT_PROTOCOL = "TCP"


class HostPort(NamedTuple):
    """A port of a node, on one of its addresses or on all (`0.0.0.0`)."""

    ip: str
    protocol: str
    port: int

    def clashes(self, other: "HostPort") -> bool:
        """Whether both cannot be used at the same time."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.ip == other.ip or ANY_ADDRESS in {self.ip, other.ip})
        )

    def __str__(self) -> str:
        where = "" if self.ip == ANY_ADDRESS else f"{self.ip}:"
        return f"{where}{self.port}/{self.protocol}"


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports that the pod holds while it runs; init containers other than sidecars hold none.

    With `hostNetwork` every container port is one, as the server defaults it.
    """
    sidecars = filter(is_sidecar, pod.spec.init_containers)
    ports = (port for container in chain(pod.spec.containers, sidecars) for port in container.ports)
    numbered = ((_number(port, pod), port) for port in ports)
    return tuple(
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or DEFAULT_PROTOCOL, number)
        for number, port in numbered
        if number
    )


def port_refusal(wanted: Collection[HostPort], taken: Collection[HostPort]) -> Refusal | None:
    """Return the refusal for the first wanted port that somebody on the node has."""
    for port in wanted:
        if any(port.clashes(other) for other in taken):
            return Refusal(
                reason="HostPortTaken",
                message=f"without free host port {port}",
                wake=ClusterEvent.ROOM | ClusterEvent.NODE,
            )
    return None


def daemon_port_refusal(port: HostPort, daemon: ObjectKey) -> Refusal:
    """Return the refusal for a port that a DaemonSet has on every such node to come."""
    return Refusal(
        reason="HostPortTaken",
        message=f"host port {port} is taken by DaemonSet {daemon}",
        wake=ClusterEvent.SUPPLY | ClusterEvent.NODE,
    )


def _number(port: ContainerPort, pod: Pod) -> int:
    return port.host_port or (port.container_port if pod.spec.host_network else 0)
