"""What keeps pods where they are: `karpenter.sh/do-not-disrupt`, and PodDisruptionBudgets without anything left."""

from collections.abc import Iterable, Mapping

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.basics.times import duration_of, seconds_of
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.evictions import LabelSelector, PodDisruptionBudget
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims.lifecycle_steps import DO_NOT_DISRUPT


def is_protected(metadata: ObjectMeta) -> bool:
    """Whether an object says of itself that it is not to be disrupted."""
    return metadata.annotations.get(DO_NOT_DISRUPT) == "true"


def pod_protection(
    pods: Iterable[Pod], moved: Iterable[Pod], budgets: Mapping[ObjectKey, PodDisruptionBudget], now: float
) -> str:
    """Return in words what keeps the node of these pods, none of which has ended, empty if nothing does.

    Only `moved` pods are evicted.
    """
    for pod in pods:
        if _asks_to_stay(pod, now):
            return f"pod {pod.key} has the annotation {DO_NOT_DISRUPT}"
    for pod in moved:
        found = [one for key, one in budgets.items() if key.namespace == pod.key.namespace and _covers(one, pod)]
        if len(found) > 1:
            names = ", ".join(sorted(one.key.name for one in found))
            return f"pod {pod.key} has several PodDisruptionBudgets ({names}), and cannot be evicted for that"
        for one in found:
            if one.status.disruptions_allowed <= 0:
                return f"PodDisruptionBudget {one.key} allows no eviction of pod {pod.key}"
    return ""


def _asks_to_stay(pod: Pod, now: float) -> bool:
    """A duration counts from the pod's creation."""
    written = pod.metadata.annotations.get(DO_NOT_DISRUPT)
    if written is None or written == "true":
        return written is not None
    seconds = duration_of(written)
    return seconds is not None and now < seconds_of(pod.metadata.creation_timestamp) + seconds


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = budget.spec.selector
    return selector is not None and _selects(selector, pod.metadata.labels)


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    return all(Requirement.of(one).has(labels.get(one.key)) for one in selector.match_expressions)
