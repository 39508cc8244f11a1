"""What a pod takes of a node, summed as Kubernetes sums it.

Source: `PodRequests` of k8s.io/component-helpers/resource, KEP-753 (sidecars), KEP-2837 (pod-level resources),
KEP-5517 (what devices take of the node).
"""

from collections.abc import Callable, Iterable, Mapping

from dra_scheduling.basics.resources import CPU, HUGEPAGES_PREFIX, PODS, Resources, base_units
from dra_scheduling.model.pods import Container, NodeAllocatableResourceClaimStatus, Pod, ResourceRequirements
from kube_cel.quantity import NANO_PER_UNIT, Quantity

SIDECAR_POLICY = "Always"
POD_LEVEL_RESOURCES = frozenset({CPU, "memory"})


def pod_requests(pod: Pod, of_claims: Iterable[NodeAllocatableResourceClaimStatus] = ()) -> Resources:
    """Return all that the pod takes, itself counted as one of `pods`, in base units without zeros.

    `of_claims` is what its devices take of the node. Pod-level requests replace what containers and claims take;
    overhead is added.
    """
    total = taken_by_containers(pod, container_requests)
    for name, nano in taken_by_claims(of_claims).items():
        total[name] = total.get(name, 0) + nano
    _apply_pod_level(total, pod.spec.resources)
    _add(total, pod.spec.overhead)
    total[PODS] = NANO_PER_UNIT
    return base_units(total)


def taken_by_containers(pod: Pod, wanted_by: Callable[[Container], Mapping[str, Quantity]]) -> dict[str, int]:
    """Return what the containers take at most, in nano units.

    It is the larger of what runs for good (containers and sidecars) and of the worst moment while init containers run
    one after another beside the sidecars started before them.
    """
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        _add(total, wanted_by(container))
    sidecars: dict[str, int] = {}
    worst: dict[str, int] = {}
    for container in pod.spec.init_containers:
        wanted = wanted_by(container)
        if is_sidecar(container):
            _add(total, wanted)
            _add(sidecars, wanted)
            _raise_to(worst, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, wanted)
            _raise_to(worst, moment)
    _raise_to(total, worst)
    return total


def taken_by_claims(claims: Iterable[NodeAllocatableResourceClaimStatus]) -> dict[str, int]:
    """Return what devices take of the node, in nano units: what they are of it, and what their use costs."""
    total: dict[str, int] = {}
    for claim in claims:
        _add(total, {each.name: each.quantity for each in claim.mapping})
        for each in claim.overhead:
            _add(total, {each.name: each.per_pod} if each.per_pod is not None else {})
            _add(total, {each.name: each.per_container * len(claim.containers)} if each.per_container else {})
    return total


def container_requests(container: Container) -> dict[str, Quantity]:
    """Return the effective requests of one container: a limit stands in where no request is written."""
    return {**container.resources.limits, **container.resources.requests}


def is_sidecar(init_container: Container) -> bool:
    """Whether an init container keeps running beside the containers (KEP-753)."""
    return init_container.restart_policy == SIDECAR_POLICY


def _add(total: dict[str, int], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total.get(name, 0) + quantity.nano


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, nano in least.items():
        if nano > total.get(name, 0):
            total[name] = nano


def _apply_pod_level(total: dict[str, int], resources: ResourceRequirements) -> None:
    """Let pod-level requests replace the containers' sum.

    A pod-level limit alone counts only for a resource that no container asks for: that is how the server defaults it.
    """
    for name, quantity in resources.limits.items():
        if is_pod_level(name):
            total.setdefault(name, quantity.nano)
    for name, quantity in resources.requests.items():
        if is_pod_level(name):
            total[name] = quantity.nano


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole can ask for the resource."""
    return name in POD_LEVEL_RESOURCES or name.startswith(HUGEPAGES_PREFIX)
