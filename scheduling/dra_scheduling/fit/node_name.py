"""Pods that name the node they want."""

from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted, refused
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Pod


class NodeName:
    """Keeps pods off all nodes but the one that they name."""

    name: ClassVar[str] = "NodeName"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.node_name

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return bool(wanted.pod.spec.node_name)

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: a new node has no name that could be wanted, and pods with one are bound."""
        return ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal of a node that is not the one."""
        name = wanted.pod.spec.node_name
        if not name or name == host.node.name:
            return None
        return refused("NodeNameMismatch", f"not the node {name} of spec.nodeName")
