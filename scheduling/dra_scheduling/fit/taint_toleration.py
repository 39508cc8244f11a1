"""Taints of nodes that pods must tolerate, and those that they had better."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted, refused
from dra_scheduling.model.node_selectors import NodeSelectorTerm, Taint, Toleration
from dra_scheduling.model.pods import Pod

REFUSING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class TaintToleration:
    """Keeps pods off nodes with a taint that they do not tolerate."""

    name: ClassVar[str] = "TaintToleration"

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.tolerations

    def asks(self, _: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return False

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: taints of new nodes are no labels."""
        return ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal for the first taint that they do not tolerate."""
        if not host.node.spec.taints:
            return None
        taint = next(untolerated(host.node.spec.taints, wanted.pod), None)
        return None if taint is None else refused("UntoleratedTaint", f"with {taint_text(taint)}")


def is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], pod: Pod, effects: frozenset[str] = REFUSING_EFFECTS) -> Iterator[Taint]:
    """Yield the taints with one of the effects that the pod does not tolerate."""
    tolerations = pod.spec.tolerations
    return (taint for taint in taints if taint.effect in effects and not is_tolerated(taint, tolerations))


def taint_text(taint: Taint) -> str:
    """Return an untolerated taint in words."""
    value = f"={taint.value}" if taint.value else ""
    return f"untolerated taint {taint.key}{value}:{taint.effect}"
