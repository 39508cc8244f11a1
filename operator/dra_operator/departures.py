"""Nodes that pods begin to leave: room and devices there are about to be free, and pods may wait for them instead."""

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.pods import Pod

LOOK_SECONDS = 5.0
"""Where pods leave one after the other, those who wait are looked through so often."""


class Departures:
    """What is about to be free, by node, and when to look who could use it."""

    __slots__ = ("_last", "_leaving")

    def __init__(self) -> None:
        self._leaving: dict[str, ClusterEvent] = {}
        self._last = 0.0

    def begun(self, pod: Pod) -> None:
        """Take note that a pod on a node is being deleted from now on."""
        node, has_devices = pod.spec.node_name, pod.spec.resource_claims or pod.status.extended_resource_claim_status
        change = ClusterEvent.ROOM | (ClusterEvent.DEVICES if has_devices else ClusterEvent.NOTHING)
        self._leaving[node] = self._leaving.get(node, ClusterEvent.NOTHING) | change

    def next_time(self) -> float | None:
        """Return when to look; None while nothing begins to leave."""
        return self._last + LOOK_SECONDS if self._leaving else None

    def take(self, now: float) -> dict[str, ClusterEvent]:
        """Return what changes where, if it is time to look, each once."""
        when = self.next_time()
        if when is None or when > now:
            return {}
        self._last = now
        taken, self._leaving = self._leaving, {}
        return taken


def begins_to_leave(before: Pod | None, pod: Pod) -> bool:
    """Whether a pod on a node is being deleted and was not before."""
    return bool(pod.spec.node_name) and pod.metadata.is_deleting and not (before and before.metadata.is_deleting)
