"""What the devices of a pod take of the resources that nodes offer themselves: cpu, memory, hugepages (KEP-5517)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dra_scheduling.basics.pod_requests import container_requests, is_pod_level, taken_by_claims, taken_by_containers
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import HUGEPAGES_PREFIX
from dra_scheduling.model.claims import DeviceRequestAllocationResult
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import (
    Container,
    NodeAllocatableMappedResources,
    NodeAllocatableOverheadResources,
    NodeAllocatableResourceClaimStatus,
    Pod,
)
from dra_scheduling.model.slices import Device, NodeAllocatableMapping
from kube_cel.quantity import NANO_PER_UNIT, Quantity

DeviceLookup = Callable[[DeviceID], Device | None]
TakenOfNode = tuple[NodeAllocatableResourceClaimStatus, ...]
Devices = Sequence[tuple[DeviceRequestAllocationResult, Device | None]]


class ClaimUse(NamedTuple):
    """The devices that a pod has through one entry of its claims; the special claim has neither entry nor name yet."""

    entry: str
    claim: str
    results: tuple[DeviceRequestAllocationResult, ...]


def taken_of_node(pod: Pod, uses: Iterable[ClaimUse], device_of: DeviceLookup) -> TakenOfNode | Refusal:
    """Return what each claim takes of the node for the pod, by name of the claim, or why that cannot be or be told."""
    by_claim: dict[str, list[ClaimUse]] = {}
    for use in uses:
        by_claim.setdefault(use.claim, []).append(use)
    taken: list[NodeAllocatableResourceClaimStatus] = []
    for _, mine in sorted(by_claim.items()):
        devices = [(result, device_of(result.device_id)) for result in mine[0].results if not result.admin_access]
        if any(device is not None and device.node_allocatable_resources for _, device in devices):
            unclear = next(_unclear(devices), "")
            if unclear:
                return Refusal(
                    reason="NodeResourcesUnclear", message=unclear, wake=ClusterEvent.SLICES | ClusterEvent.CLAIMS
                )
            taken.append(_of_claim(pod, mine, devices))
    return _uncovered(pod, taken) or tuple(taken)


def is_mapped(results: Iterable[DeviceRequestAllocationResult], device_of: DeviceLookup) -> bool:
    """Whether a device is part of the node's own resources, so that only one pod at a time can have it.

    Admin access neither takes of the node nor has the device, so that it is not counted.
    """
    devices = (device_of(result.device_id) for result in results if not result.admin_access)
    return any(
        resource.mapping is not None
        for device in devices
        if device is not None
        for resource in device.node_allocatable_resources.values()
    )


def _unclear(devices: Devices) -> Iterator[str]:
    """Yield why nobody can tell what a device takes."""
    for result, device in devices:
        if device is None:
            yield f"device {result.device_id} is not published any more, so that nobody knows what it takes of the node"
            continue
        for name, resource in device.node_allocatable_resources.items():
            key = resource.mapping.capacity_key if resource.mapping is not None else ""
            if key and not result.consumed_capacity:
                yield f"device {result.device_id} is as much {name} as is consumed of its {key}, and nothing is"


def _of_claim(pod: Pod, uses: Sequence[ClaimUse], devices: Devices) -> NodeAllocatableResourceClaimStatus:
    mapped: dict[str, Quantity] = {}
    per_pod: dict[str, Quantity] = {}
    per_container: dict[str, Quantity] = {}
    for result, device in devices:
        for name, resource in device.node_allocatable_resources.items() if device is not None else ():
            if resource.mapping is not None:
                _add(mapped, name, _mapped(resource.mapping, result))
            if resource.overhead is not None:
                _add(per_pod, name, resource.overhead.per_pod)
                _add(per_container, name, resource.overhead.per_container)
    entries = {use.entry for use in uses}
    return NodeAllocatableResourceClaimStatus(
        resource_claim_name=uses[0].claim,
        containers=tuple(container.name for container in _users(pod, entries)),
        mapping=tuple(NodeAllocatableMappedResources(name, mapped[name]) for name in sorted(mapped)),
        overhead=tuple(
            NodeAllocatableOverheadResources(name, per_pod.get(name), per_container.get(name))
            for name in sorted(per_pod.keys() | per_container.keys())
        ),
    )


def _users(pod: Pod, entries: set[str]) -> Iterator[Container]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        if any(claim.name in entries for claim in container.resources.claims):
            yield container


def _mapped(mapping: NodeAllocatableMapping, result: DeviceRequestAllocationResult) -> Quantity | None:
    """Return how much of the resource the device is, None where it is none for this allocation."""
    if not mapping.capacity_key:
        return mapping.device_multiplier
    consumed, factor = result.consumed_capacity.get(mapping.capacity_key), mapping.capacity_multiplier
    if consumed is None or factor is None:
        return consumed
    return Quantity(-(-consumed.nano * factor.nano // NANO_PER_UNIT), consumed.family)


def _add(total: dict[str, Quantity], name: str, amount: Quantity | None) -> None:
    if amount is not None:
        total[name] = total[name] + amount if name in total else amount


def _uncovered(pod: Pod, taken: Sequence[NodeAllocatableResourceClaimStatus]) -> Refusal | None:
    """Return the first resource for which the pod as a whole asks for less than its containers and devices take."""
    asked = pod.spec.resources
    requests, limits = taken_by_containers(pod, container_requests), taken_by_containers(pod, _limits)
    devices = taken_by_claims(taken)
    for name in sorted(devices):
        least = requests.get(name, 0) + devices[name]
        if is_pod_level(name) and name in asked.requests and least > asked.requests[name].nano:
            return _too_small("request", name)
        most = limits.get(name, 0) + devices[name] if name.startswith(HUGEPAGES_PREFIX) else _largest(pod, taken, name)
        if name in asked.limits and most > asked.limits[name].nano:
            return _too_small("limit", name)
    return None


def _limits(container: Container) -> dict[str, Quantity]:
    return container.resources.limits


def _largest(pod: Pod, taken: Sequence[NodeAllocatableResourceClaimStatus], name: str) -> int:
    """Return the largest limit of a container, what devices add to it included; 0 where no container has one."""
    largest = 0
    for container in pod.spec.containers:
        if name in container.resources.limits:
            mine = [
                NodeAllocatableResourceClaimStatus("", (container.name,), claim.mapping, claim.overhead)
                for claim in taken
                if container.name in claim.containers
            ]
            largest = max(largest, container.resources.limits[name].nano + taken_by_claims(mine).get(name, 0))
    return largest


def _too_small(what: str, name: str) -> Refusal:
    message = f"the pod's {what} for {name} does not cover what its containers and devices take of the node"
    return Refusal(reason="PodResourcesTooSmall", message=message, wake=ClusterEvent.POD | ClusterEvent.SLICES)
