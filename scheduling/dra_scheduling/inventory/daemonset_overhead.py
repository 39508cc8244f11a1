"""Which DaemonSets will run on a node that does not exist yet, and what they will take of it."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.requirements import Requirement, Requirements, merged, on_new_nodes, under_present_name
from dra_scheduling.extended_resources.device_plugin_or_dra import extended_names
from dra_scheduling.fit.taint_toleration import REFUSING_EFFECTS, is_tolerated
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import Taint, Toleration
from dra_scheduling.model.pods import INITIALIZED_LABEL, REGISTERED_LABEL, Pod
from dra_scheduling.state.host_ports import HostPort, host_ports

MADE_NODE = Requirements.of_labels({REGISTERED_LABEL: "true", INITIALIZED_LABEL: "true"})
"""What every made node is labelled with, of which no NodePool speaks; pods are not promised these labels."""

Term = tuple[Requirement, ...]


class DaemonSetOverhead(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod of a DaemonSet takes of every node that meets one of the `terms` and whose taints it tolerates."""

    key: ObjectKey
    terms: tuple[Term, ...]
    tolerations: tuple[Toleration, ...] = ()
    requests: Mapping[str, int] = {}
    ports: tuple[HostPort, ...] = ()

    def tolerates(self, taints: Iterable[Taint]) -> bool:
        """Whether none of the taints keeps its pods away."""
        return all(is_tolerated(taint, self.tolerations) for taint in taints if taint.effect in REFUSING_EFFECTS)

    def may_run(self, requirements: Requirements) -> bool:
        """Whether some node with these requirements has a pod of it."""
        return any(requirements.conflict(term) is None for term in self.terms)


def overhead_of(daemon: DaemonSet, living: Pod | None) -> DaemonSetOverhead:
    """Return what pods of the DaemonSet take of nodes to come: as much as its template says, or a `living` one has.

    Admission adds to what the template says: defaults of a LimitRange, sidecars of a webhook. What has been taken out
    of the template since is counted until the last such pod has gone.
    """
    pod = daemon.pod
    requests, ports = pod_requests(pod).amounts, host_ports(pod)
    if living is not None:
        seen = pod_requests(living).amounts
        requests = {name: max(requests.get(name, 0), seen.get(name, 0)) for name in (*requests, *seen)}
        ports = tuple(dict.fromkeys((*ports, *host_ports(living))))
    return DaemonSetOverhead(
        key=daemon.key,
        terms=tuple(_terms_of(pod)),
        tolerations=pod.spec.tolerations,
        requests=requests,
        ports=ports,
    )


def requested_by(daemons: Iterable[DaemonSetOverhead]) -> Mapping[str, int]:
    """Return what a pod of each of these requests together, in base units."""
    total: dict[str, int] = {}
    for daemon in daemons:
        for name, amount in daemon.requests.items():
            total[name] = total.get(name, 0) + amount
    return total


def takes_devices(daemon: DaemonSet, allocatable: Mapping[str, int]) -> bool:
    """Whether its pods ask for devices where no device plugin serves more than what is in `allocatable`."""
    pod = daemon.pod
    wanted = extended_names(pod_requests(pod))
    return bool(pod.spec.resource_claims) or any(allocatable.get(name, 0) <= 0 for name in wanted)


def _terms_of(pod: Pod) -> Iterator[Term]:
    """Yield what nodes must be like, one way after the other, beyond what every made node is like."""
    own = [
        under_present_name(Requirement(key=key, values=frozenset((value,))))
        for key, value in pod.spec.node_selector.items()
    ]
    selector = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    # The DaemonSet controller pins its pods by name, which its template does not.
    terms = [()] if selector is None else [on_new_nodes(term) for term in selector.node_selector_terms]
    for term in terms:
        wanted = merged((*own, *term)) if term is not None else ()
        if term is not None and MADE_NODE.conflict(one for one in wanted if one.key in MADE_NODE.by_key) is None:
            yield tuple(one for one in wanted if one.key not in MADE_NODE.by_key)
