"""What can be said for or against a node that takes the pod: one function a term, which a profile puts in order.

Terms for `tiers` are small where a node suits better; those for `weights` are as kube-scheduler's plugins have them: 0
to 100, or a count that is brought to that over all nodes that take the pod.
"""

from collections.abc import Callable
from typing import NamedTuple

from dra_scheduling.allocation.allocation_outcomes import Chosen
from dra_scheduling.basics.resources import Resources
from dra_scheduling.devices import PoolIndex
from dra_scheduling.fit.preferences import avoided_taints, preferred_weight
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.node_state import NodeState

PACKED_RESOURCES = ("cpu", "memory")
FULL = 1000
MOST = 100
"""The best score of a plugin of kube-scheduler."""
NOTHING = frozenset[str]()


class FeasibleNode(NamedTuple):
    """A node that takes the pod: what the pod needs of the node itself, and which devices it would get.

    `extended` are its extended resources, served by the node's device plugins or by DRA.
    """

    pod: Pod
    state: NodeState
    need: Resources
    chosen: Chosen | None
    pools: PoolIndex
    extended: frozenset[str] = NOTHING
    asks_for_devices: bool = False
    has_preferences: bool = False


Term = Callable[[FeasibleNode], int]


def has_devices(state: NodeState, pools: PoolIndex) -> bool:
    """Whether the node has devices of its own; what many nodes reach over a network makes none of them special."""
    return state.offers_devices or any(pool.pinned for pool in pools.on_node(state.place))


def device_nodes_left_alone(node: FeasibleNode) -> int:
    """Return 1 where a pod without devices would take a node that has some, else 0."""
    return 0 if node.asks_for_devices or not has_devices(node.state, node.pools) else 1


def avoided_taint_count(node: FeasibleNode) -> int:
    """Return how many `PreferNoSchedule` taints of the node the pod does not tolerate."""
    return avoided_taints(node.pod, node.state.node) if node.state.is_guarded else 0


def affinity_weight(node: FeasibleNode) -> int:
    """Return the sum of the weights of preferred node affinity that the node matches."""
    return preferred_weight(node.pod, node.state.node) if node.has_preferences else 0


def affinity_missed(node: FeasibleNode) -> int:
    """Return minus the sum of the weights of preferred node affinity that the node matches."""
    return -affinity_weight(node)


def alternatives_worth(node: FeasibleNode) -> int:
    """Return what the alternatives of `firstAvailable` are worth that the pod would get; the earlier, the more."""
    return node.chosen.score if node.chosen is not None else 0


def later_alternatives(node: FeasibleNode) -> int:
    """Return minus what the alternatives of `firstAvailable` are worth that the pod would get."""
    return -alternatives_worth(node)


def devices_left_free(node: FeasibleNode) -> int:
    """Return how many devices that match the pod's requests stay free, of DRA and of device plugins."""
    left = node.chosen.free_left if node.chosen is not None else 0
    if not node.extended:
        return left
    return left + sum(node.state.free[name] - node.need.get(name) for name in node.extended & node.state.offered)


def room_left_free(node: FeasibleNode) -> int:
    """Return the shares of cpu and memory that stay free, together, in thousandths."""
    allocatable, free, amounts = node.state.allocatable, node.state.free, node.need.amounts
    share = 0
    for name in PACKED_RESOURCES:
        if name in allocatable:
            share += (free[name] - amounts.get(name, 0)) * FULL // allocatable[name]
    return share


def least_allocated(node: FeasibleNode) -> int:
    """Return how much of cpu and memory stays free on the average, 0 to 100 (NodeResourcesFit, LeastAllocated)."""
    scores = [
        max(node.state.free[name] - node.need.get(name), 0) * MOST // node.state.allocatable[name]
        for name in PACKED_RESOURCES
        if name in node.state.allocatable
    ]
    return sum(scores) // len(scores) if scores else 0


def balanced_allocation(node: FeasibleNode) -> int:
    """Return how evenly cpu and memory are used, and whether the pod makes it better: 0 to 100, where 75 is no change.

    As NodeResourcesBalancedAllocation has it; a pod that requests neither makes no difference, and counts 0.
    """
    if not any(node.need.get(name) for name in PACKED_RESOURCES):
        return 0
    change = _evenness(node.state, node.need) - _evenness(node.state, Resources({}))
    return MOST // 2 + (MOST // 2 + change) // 2


def _evenness(state: NodeState, need: Resources) -> int:
    """Return 100 where the same shares of cpu and memory are used, less by half the difference of the shares."""
    shares = [
        min((state.allocatable[name] - state.free[name] + need.get(name)) / state.allocatable[name], 1.0)
        for name in PACKED_RESOURCES
        if name in state.allocatable
    ]
    return int((1 - (max(shares) - min(shares)) / 2) * MOST) if shares else MOST
