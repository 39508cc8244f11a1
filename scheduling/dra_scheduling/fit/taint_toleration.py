"""Taints of nodes that pods must tolerate, and those that they had better."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted, refused
from dra_scheduling.model.node_selectors import Taint, Toleration
from dra_scheduling.model.pods import Pod

Tolerations = tuple[Toleration, ...]
REFUSING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class TaintToleration(Rule[Tolerations]):
    """Keeps pods off nodes with a taint that they do not tolerate."""

    name: ClassVar[str] = "TaintToleration"
    minds_plain_hosts: ClassVar[bool] = False

    def signature(self, pod: Pod) -> object:
        """Return what the rule reads of the pod."""
        return pod.spec.tolerations

    def prepare(self, wanted: Wanted, _: RuleView) -> Tolerations:
        """Return what the pods tolerate."""
        return wanted.pod.spec.tolerations

    def filter(self, prepared: Tolerations, host: Host) -> Refusal | None:
        """Return the refusal for the first taint that they do not tolerate."""
        taints = host.node.spec.taints
        taint = next(_untolerated(taints, prepared, REFUSING_EFFECTS), None) if taints else None
        return None if taint is None else refused("UntoleratedTaint", f"with {taint_text(taint)}")


def is_tolerated(taint: Taint, tolerations: Tolerations) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], pod: Pod, effects: frozenset[str] = REFUSING_EFFECTS) -> Iterator[Taint]:
    """Yield the taints with one of the effects that the pod does not tolerate."""
    return _untolerated(taints, pod.spec.tolerations, effects)


def taint_text(taint: Taint) -> str:
    """Return an untolerated taint in words."""
    value = f"={taint.value}" if taint.value else ""
    return f"untolerated taint {taint.key}{value}:{taint.effect}"


def _untolerated(taints: Iterable[Taint], tolerations: Tolerations, effects: frozenset[str]) -> Iterator[Taint]:
    return (taint for taint in taints if taint.effect in effects and not is_tolerated(taint, tolerations))
