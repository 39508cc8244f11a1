"""The whole story of one pod: what every node says to it, every reason, and which node is the nearest miss."""

import msgspec

from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.outcomes import Allocated
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.nodestate import NodeState
from dra_scheduling.model.outcomes import Assignment, Outcome
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodefit.ports import port_refusal
from dra_scheduling.nodefit.room import room_refusals
from dra_scheduling.nodefit.static import static_refusal
from dra_scheduling.nodefit.wholepod import gate_refusal, unsupported_refusal
from dra_scheduling.podclaims import admin_refusal, leftover_refusal, reach_refusal, resolve
from dra_scheduling.reasons import FoldedReason, Refusal, fold
from dra_scheduling.shapes.shape import Shape


class NodeStory(msgspec.Struct, frozen=True):
    """What one node says; without reasons the node takes the pod."""

    node: str
    reasons: tuple[FoldedReason, ...]


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What stands against a pod as such, and what every node says at the moment when the pod is decided.

    `outcome` is what became of the pod in the end, in words.
    """

    pod: Pod
    outcome: str = "pending"
    reasons: tuple[FoldedReason, ...] = ()
    nodes: tuple[NodeStory, ...] = ()

    @property
    def nearest_miss(self) -> NodeStory | None:
        """The node with the fewest reasons against the pod; None where a node takes it or none was asked."""
        nearest = min(self.nodes, key=lambda said: len(said.reasons), default=None)
        return nearest if nearest is not None and nearest.reasons else None


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


def explain(cluster: Cluster, pod: Pod) -> Story:
    """Return the story of a pod, as the cluster is now; nothing is changed by asking."""
    if not cluster.is_pending(pod):
        return Story(pod=pod, outcome=_standing(cluster, pod))
    shape = shape_of(cluster, pod)
    if isinstance(shape, Refusal):
        return Story(pod=pod, reasons=fold([shape]))
    nodes = (NodeStory(name, fold(_refusals(cluster, shape, state))) for name, state in sorted(cluster.nodes.items()))
    return Story(pod=pod, nodes=tuple(nodes))


def shape_of(cluster: Cluster, pod: Pod) -> Shape | Refusal:
    """Return what the pod needs of nodes, or why none is asked."""
    claims = cluster.claims
    refusal = gate_refusal(pod) or leftover_refusal(pod, claims.special_claims_of(pod))
    if refusal is not None:
        return refusal
    resolved = resolve(pod, claims.get, claims.intended_allocation, claims.intended_consumers)
    if isinstance(resolved, Refusal):
        return resolved
    refusal = unsupported_refusal(pod) or admin_refusal(resolved, cluster.namespaces.get(pod.metadata.namespace))
    return refusal or cluster.shapes.shape_of(pod, resolved, cluster.classes)


def _standing(cluster: Cluster, pod: Pod) -> str:
    if pod.is_finished:
        return f"has finished ({pod.status.phase})"
    if pod.spec.node_name:
        return f"is bound to node {pod.spec.node_name}"
    if pod.metadata.is_deleting:
        return "is being deleted"
    if pod.spec.scheduler_name != cluster.scheduler_name:
        return f"is left to its scheduler {pod.spec.scheduler_name}"
    return "has a BindRequest that is being carried out"


def _refusals(cluster: Cluster, shape: Shape, state: NodeState) -> list[Refusal]:
    """Return everything that the node has against the pod, where scheduling stops at the first thing."""
    node = state.node
    found = [
        static_refusal(shape.pod, node),
        reach_refusal(shape.resolved, node.name, node.metadata.labels),
        port_refusal(shape.ports, state.used_ports),
    ]
    need = shape.need_on(state.offered, cluster.classes)
    if isinstance(need, Refusal):
        found.append(need)
    else:
        found += room_refusals(need.node, state.free, state.allocatable)
        claims = need.query.claims if need.query is not None else ()
        result = allocate(claims, state.place, cluster.pools, cluster.ledger) if claims else None
        if result is not None and not isinstance(result, Allocated):
            found.append(result.refusal)
    return [refusal for refusal in found if refusal is not None]
