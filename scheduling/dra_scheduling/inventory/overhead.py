"""What DaemonSets will take of a node that does not exist yet."""

from collections.abc import Iterable, Mapping

from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.nodeselection import Taint
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodefit.static import REFUSING_EFFECTS, is_tolerated
from dra_scheduling.podrequests import pod_requests
from dra_scheduling.requirements import Requirement, Requirements, on_new_nodes


def daemons_on(sets: Iterable[DaemonSet], requirements: Requirements, taints: Iterable[Taint]) -> Mapping[str, int]:
    """Return what the DaemonSets that would run on such a node request together, in base units.

    One whose node selector or affinity some such nodes meet is counted; its own devices are its driver's affair.
    """
    total: dict[str, int] = {}
    refusing = [taint for taint in taints if taint.effect in REFUSING_EFFECTS]
    for daemon in sets:
        pod = daemon.pod
        if all(is_tolerated(taint, pod.spec.tolerations) for taint in refusing) and _may_run(pod, requirements):
            for name, amount in pod_requests(pod).items():
                total[name] = total.get(name, 0) + amount
    return total


def _may_run(pod: Pod, requirements: Requirements) -> bool:
    own = [Requirement(key=key, values=frozenset((value,))) for key, value in pod.spec.node_selector.items()]
    if requirements.conflict(own) is not None:
        return False
    selector = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if selector is None:
        return True
    # The DaemonSet controller pins its pods by name, which its template does not.
    terms = (on_new_nodes(term) for term in selector.node_selector_terms)
    return any(term is not None and requirements.conflict(term) is None for term in terms)
