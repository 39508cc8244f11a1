"""Pods that name the node they want."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted, refused
from dra_scheduling.model.pods import Pod


class NodeName(Rule[str]):
    """Keeps pods off all nodes but the one that they name."""

    name: ClassVar[str] = "NodeName"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.node_name

    def prepare(self, wanted: Wanted, _: RuleView) -> str | None:
        """Return the name, None where the pods name no node."""
        return wanted.pod.spec.node_name or None

    def filter(self, prepared: str, host: Host) -> Refusal | None:
        """Return the refusal of a node that is not the one."""
        if prepared == host.node.name:
            return None
        return refused("NodeNameMismatch", f"not the node {prepared} of spec.nodeName")
