"""The whole story of one pod: what every node says to it, every reason, and which node is the nearest miss."""

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import FoldedReason, Refusal, fold
from dra_scheduling.cluster import Cluster, pod_refusals
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.model.bindrequests import PENDING
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import Nomination, keeper_of
from dra_scheduling.state.assignments import Assignment, Outcome
from dra_simulator.explain.held_devices import HeldDevice, held_by
from dra_simulator.explain.node_rows import NodeGroup, NodeView, folded, view_of
from dra_simulator.explain.single_changes import single_changes
from dra_simulator.launch.host_views import SupplyStory, supply_story

MOST_TRIED = 8
"""Of so many kinds of nodes, the nearest ones, it is found out which single change would help."""
MOST_ALIKE = 4
"""And on so many nodes of a kind: what others hold there may differ, though all of them say the same."""


class NearestMiss(msgspec.Struct, frozen=True, kw_only=True):
    """The node that came closest, and the changes each of which alone would make it take the pod."""

    node: str
    reasons: tuple[FoldedReason, ...]
    changes: tuple[str, ...]


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What stands against a pod as such, and what every node says at the moment when the pod is decided.

    `outcome` is what became of the pod in the end, in words. There is no nearest miss where a node takes the pod.
    `supply` is what nodes to be say, where one could help. `devices` are those of a pod that is bound.
    """

    pod: Pod
    outcome: str = "pending"
    reasons: tuple[FoldedReason, ...] = ()
    nodes: tuple[NodeGroup, ...] = ()
    nearest_miss: NearestMiss | None = None
    supply: SupplyStory | None = None
    devices: tuple[HeldDevice, ...] = ()


class Listener:
    """Listens for one pod while pods are decided; `story` is None until it came."""

    __slots__ = ("pod", "story")

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.story: Story | None = None

    def before(self, cluster: Cluster, pod: Pod) -> None:
        """Note what all nodes say to the pod just before it is decided."""
        if pod.key == self.pod.key:
            self.story = explain(cluster, pod)

    def after(self, outcome: Outcome) -> None:
        """Note how it ended."""
        if self.story is not None and outcome.pod.key == self.pod.key and isinstance(outcome, Assignment):
            self.story = msgspec.structs.replace(self.story, outcome=f"goes to node {outcome.node}")

    def planning(self, cluster: Cluster, pods: Sequence[Pod], now: str) -> None:
        """Note what every instance type says to the pod just before nodes are planned."""
        if self.story is not None and any(pod.key == self.pod.key for pod in pods):
            self.story = msgspec.structs.replace(self.story, supply=supply_story(cluster, self.pod, now))

    def planned(self, nominations: Sequence[Nomination]) -> None:
        """Note which node the pod waits for."""
        own = next((one for one in nominations if one.pod.key == self.pod.key), None)
        if self.story is not None and own is not None:
            waits = f"NodeClaim {own.node_claim}" if own.node_claim else f"pods to leave node {own.node}"
            self.story = msgspec.structs.replace(self.story, outcome=f"waits for {waits}")


def explain_with_supply(cluster: Cluster, pod: Pod, now: str) -> Story:
    """Return the story of a pod as the cluster is at this time (RFC 3339), nodes to be included."""
    story = explain(cluster, pod)
    inventory = cluster.inventory
    is_settled = bool(story.reasons) or any(group.fits for group in story.nodes) or not cluster.is_pending(pod)
    if is_settled or not (inventory.pools or inventory.claims):
        return story
    keeper = keeper_of(cluster, pod)
    outcome = story.outcome if keeper is None else f"waits for NodeClaim {keeper.name}"
    return msgspec.structs.replace(story, outcome=outcome, supply=supply_story(cluster, pod, now))


def explain(cluster: Cluster, pod: Pod) -> Story:
    """Return the story of a pod, as the cluster is now; nothing is changed by asking."""
    if not cluster.is_pending(pod):
        held = held_by(cluster, pod) if pod.spec.node_name and not pod.is_finished else ()
        return Story(pod=pod, outcome=_standing(cluster, pod), devices=held)
    shape = shape_of(cluster, pod)
    if isinstance(shape, Refusal):
        return Story(pod=pod, reasons=fold([shape]))
    groups = folded(_views(cluster, shape))
    return Story(pod=pod, nodes=groups, nearest_miss=_nearest_miss(cluster, shape, groups))


def _views(cluster: Cluster, shape: PodClass) -> Iterator[NodeView]:
    """Yield what each node says, with as many search steps as scheduling the pod has."""
    budget = SearchBudget()
    for _, state in sorted(cluster.nodes.items()):
        view = view_of(cluster, shape, state, budget)
        budget = budget.after(view.steps)
        yield view


def shape_of(cluster: Cluster, pod: Pod) -> PodClass | Refusal:
    """Return what the pod needs of nodes, or why none is asked."""
    resolved = pod_refusals.usable_claims(cluster, pod)
    shape = resolved if isinstance(resolved, Refusal) else pod_refusals.shape_of(cluster, pod, resolved)
    # Answers are kept in a shape of their own: what is only explained must not save scheduling a search, nor its steps.
    return shape if isinstance(shape, Refusal) else shape.apart()


def _standing(cluster: Cluster, pod: Pod) -> str:
    if pod.is_finished:
        return f"has finished ({pod.status.phase})"
    if pod.spec.node_name:
        return f"is bound to node {pod.spec.node_name}"
    if pod.metadata.is_deleting:
        return "is being deleted"
    if pod.spec.scheduler_name != cluster.scheduler_name:
        return f"is left to its scheduler {pod.spec.scheduler_name}"
    waits = [request.status.reason for request in cluster.placements.living(pod) if request.phase == PENDING]
    return ": ".join(["has a BindRequest that is being carried out", *waits[:1]])


def _nearest_miss(cluster: Cluster, shape: PodClass, groups: tuple[NodeGroup, ...]) -> NearestMiss | None:
    """Return the nearest node that a single change would help, else the nearest of all."""
    if not groups or groups[0].fits:
        return None
    views = (view for group in groups[:MOST_TRIED] for view in islice(_alike(group), MOST_ALIKE))
    tried = ((view, single_changes(cluster, shape, view)) for view in views)
    helped = ((view, changes) for view, changes in tried if changes)
    view, changes = next(helped, (groups[0].view, ()))
    return NearestMiss(node=view.node, reasons=fold(view.refusals), changes=changes)


def _alike(group: NodeGroup) -> Iterator[NodeView]:
    yield group.view
    others = (name for name in group.names if name != group.view.node)
    yield from (msgspec.structs.replace(group.view, node=name) for name in others)
