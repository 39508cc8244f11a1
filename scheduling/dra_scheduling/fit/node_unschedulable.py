"""Nodes that take no pods now: those that are not set up yet, and cordoned ones."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted, refused
from dra_scheduling.fit.taint_toleration import is_tolerated
from dra_scheduling.model.node_selectors import NodeSelectorTerm, Taint
from dra_scheduling.model.pods import Pod

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeInitialized:
    """Keeps all pods off nodes that are still being set up: kube-scheduler knows no such nodes."""

    name: ClassVar[str] = "NodeInitialized"

    def signature(self, _: Pod) -> object:
        """Return what the rule reads of the pod."""
        return None

    def asks(self, _: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return False

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: a new node is ready and takes pods."""
        return ()

    def filter(self, _: Wanted, host: Host) -> Refusal | None:
        """Return the refusal of a node that is not ready for pods."""
        return refused("NodeBeingSetUp", "still being set up") if host.node.is_being_set_up else None


class NodeUnschedulable:
    """Keeps pods off cordoned nodes."""

    name: ClassVar[str] = "NodeUnschedulable"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.tolerations

    def asks(self, _: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return False

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: a new node is ready and takes pods."""
        return ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal of a cordoned node."""
        if not host.node.spec.unschedulable or is_tolerated(UNSCHEDULABLE, wanted.pod.spec.tolerations):
            return None
        return refused("NodeUnschedulable", "unschedulable (cordoned)")
