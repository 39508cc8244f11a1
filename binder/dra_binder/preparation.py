"""Binding conditions (KEP-5007): whether drivers have got the devices of claims ready for their pod.

A driver says so in `status.devices` of the claim. What cannot be got ready, or not in time, is given back.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from dra_binder.allocations import has_binding_conditions, is_reserved_for, is_same_allocation
from dra_binder.ports import View
from dra_binder.stops import GiveUp
from dra_scheduling.model.claims import DeviceCondition, DeviceRequestAllocationResult, ResourceClaim

TRUE = "True"
MOST_NAMED = 3
# Allocations are timed to the second.
SHORTEST_WAIT = 1.0


class WaitForDevices(msgspec.Struct, frozen=True):
    """Devices are not ready yet; `seconds` from now the first claim runs out of time, None where none ever does."""

    reason: str
    seconds: float | None


def latest(written: Iterable[ResourceClaim], view: View, uid: str) -> tuple[ResourceClaim, ...] | GiveUp:
    """Return the claims as the cache has them by now, unless the pod has lost one of them."""
    claims: list[ResourceClaim] = []
    for claim in written:
        if view.progress() < int(claim.metadata.resource_version):
            claims.append(claim)
            continue
        shown = view.claim(claim.key)
        if shown is None or _is_lost(claim, shown, uid):
            return GiveUp(f"claim {claim.key} has been taken away from the pod")
        claims.append(shown)
    return tuple(claims)


def judge(claims: Iterable[ResourceClaim], now: str, timeout: float) -> WaitForDevices | GiveUp | None:
    """Return None if all devices are ready, else what is waited for or has failed.

    `now` is RFC 3339 text; a claim has `timeout` seconds from its allocation, whoever waits for it since when.
    """
    waits: list[str] = []
    seconds: list[float] = []
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is None or not has_binding_conditions(allocation):
            continue
        failure = next(_failures(claim), None)
        if failure is not None:
            return GiveUp(failure, spoiled=(allocation,))
        missing = tuple(_missing(claim))
        if not missing:
            continue
        if allocation.allocation_timestamp:
            left = timeout - _seconds_between(allocation.allocation_timestamp, now)
            if left <= 0:
                told = _in_short(missing)
                return GiveUp(f"not ready {timeout:g} s after the allocation: {told}", spoiled=(allocation,))
            seconds.append(max(left, SHORTEST_WAIT))
        waits += missing
    return WaitForDevices(f"waiting for {_in_short(waits)}", min(seconds, default=None)) if waits else None


def _is_lost(written: ResourceClaim, shown: ResourceClaim, uid: str) -> bool:
    return (
        shown.metadata.uid != written.metadata.uid
        or shown.metadata.is_deleting
        or not is_reserved_for(shown, uid)
        or not is_same_allocation(shown.status.allocation, written.status.allocation)
    )


def _failures(claim: ResourceClaim) -> Iterator[str]:
    for result in _conditional(claim):
        for condition in _conditions(claim, result).values():
            if condition.type in result.binding_failure_conditions and condition.status == TRUE:
                told = ": ".join(filter(None, (condition.type, condition.reason, condition.message)))
                yield f"device {result.device_id} of claim {claim.key} could not be made ready: {told}"


def _missing(claim: ResourceClaim) -> Iterator[str]:
    for result in _conditional(claim):
        conditions = _conditions(claim, result)
        names = [
            name for name in result.binding_conditions if name not in conditions or conditions[name].status != TRUE
        ]
        if names:
            word = "condition" if len(names) == 1 else "conditions"
            yield f"device {result.device_id} of claim {claim.key}: {word} {', '.join(names)}"


def _conditional(claim: ResourceClaim) -> Iterator[DeviceRequestAllocationResult]:
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if result.binding_conditions:
            yield result


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, DeviceCondition]:
    """Return what the driver says of the device, or of this share of it."""
    return {
        condition.type: condition
        for status in claim.status.devices
        if status.device_id == result.device_id and status.share_id in {None, result.share_id}
        for condition in status.conditions
    }


def _in_short(lines: Sequence[str]) -> str:
    rest = len(lines) - MOST_NAMED
    return "; ".join(lines[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def _seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
