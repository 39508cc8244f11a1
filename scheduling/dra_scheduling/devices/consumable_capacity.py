"""Consumable capacity (KEP-5075): how much of a device one request takes, exactly.

Amounts are whole nano units, so fractions are exact and nothing is rounded but where a policy says so.
"""

from collections.abc import Mapping

from dra_scheduling.model.slices import CapacityRequestPolicy, Device, DeviceCapacity

Amounts = tuple[tuple[str, int], ...]
"""Capacities by name, in the order of the names."""


def full_name(name: str, driver: str) -> str:
    """Return the name with its domain; without one it belongs to the driver."""
    return name if "/" in name else f"{driver}/{name}"


def portion(device: Device, driver: str, asked: Amounts) -> Amounts | None:
    """Return what a request takes of a shareable device, by full name; None where it never can.

    Every capacity of the device counts, asked for or not: without a request the policy's default is taken, without a
    policy the whole. A device without capacities is shared freely.
    """
    wanted = {full_name(name, driver): amount for name, amount in asked}
    taken: dict[str, int] = {}
    for name, capacity in device.capacity.items():
        key = full_name(name, driver)
        amount = _amount(capacity, wanted.pop(key, None))
        if amount is None or not 0 <= amount <= capacity.value.nano:
            return None
        taken[key] = amount
    return None if wanted else tuple(sorted(taken.items()))


def satisfies(device: Device, driver: str, asked: Amounts) -> bool:
    """Whether a device that is given away as a whole has all that is asked for."""
    offered = {full_name(name, driver): capacity.value.nano for name, capacity in device.capacity.items()}
    return all(0 <= amount <= offered.get(full_name(name, driver), -1) for name, amount in asked)


def room(device: Device, driver: str, consumed: Mapping[str, int]) -> dict[str, int]:
    """Return what is left of each capacity, by full name; it may be negative."""
    names = {full_name(name, driver): capacity.value.nano for name, capacity in device.capacity.items()}
    used = {full_name(name, driver): amount for name, amount in consumed.items()}
    return {name: total - used.get(name, 0) for name, total in names.items()}


def _amount(capacity: DeviceCapacity, asked: int | None) -> int | None:
    policy = capacity.request_policy
    if policy is None:
        return capacity.value.nano if asked is None else asked
    if asked is None:
        return capacity.value.nano if policy.default is None else policy.default.nano
    return _rounded(policy, asked)


def _rounded(policy: CapacityRequestPolicy, asked: int) -> int | None:
    """Return the smallest amount that the policy allows and that is not less than asked for, or None."""
    if policy.default is not None and policy.default.nano == asked:
        return asked
    if policy.valid_values:
        return min((value.nano for value in policy.valid_values if value.nano >= asked), default=None)
    span = policy.valid_range
    if span is None:
        return asked
    amount = max(asked, span.min.nano)
    if span.step is not None:
        if span.step.nano <= 0:
            return None
        steps = -(-(amount - span.min.nano) // span.step.nano)
        amount = span.min.nano + steps * span.step.nano
    return None if span.max is not None and amount > span.max.nano else amount
