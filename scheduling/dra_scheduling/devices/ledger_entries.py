"""What an allocation occupies, as the ledger records it."""

from dra_scheduling.devices.consumable_capacity import full_name
from dra_scheduling.devices.ledger import Held, Holder, Share
from dra_scheduling.model.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID


def held_by(holder: Holder, allocation: AllocationResult | None) -> Held:
    """Return the devices and shares of an allocation; admin access occupies nothing.

    A result with a share id or amounts of capacity is a share; two without an id in one claim are still two.
    """
    devices: list[DeviceID] = []
    shares: list[Share] = []
    for number, result in enumerate(allocation.devices.results if allocation is not None else ()):
        if result.admin_access:
            continue
        if result.share_id is None and not result.consumed_capacity:
            devices.append(result.device_id)
        else:
            shares.append(_share(result, number))
    return Held(holder, tuple(devices), tuple(shares))


def special_owner(claim: ResourceClaim) -> str:
    """Return the uid of the pod whose special claim this is, or nothing."""
    owner = claim.metadata.controller
    return owner.uid if owner is not None and claim.is_special_claim_of(owner.name, owner.uid) else ""


def holder_of(claim: ResourceClaim) -> Holder:
    """Return an identity that a claim has already while it is only planned: the special claim is its pod's."""
    owner = special_owner(claim)
    return special_holder(owner) if owner else str(claim.key)


def special_holder(pod_uid: str) -> Holder:
    """Return the identity of the special claim of a pod, whether it exists already or not."""
    return f"special claim of {pod_uid}"


def _share(result: DeviceRequestAllocationResult, number: int) -> Share:
    consumed = tuple(
        sorted((full_name(name, result.driver), amount.nano) for name, amount in result.consumed_capacity.items())
    )
    return Share(result.device_id, result.share_id or f"{result.request} {number}", consumed)
