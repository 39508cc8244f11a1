"""Which DaemonSets will run on a node that does not exist yet, and what they will take of it."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.requirements import Requirement, Requirements, on_new_nodes
from dra_scheduling.extended_resources.device_plugin_or_dra import extended_names
from dra_scheduling.fit.taint_toleration import REFUSING_EFFECTS, is_tolerated
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import INITIALIZED_LABEL, REGISTERED_LABEL, Pod

MADE_NODE = Requirements.of_labels({REGISTERED_LABEL: "true", INITIALIZED_LABEL: "true"})
"""What every made node is labelled with, of which no NodePool speaks; pods are not promised these labels."""


def daemons_on(sets: Iterable[DaemonSet], requirements: Requirements, taints: Iterable[Taint]) -> tuple[DaemonSet, ...]:
    """Return the DaemonSets that would run on such a node: those whose node selector and affinity some of them meet."""
    made = replace(requirements, by_key={**requirements.by_key, **MADE_NODE.by_key})
    refusing = [taint for taint in taints if taint.effect in REFUSING_EFFECTS]
    return tuple(
        daemon
        for daemon in sets
        if all(is_tolerated(taint, daemon.pod.spec.tolerations) for taint in refusing) and _may_run(daemon.pod, made)
    )


def requested_by(daemons: Iterable[DaemonSet]) -> Mapping[str, int]:
    """Return what a pod of each of these requests together, in base units."""
    total: dict[str, int] = {}
    for daemon in daemons:
        for name, amount in pod_requests(daemon.pod).items():
            total[name] = total.get(name, 0) + amount
    return total


def takes_devices(daemon: DaemonSet, allocatable: Mapping[str, int]) -> bool:
    """Whether its pods ask for devices where no device plugin serves more than what is in `allocatable`."""
    pod = daemon.pod
    wanted = extended_names(pod_requests(pod))
    return bool(pod.spec.resource_claims) or any(allocatable.get(name, 0) <= 0 for name in wanted)


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
