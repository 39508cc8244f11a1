"""What is found out once about a cluster for many questions of what would be if nodes went away.

The cluster must not change while this is in use.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.cluster import Cluster
from dra_scheduling.devices.indexed_slice import Reach
from dra_scheduling.disruption.held_devices import held_nodes
from dra_scheduling.disruption.prices import Prices
from dra_scheduling.fit.evaluate import ClaimDevices, Evaluator
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims.termination import is_drained_from
from dra_scheduling.provisioning.nodepool_limits import Limits
from dra_scheduling.provisioning.pending_changes import PendingChanges, replanned
from dra_scheduling.template_devices import Replanning


class DisruptionView:
    """Who is on each node, who uses each claim, and which nodes take pods of a shape."""

    __slots__ = ("_claims", "_held", "_orders", "_pods", "_ready", "cluster", "limits", "prices", "situation")

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.situation = PendingChanges.of(cluster)
        self.limits = Limits(cluster)
        self.prices = Prices(cluster.inventory)
        self._held = held_nodes(cluster)
        self._pods = {pod.metadata.uid: pod for pod in cluster.placements.pods.values()}
        self._claims: dict[str, list[ResourceClaim]] = {}
        for claim in cluster.claims.values():
            for user in claim.status.reserved_for:
                self._claims.setdefault(user.uid, []).append(claim)
        self._orders: dict[int, tuple[PodClass, tuple[str, ...]]] = {}
        states = cluster.nodes.items()
        self._ready = frozenset(name for name, state in states if not state.node.is_being_set_up)

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        """Return the pods that take room on a node, those that are just being bound to it included."""
        state = self.cluster.nodes.get(node)
        found = (self._pods.get(uid) for uid in state.charges) if state is not None else ()
        return tuple(sorted((pod for pod in found if pod is not None), key=lambda pod: pod.rank))

    def held_by_others(self, node: str) -> str:
        """Return in words what devices of the node are in use elsewhere than on it, empty if none are."""
        return self._held.get(node, "")

    def moving_from(self, node: str) -> tuple[Pod, ...]:
        """Return the pods that need another node once this one goes."""
        return tuple(pod for pod in self.pods_on(node) if is_moved(pod))

    def without(self, nodes: frozenset[str], moved: Iterable[Pod]) -> PendingChanges:
        """Return how a plan sees the cluster if these nodes go and these pods are placed anew."""
        now = self.situation
        uids = frozenset(pod.metadata.uid for pod in moved)
        going = now.going | uids
        concerned = {claim.key: claim for uid in uids for claim in self._claims.get(uid, ())}
        added = replanned(self.cluster, going, concerned.values())
        replanning = Replanning(going, now.replanning.holders | added.holders)
        return replace(
            now,
            going=going,
            closed=now.closed | nodes,
            ready=(now.ready or self._ready) - nodes,
            replanning=replanning,
            in_flight=tuple(claim for claim in now.in_flight if claim.status.node_name not in nodes),
        )

    def order_of(self, shape: PodClass, budget: SearchBudget) -> tuple[str, ...]:
        """Return the initialized nodes that take pods of the shape as things stand, the best first."""
        known = self._orders.get(id(shape))
        if known is None:
            known = self._orders[id(shape)] = (shape, self._ranked(shape, budget))
        return known[1]

    def loosened(self, pods: Iterable[Pod], replanning: Replanning) -> Reach:
        """Return the nodes that may reach devices which the pods would leave behind."""
        reach = Reach()
        for pod in pods:
            for claim in self._claims.get(pod.metadata.uid, ()):
                allocation = claim.status.allocation
                if allocation is not None and replanning.concerns(claim):
                    for result in allocation.devices.results:
                        reach |= self.cluster.pools.reach_of_device(result.device_id)
        return reach

    def reached(self, reach: Reach, besides: Iterable[str]) -> Sequence[str]:
        """Return the initialized nodes among those that something concerns, by name, without some."""
        names = self._ready if reach.is_everywhere else reach.nodes & self._ready
        return sorted(names.difference(besides))

    def _ranked(self, shape: PodClass, budget: SearchBudget) -> tuple[str, ...]:
        cluster = self.cluster
        devices = ClaimDevices(cluster.pools, cluster.ledger, cluster.classes)
        judge = Evaluator(shape, cluster.nodes, devices, budget, cluster.changes)
        shape.ranking.refresh(cluster.nodes, cluster.changes, judge.look)
        return tuple(shape.ranking.in_order(cluster.changes, judge.look))


def is_moved(pod: Pod) -> bool:
    """Whether the pod has to be somewhere else once its node goes: not if it belongs to the node, or has ended."""
    return is_drained_from(pod) and not pod.metadata.is_deleting
