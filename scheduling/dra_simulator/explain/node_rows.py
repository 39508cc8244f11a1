"""What one node says to a pod: everything that it has against it, where scheduling stops at the first thing."""

from collections.abc import Hashable, Iterable, Iterator
from enum import StrEnum

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Chosen
from dra_scheduling.allocation.allocator import survey
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, Refusal, fold
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.evaluate import ClaimDevices, Evaluator
from dra_scheduling.fit.node_resources_fit import room_refusals
from dra_scheduling.fit.pod_class import ExtendedNeed, PodClass
from dra_scheduling.fit.ranking import Fit
from dra_scheduling.fit.rules import refusals
from dra_scheduling.state.node_state import NodeState
from dra_simulator.explain.request_counts import RequestCount, counts_of, missing_of, progress_of

PASSING = ClusterEvent.ROOM | ClusterEvent.DEVICES


class ResourceServer(StrEnum):
    """Who serves an extended resource on a node."""

    NODE = "node"
    DRA = "DRA"
    NOBODY = "nobody"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An extended resource of the pod, and who serves it on a node: the node itself by device plugin, or a class.

    `free` is what the node has left, 0 where DRA serves: that is told by the request.
    """

    resource: str
    wanted: int
    server: ResourceServer
    device_class: str = ""
    free: int = 0


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """What stands against the pod on a node: of the node itself (`obstacles`) and of its devices (`shortage`).

    `steps` is what it took to find out.
    """

    node: str
    obstacles: tuple[Refusal, ...]
    shortage: Refusal | None = None
    served: tuple[Served, ...] = ()
    requests: tuple[RequestCount, ...] = ()
    steps: int = 0

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """All of it."""
        return self.obstacles if self.shortage is None else (*self.obstacles, self.shortage)

    @property
    def look(self) -> Hashable:
        """What makes two nodes look the same: figures about room, which differ everywhere, are left out."""
        return (
            tuple((refusal.reason, refusal.message) for refusal in self.refusals),
            self.requests,
            tuple((each.resource, each.server, each.device_class) for each in self.served),
        )

    @property
    def distance(self) -> tuple[int, int, int, int, int]:
        """How far the node is from taking the pod: its reasons, the lasting ones among them, missing devices, the rest.

        A device or room may become free any time; a label or a taint is there on purpose. Of two nodes without a device
        for it, that one is nearer whose devices pass more of the selectors.
        """
        lasting = sum(not refusal.wake & PASSING for refusal in self.refusals)
        found = sum(refusal.found or 0 for refusal in self.refusals)
        return len(self.refusals), lasting, missing_of(self.requests), -progress_of(self.requests), -found


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that look the same to the pod, by name, and what the nearest of them says."""

    names: tuple[str, ...]
    view: NodeView

    @property
    def fits(self) -> bool:
        """Whether they take the pod."""
        return not self.view.refusals

    @property
    def reasons(self) -> tuple[FoldedReason, ...]:
        """What they have against it, with the figures of the nearest."""
        return tuple(msgspec.structs.replace(reason, nodes=len(self.names)) for reason in fold(self.view.refusals))


def view_of(cluster: Cluster, shape: PodClass, state: NodeState, budget: SearchBudget) -> NodeView:
    """Return what the node says; `budget` is what is left of the steps for the whole pod."""
    node = state.node
    found = list(refusals(shape.checks, state))
    need = shape.need_on(state.offered, cluster.classes)
    served = tuple(_served(cluster, shape, state))
    if isinstance(need, Refusal):
        return NodeView(node=node.name, obstacles=(*found, need), served=served)
    obstacles = (*found, *room_refusals(need.node, state.free, state.allocatable))
    shortage, steps = _shortage(cluster, need, state, budget)
    if not obstacles and shortage is None:
        # What is left is the room that the devices themselves take.
        devices = ClaimDevices(cluster.pools, cluster.ledger, cluster.classes)
        verdict = Evaluator(shape, cluster.nodes, devices, budget).ask(state)
        shortage = None if isinstance(verdict, Fit) else verdict.refusal
    requests: tuple[RequestCount, ...] = ()
    if need.query is not None:
        requests = counts_of(
            need.query, SearchSpace(cluster.pools.on_node(state.place), cluster.ledger), cluster.ledger
        )
    return NodeView(
        node=node.name, obstacles=obstacles, shortage=shortage, served=served, requests=requests, steps=steps
    )


def folded(views: Iterable[NodeView]) -> tuple[NodeGroup, ...]:
    """Return the views with those that look the same as one, the nearest first."""
    alike: dict[Hashable, list[NodeView]] = {}
    for view in views:
        alike.setdefault(view.look, []).append(view)
    groups = [
        NodeGroup(
            names=tuple(sorted(view.node for view in same)), view=min(same, key=lambda view: (view.distance, view.node))
        )
        for same in alike.values()
    ]
    return tuple(sorted(groups, key=lambda group: (group.view.distance, group.view.node)))


def _shortage(
    cluster: Cluster, need: ExtendedNeed, state: NodeState, budget: SearchBudget
) -> tuple[Refusal | None, int]:
    """Return what the devices lack, and the steps that it took to know."""
    if need.query is None:
        return None, 0
    answer = survey(need.query, state.place, cluster.pools, cluster.ledger, budget.share)
    return (None if isinstance(answer, Chosen) else answer.refusal), answer.steps


def _served(cluster: Cluster, shape: PodClass, state: NodeState) -> Iterator[Served]:
    for name in sorted(shape.extended):
        wanted, item = shape.requests.get(name), cluster.classes.serving(name)
        if name in state.offered:
            yield Served(resource=name, wanted=wanted, server=ResourceServer.NODE, free=state.free[name])
        elif item is not None:
            yield Served(resource=name, wanted=wanted, server=ResourceServer.DRA, device_class=item.metadata.name)
        else:
            yield Served(resource=name, wanted=wanted, server=ResourceServer.NOBODY)
