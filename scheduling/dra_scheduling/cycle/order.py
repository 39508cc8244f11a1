"""The order in which pending pods are decided. It exists once: queue and cycle sort by the same tuple."""

from collections.abc import Iterable

from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory import place_in
from dra_scheduling.model.pods import Pod, Turn


def turn_of(pod: Pod, place: int | None) -> Turn:
    """Return the pod's sort key. `place` is its position in the plan of a node that was made for it, None without one.

    Of one priority those come first for which a node was made, in the order of their plan: in another order one pod
    might take the device that only serves the next, and other pods would take the room that the node was made for.
    """
    return (-pod.spec.priority, place is None, place or 0, pod.rank)


def in_turn(cluster: Cluster, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods in the order in which they are decided, as the cluster is now."""

    def turn(pod: Pod) -> Turn:
        return turn_of(pod, next((place_in(claim, pod) for claim, _ in cluster.nodes_made_for(pod)), None))

    return sorted(pods, key=turn)
