"""Nodes that pods begin to leave: room and devices there are about to be free, and pods may wait for them instead."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.base import Value
from dra_scheduling.model.pods import Pod

CHECK_SECONDS = 5.0
"""Where pods leave one after the other, waiting pods are checked so often."""


class TerminatingState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot."""

    changes: dict[str, ClusterEvent] = msgspec.field(default_factory=dict)
    checked: float = 0.0


class TerminatingPods:
    """What is about to be free, by node, and when to check who could use it."""

    __slots__ = ("_changes", "_checked")

    def __init__(self, state: TerminatingState = TerminatingState()) -> None:  # noqa: B008  it is frozen
        self._changes = dict(state.changes)
        self._checked = state.checked

    @property
    def state(self) -> TerminatingState:
        """The state from which another one can be made."""
        return TerminatingState(changes=dict(self._changes), checked=self._checked)

    def add(self, pod: Pod) -> None:
        """Take note that a pod on a node is being deleted from now on."""
        node, has_devices = pod.spec.node_name, pod.spec.resource_claims or pod.status.extended_resource_claim_status
        change = ClusterEvent.ROOM | (ClusterEvent.DEVICES if has_devices else ClusterEvent.NOTHING)
        self._changes[node] = self._changes.get(node, ClusterEvent.NOTHING) | change

    def next_time(self) -> float | None:
        """Return when to check; None while no pod begins to leave."""
        return self._checked + CHECK_SECONDS if self._changes else None

    def take(self, now: float) -> dict[str, ClusterEvent]:
        """Return what changes on which node, if it is time to check, each once."""
        when = self.next_time()
        if when is None or when > now:
            return {}
        self._checked = now
        taken, self._changes = self._changes, {}
        return taken


def begins_to_terminate(before: Pod | None, pod: Pod) -> bool:
    """Whether a pod on a node is being deleted and was not before."""
    return bool(pod.spec.node_name) and pod.metadata.is_deleting and not (before and before.metadata.is_deleting)
