"""Compatibility groups (KEP-5963): which devices may draw from one counter set at the same time.

Devices of a set go together as long as one group is common to all of them.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dra_scheduling.model.slices import Device

NO_GROUP = ""
"""Devices without groups go together among themselves only, as if they had a group of their own."""

Memberships = tuple[tuple[str, frozenset[str]], ...]
"""The counter sets that a device draws from, each with its groups there."""


def has_groups(device: Device) -> bool:
    """Whether the device has compatibility groups in any counter set."""
    return any(consumption.compatibility_groups for consumption in device.consumes_counters)


def memberships_of(device: Device) -> Memberships:
    """Return the counter sets of the device with its groups."""
    return tuple(
        (consumption.counter_set, frozenset(consumption.compatibility_groups or (NO_GROUP,)))
        for consumption in device.consumes_counters
    )


def common_groups(devices: Iterable[Memberships]) -> dict[str, frozenset[str]]:
    """Return, for each counter set that any of the devices draws from, the groups that all of them have there."""
    common: dict[str, frozenset[str]] = {}
    for memberships in devices:
        for counter_set, groups in memberships:
            common[counter_set] = common.get(counter_set, groups) & groups
    return common


class Company(msgspec.Struct, frozen=True):
    """The devices (as bits) that draw from one counter set, by compatibility group."""

    counter_set: str
    groups: tuple[tuple[str, int], ...]

    @property
    def devices(self) -> int:
        """All devices that draw from the set."""
        mask = 0
        for _, members in self.groups:
            mask |= members
        return mask

    def left(self, common: Mapping[str, frozenset[str]]) -> tuple[int, ...]:
        """Return the devices of each group that devices in use leave open."""
        allowed = common.get(self.counter_set)
        return tuple(members for group, members in self.groups if allowed is None or group in allowed)


def companies_of(devices: Iterable[tuple[int, Memberships]]) -> tuple[Company, ...]:
    """Return the companies of devices given as bits, by counter set."""
    found: dict[str, dict[str, int]] = {}
    for bit, memberships in devices:
        for counter_set, groups in memberships:
            members = found.setdefault(counter_set, {})
            for group in groups:
                members[group] = members.get(group, 0) | bit
    return tuple(Company(name, tuple(sorted(members.items()))) for name, members in sorted(found.items()))


def apart(companies: Sequence[Company], left: Sequence[tuple[int, ...]]) -> int:
    """Return the devices that do not go with those in use."""
    mask = 0
    for company, groups in zip(companies, left, strict=True):
        outside = company.devices
        for members in groups:
            outside &= ~members
        mask |= outside
    return mask
