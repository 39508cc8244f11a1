"""Questions about claims and allocations, answered from values alone."""

from collections.abc import Iterable, Iterator

import msgspec

from dra_scheduling.model.claims import (
    AllocationResult,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import Pod


def is_same_allocation(one: AllocationResult | None, other: AllocationResult | None) -> bool:
    """Whether both hand out the same devices, for the same requests, on the same nodes, configured alike.

    The timestamp and the tolerations do not count: the server defaults parts of them.
    """
    if one is None or other is None:
        return one is other
    return (
        [_core(result) for result in one.devices.results] == [_core(result) for result in other.devices.results]
        and one.devices.config == other.devices.config
        and one.node_selector == other.node_selector
    )


def is_same_requests(ours: Iterable[DeviceRequest], stored: Iterable[DeviceRequest]) -> bool:
    """Whether both ask for the same, whatever the server filled in by default."""
    return [_defaulted(request) for request in ours] == [_defaulted(request) for request in stored]


def is_reserved_for(claim: ResourceClaim, uid: str) -> bool:
    """Whether the pod is among the claim's consumers."""
    return any(consumer.uid == uid for consumer in claim.status.reserved_for)


def has_binding_conditions(allocation: AllocationResult | None) -> bool:
    """Whether the driver of one of the devices has to get it ready before a pod may be bound (KEP-5007)."""
    return allocation is not None and any(result.binding_conditions for result in allocation.devices.results)


def reserved(claim: ResourceClaim, pod: Pod, allocation: AllocationResult | None, now: str) -> ResourceClaimStatus:
    """Return the claim's status with the allocation, unless it has one, and the pod as one more consumer.

    The time of a new allocation is written down where binding conditions run out some time after it.
    """
    if allocation is not None and has_binding_conditions(allocation):
        allocation = msgspec.structs.replace(allocation, allocation_timestamp=now)
    consumers = claim.status.reserved_for
    if not is_reserved_for(claim, pod.metadata.uid):
        consumer = ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
        consumers = (*consumers, consumer)
    return msgspec.structs.replace(
        claim.status, allocation=claim.status.allocation or allocation, reserved_for=consumers
    )


def released(claim: ResourceClaim, uid: str, ours: Iterable[AllocationResult] | None) -> ResourceClaimStatus:
    """Return the claim's status without the pod.

    The allocation goes with the last consumer if it is one of `ours`; None says that all are.
    """
    rest = tuple(consumer for consumer in claim.status.reserved_for if consumer.uid != uid)
    allocation = claim.status.allocation
    is_ours = ours is None or any(is_same_allocation(allocation, one) for one in ours)
    return msgspec.structs.replace(
        claim.status, allocation=None if is_ours and not rest else allocation, reserved_for=rest
    )


def classes_of(requests: Iterable[DeviceRequest]) -> Iterator[str]:
    """Yield the DeviceClasses that the requests ask for, alternatives included."""
    for request in requests:
        for one in (request.exactly, *request.first_available):
            if one is not None:
                yield one.device_class_name


def devices_of(allocation: AllocationResult | None) -> tuple[DeviceID, ...]:
    """Return the devices that the allocation takes; admin access takes none."""
    return tuple(_taken(allocation))


def clash(one: AllocationResult | None, other: AllocationResult | None) -> DeviceID | None:
    """Return a device that both allocations take and at least one of them takes whole, not as a share."""
    first, second = _taken(one), _taken(other)
    return next((device for device, whole in first.items() if device in second and (whole or second[device])), None)


def consumer_keys(claim: ResourceClaim) -> tuple[tuple[ObjectKey, str], ...]:
    """Return key and UID of each pod that holds the claim: its consumers, and the pod that controls it."""
    pods = {
        consumer.uid: consumer.name
        for consumer in claim.status.reserved_for
        if (consumer.api_group, consumer.resource) == ("", "pods")
    }
    owner = claim.metadata.controller
    if owner is not None and (owner.api_version, owner.kind) == ("v1", "Pod"):
        pods.setdefault(owner.uid, owner.name)
    return tuple((ObjectKey(claim.metadata.namespace, name), uid) for uid, name in pods.items())


def _taken(allocation: AllocationResult | None) -> dict[DeviceID, bool]:
    results = allocation.devices.results if allocation else ()
    return {result.device_id: result.share_id is None for result in results if not result.admin_access}


def _core(result: DeviceRequestAllocationResult) -> tuple[object, ...]:
    return result.request, result.device_id, result.admin_access, result.share_id, result.consumed_capacity


def _defaulted(request: DeviceRequest) -> DeviceRequest:
    exact = request.exactly
    if exact is None:
        return request
    count = exact.wanted if exact.mode == "ExactCount" else exact.count
    return msgspec.structs.replace(
        request, exactly=msgspec.structs.replace(exact, allocation_mode=exact.mode, count=count)
    )
