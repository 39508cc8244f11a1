"""What is about to change by itself while a plan is made: pods that go, nodes that go, NodeClaims that come up."""

from collections.abc import Iterable, Iterator

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory import nominees_of
from dra_scheduling.inventory.replacements import is_replacement, is_to_go
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.in_flight_nodeclaims import in_flight
from dra_scheduling.template_devices import Replanning


class PendingChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan is to see the cluster.

    `emptying` are nodes that pods are about to leave. No node in `closed` takes a pod any more. `ready` are the nodes
    whose published devices count, None if they all do. `replanning` says whose devices are free because the pods
    `going` end or are planned anew. `in_flight` are the NodeClaims to come, in the order in which they are asked.
    """

    going: frozenset[str] = frozenset()
    emptying: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    ready: frozenset[str] | None = None
    replanning: Replanning = Replanning()
    in_flight: tuple[NodeClaim, ...] = ()

    @classmethod
    def of(cls, cluster: Cluster, overdue: str = "") -> "PendingChanges":
        """Return how things stand. Pods that should have been gone before `overdue` (RFC 3339) stay."""
        flying = in_flight(cluster)
        leaving = [pod for pod in cluster.placements.pods.values() if _is_going(pod, overdue)]
        closed = frozenset(_leaving_nodes(cluster))
        going = frozenset(pod.metadata.uid for pod in (*leaving, *_moving(cluster, flying, closed)))
        nodes = cluster.nodes
        is_settling = any(state.node.is_being_set_up for state in nodes.values())
        ready = (name for name, state in nodes.items() if not state.node.is_being_set_up)
        return cls(
            going=going,
            emptying=frozenset(pod.spec.node_name for pod in leaving),
            closed=closed,
            ready=frozenset(ready) if is_settling else None,
            replanning=replanned(cluster, going, cluster.claims.values() if going else ()),
            in_flight=flying,
        )


def replanned(cluster: Cluster, going: frozenset[str], claims: Iterable[ResourceClaim]) -> Replanning:
    """Return which of these claims get devices anew. One that another pod is just being bound with is in use."""
    return Replanning.of(going, (claim for claim in claims if cluster.claims.intended_consumers(claim.key) <= going))


def _moving(cluster: Cluster, flying: Iterable[NodeClaim], closed: frozenset[str]) -> Iterator[Pod]:
    """Yield the pods whose nodes are to be replaced by one of these NodeClaims."""
    for claim in flying:
        if is_replacement(claim):
            for nominee in nominees_of(claim):
                pod = cluster.pod(nominee.key)
                if pod is not None and pod.metadata.uid == nominee.uid and pod.spec.node_name in closed:
                    yield pod


def _is_going(pod: Pod, overdue: str) -> bool:
    when = pod.metadata.deletion_timestamp
    return bool(when and pod.spec.node_name) and when >= overdue


def _leaving_nodes(cluster: Cluster) -> Iterator[str]:
    for claim in cluster.inventory.claims.values():
        if claim.status.node_name and is_to_go(claim):
            yield claim.status.node_name
