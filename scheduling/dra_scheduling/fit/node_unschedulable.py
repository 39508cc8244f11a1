"""Nodes that take no pods now: those that are not set up yet, and cordoned ones."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted, refused
from dra_scheduling.fit.taint_toleration import is_tolerated
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import Pod

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeInitialized(Rule[str]):
    """Keeps all pods off nodes that are still being set up: kube-scheduler knows no such nodes."""

    name: ClassVar[str] = "NodeInitialized"
    minds_plain_hosts: ClassVar[bool] = False

    def signature(self, _: Pod) -> object:
        """Return nothing: all pods are one to the rule."""
        return None

    def prepare(self, _: Wanted, __: RuleView) -> str:
        """Return what there is to be said of such nodes, whatever the pods are."""
        return "still being set up"

    def filter(self, prepared: str, host: Host) -> Refusal | None:
        """Return the refusal of a node that is not ready for pods."""
        return refused("NodeBeingSetUp", prepared) if host.node.is_being_set_up else None


class NodeUnschedulable(Rule[Taint]):
    """Keeps pods off cordoned nodes."""

    name: ClassVar[str] = "NodeUnschedulable"
    minds_plain_hosts: ClassVar[bool] = False

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.tolerations

    def prepare(self, wanted: Wanted, _: RuleView) -> Taint | None:
        """Return the taint that stands for the cordon, None where the pods tolerate it."""
        return None if is_tolerated(UNSCHEDULABLE, wanted.pod.spec.tolerations) else UNSCHEDULABLE

    def filter(self, _: Taint, host: Host) -> Refusal | None:
        """Return the refusal of a cordoned node."""
        return refused("NodeUnschedulable", "unschedulable (cordoned)") if host.node.spec.unschedulable else None
