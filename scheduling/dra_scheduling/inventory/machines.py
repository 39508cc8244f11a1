"""Tables of instance types that answer for hundreds of types with a few operations."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import inf

import msgspec

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.basics.resources import Resources
from dra_scheduling.devices.bits import members
from dra_scheduling.inventory.daemonset_load import DaemonSetLoad
from dra_scheduling.inventory.machine import Machine
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.state.host_ports import HostPort
from dra_scheduling.template_devices import DeviceHostType

MAX_KEPT_ANSWERS = 4096


class Kin(msgspec.Struct, frozen=True, kw_only=True):
    """Machines of the same devices and daemons, as bits: what is found out about the devices of one holds of all."""

    first: Machine
    members: int


class MachineTable:
    """Some machines in the order of their names; sets of them are bits, and every question is answered once."""

    __slots__ = (
        "_bit_of",
        "_by_offer",
        "_candidates",
        "_load",
        "_offered",
        "everything",
        "kin",
        "machines",
        "plain",
    )

    def __init__(self, machines: Iterable[Machine]) -> None:
        self.machines: Sequence[Machine] = sorted(machines, key=lambda machine: machine.name)
        self.everything = (1 << len(self.machines)) - 1
        self._bit_of = {machine.name: 1 << number for number, machine in enumerate(self.machines)}
        self._load = DaemonSetLoad(self.machines)
        self._by_offer: dict[frozenset[str], tuple[tuple[frozenset[str], int], ...]] = {}
        self._offered: dict[Hashable, int] = {}
        self._candidates: dict[int, tuple[DeviceHostType, ...]] = {}

        self.kin = tuple(_kin_of(self.machines))
        self.plain = _bits(not machine.has_devices for machine in self.machines)

    def __len__(self) -> int:
        """The number of machines."""
        return len(self.machines)

    def members(self, mask: int) -> Iterator[Machine]:
        """Yield the machines of a set, by name."""
        return (self.machines[number] for number in members(mask))

    def daemons(self, mask: int) -> tuple[ObjectKey, ...]:
        """Return the DaemonSets that will take devices of machines of a set, by name."""
        return tuple(sorted({key for one in self.kin_in(mask) for key in one.first.device_daemons}))

    def running(self, daemon: ObjectKey) -> int:
        """Return the machines that a DaemonSet will take devices of."""
        mask = 0
        for one in self.kin:
            if daemon in one.first.device_daemons:
                mask |= one.members
        return mask

    def holding_port(
        self, wanted: Collection[HostPort], requirements: Requirements
    ) -> Mapping[tuple[HostPort, ObjectKey], int]:
        """Return the wanted ports that DaemonSets will have, and whose they are, each with the machines."""
        return self._load.holding_port(wanted, requirements) if wanted else {}

    def room(self, requirements: Requirements) -> MachineRoom:
        """Return what DaemonSets leave of the machines on a host with these requirements."""
        return self._load.room(requirements)

    @property
    def most_room(self) -> MachineRoom:
        """What DaemonSets leave of the machines at most, wherever they are."""
        return self._load.most_room

    def candidates(self, mask: int) -> tuple[DeviceHostType, ...]:
        """Return a set of machines as the allocator is asked about them: those with the same devices are one type.

        The type has the name of the first such machine of the table, whether or not that one is in the set.
        """
        found = self._candidates.get(mask)
        if found is None:
            found = tuple(_candidate_of(one.first, self.members(one.members & mask)) for one in self.kin_in(mask))
            if len(self._candidates) >= MAX_KEPT_ANSWERS:
                self._candidates.clear()
            self._candidates[mask] = found
        return found

    def kin_in(self, mask: int) -> Iterator[Kin]:
        """Yield the kinds that machines of a set are of."""
        return (one for one in self.kin if one.members & mask)

    def with_devices_of(self, names: Iterable[str]) -> int:
        """Return the machines that have the devices of these types of `candidates`."""
        wanted = frozenset(names)
        mask = 0
        for one in self.kin:
            if one.first.name in wanted:
                mask |= one.members
        return mask

    def kin_names(self, mask: int) -> tuple[str, ...]:
        """Return the names that the machines of a set have for the allocator."""
        return tuple(one.first.name for one in self.kin_in(mask))

    def names(self, mask: int) -> tuple[str, ...]:
        """Return the names of a set of machines, in order."""
        return tuple(machine.name for machine in self.members(mask))

    def named(self, names: Iterable[str]) -> int:
        """Return the set of the machines with these names."""
        mask = 0
        for name in names:
            mask |= self._bit_of.get(name, 0)
        return mask

    def offered(self, requirements: Requirements) -> int:
        """Return the machines that can be had under these requirements."""
        key = _key_of(requirements)
        found = self._offered.get(key)
        if found is None:
            found = _bits(one.price_within(requirements) is not None for one in self.machines)
            if len(self._offered) >= MAX_KEPT_ANSWERS:
                self._offered.clear()
            self._offered[key] = found
        return found

    def cheapest(self, mask: int, requirements: Requirements) -> float:
        """Return the lowest price of a set of machines under these requirements, infinity where none can be had."""
        prices = (machine.price_within(requirements) for machine in self.members(mask))
        return min((price for price in prices if price is not None), default=inf)

    def is_settled(self, mask: int, known: Requirements, wanted: Requirements) -> bool:
        """Whether whatever can be had of these machines under `known` meets `wanted` anyway."""
        if known == wanted:
            return True
        for machine in self.members(mask):
            within = known.narrowed(machine.requirements)
            for offering in machine.offerings:
                if within.conflict(offering.requirements) is None:
                    there = within.narrowed(offering.requirements)
                    if not there.is_within(wanted.by_key.values()):
                        return False
        return True

    def by_price(self, mask: int, requirements: Requirements) -> tuple[Machine, ...]:
        """Return the machines of a set, the cheapest under these requirements first."""
        priced = [(machine.price_within(requirements), machine) for machine in self.members(mask)]
        found = sorted(((price, one.name, one) for price, one in priced if price is not None), key=lambda it: it[:2])
        return tuple(machine for _, _, machine in found)

    def by_offer(self, names: frozenset[str]) -> tuple[tuple[frozenset[str], int], ...]:
        """Return the sets of machines that offer the same of these resources, the largest first."""
        found = self._by_offer.get(names)
        if found is None:
            groups: dict[frozenset[str], int] = {}
            for number, machine in enumerate(self.machines):
                offer = frozenset(name for name in names if machine.allocatable.get(name, 0) > 0)
                groups[offer] = groups.get(offer, 0) | 1 << number
            ordered = sorted(groups.items(), key=lambda item: (-item[1].bit_count(), sorted(item[0])))
            found = self._by_offer[names] = tuple(ordered)
        return found

    def values_of(self, key: str, mask: int, requirements: Requirements) -> AbstractSet[str]:
        """Return the values of a label that the machines of a set may still have under these requirements."""
        values: set[str] = set()
        for machine in self.members(mask):
            within = requirements.narrowed(machine.requirements)
            for offering in machine.offerings:
                if within.conflict(offering.requirements) is None:
                    found = within.narrowed(offering.requirements).of(key)
                    if not found.excludes:
                        values |= found.values
        return values

    def largest(self, mask: int) -> Resources:
        """Return the most that any machine of a set has, resource by resource."""
        most: dict[str, int] = {}
        for machine in self.members(mask):
            for name, amount in machine.capacity.items():
                most[name] = max(most.get(name, 0), amount)
        return Resources(most)


def _kin_of(machines: Sequence[Machine]) -> Iterator[Kin]:
    firsts: dict[tuple[Hashable, ...], Machine] = {}
    masks: dict[tuple[Hashable, ...], int] = {}
    for number, machine in enumerate(machines):
        kind: tuple[Hashable, ...] = (machine.alike, machine.device_daemons)
        firsts.setdefault(kind, machine)
        masks[kind] = masks.get(kind, 0) | 1 << number
    for kind, first in firsts.items():
        yield Kin(first=first, members=masks[kind])


def _candidate_of(first: Machine, members: Iterable[Machine]) -> DeviceHostType:
    offerings = dict.fromkeys(offering for machine in members for offering in machine.devices.offerings)
    return msgspec.structs.replace(first.devices, offerings=tuple(offerings))


def _key_of(requirements: Requirements) -> Hashable:
    return frozenset(requirements.by_key.values()), requirements.open_keys


def _bits(verdicts: Iterable[bool]) -> int:
    return sum(1 << number for number, verdict in enumerate(verdicts) if verdict)
