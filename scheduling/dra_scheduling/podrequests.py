"""What a pod takes of a node, summed as Kubernetes sums it.

Source: `PodRequests` of k8s.io/component-helpers/resource, KEP-753 (sidecars), KEP-2837 (pod-level resources).
"""

from collections.abc import Mapping

from dra_scheduling.model.pods import Container, Pod, ResourceRequirements
from dra_scheduling.quantity import NANO_PER_UNIT, Quantity
from dra_scheduling.resources import CPU, HUGEPAGES_PREFIX, PODS, Resources, base_units

SIDECAR_POLICY = "Always"
POD_LEVEL_RESOURCES = frozenset({CPU, "memory"})


def pod_requests(pod: Pod) -> Resources:
    """Return all that the pod takes, itself counted as one of `pods`, in base units without zeros.

    It is the larger of what runs for good (containers and sidecars) and of the worst moment while init containers run
    one after another beside the sidecars started before them. Pod-level requests replace that; overhead is added.
    """
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        _add(total, container_requests(container))
    sidecars: dict[str, int] = {}
    worst: dict[str, int] = {}
    for container in pod.spec.init_containers:
        wanted = container_requests(container)
        if is_sidecar(container):
            _add(total, wanted)
            _add(sidecars, wanted)
            _raise_to(worst, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, wanted)
            _raise_to(worst, moment)
    _raise_to(total, worst)
    _apply_pod_level(total, pod.spec.resources)
    _add(total, pod.spec.overhead)
    total[PODS] = NANO_PER_UNIT
    return base_units(total)


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
        if _is_pod_level(name):
            total.setdefault(name, quantity.nano)
    for name, quantity in resources.requests.items():
        if _is_pod_level(name):
            total[name] = quantity.nano


def _is_pod_level(name: str) -> bool:
    return name in POD_LEVEL_RESOURCES or name.startswith(HUGEPAGES_PREFIX)
