"""Shared counters of a pool (KEP-4815): how much there is, what devices draw from it, and what is left.

Amounts are whole nano units. A counter may be overdrawn, by claims of other schedulers or after a driver shrank it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from dra_scheduling.devices.compatibility_groups import common_groups, memberships_of
from dra_scheduling.devices.ledger import Charge, CounterKey, TakenDevices
from dra_scheduling.model.slices import CounterSet, Device

K = TypeVar("K", bound=Hashable)
NO_COMMON_GROUPS: Mapping[str, frozenset[str]] = MappingProxyType({})


def charge_of(device: Device) -> Charge:
    """Return what the device draws from counters, by counter; amounts of zero are left out."""
    drawn: dict[CounterKey, int] = {}
    for consumption in device.consumes_counters:
        for name, counter in consumption.counters.items():
            key = (consumption.counter_set, name)
            drawn[key] = drawn.get(key, 0) + counter.value.nano
    return _held_once(tuple(sorted((key, amount) for key, amount in drawn.items() if amount)))


@lru_cache(maxsize=16_384)
def _held_once(charge: Charge) -> Charge:
    """Return the same object for equal charges: all partitions of a kind draw alike."""
    return charge


class CounterBook:
    """The counters that the slices of one generation define, and those that their devices name."""

    __slots__ = ("_clashing", "_defined", "_grouped", "_named", "_negative", "_sets", "_undefined", "totals")

    def __init__(self) -> None:
        self.totals: dict[CounterKey, int] = {}
        self._sets: dict[str, list[CounterSet]] = {}
        self._clashing: set[str] = set()
        self._defined: set[CounterKey] = set()
        self._named: dict[CounterKey, int] = {}
        self._undefined: set[CounterKey] = set()
        self._negative: dict[str, int] = {}
        self._grouped: dict[str, int] = {}

    def add(self, sets: Iterable[CounterSet], devices: Iterable[Device]) -> None:
        """Take in the counter sets and the devices of a slice."""
        for defined in sets:
            homes = self._sets.setdefault(defined.name, [])
            homes.append(defined)
            if len(homes) == 1:
                self._define(defined)
            else:
                self._clashing.add(defined.name)
        for device in devices:
            for key, amount in _named(device):
                self._named[key] = self._named.get(key, 0) + 1
                if key not in self._defined:
                    self._undefined.add(key)
                if amount < 0:
                    self._negative[device.name] = self._negative.get(device.name, 0) + 1
            for name in _grouped(device):
                self._grouped[name] = self._grouped.get(name, 0) + 1

    def remove(self, sets: Iterable[CounterSet], devices: Iterable[Device]) -> None:
        """Let what a slice brought go."""
        for device in devices:
            for key, amount in _named(device):
                _count_down(self._named, key)
                if key not in self._named:
                    self._undefined.discard(key)
                if amount < 0:
                    _count_down(self._negative, device.name)
            for name in _grouped(device):
                _count_down(self._grouped, name)
        for defined in sets:
            homes = self._sets[defined.name]
            self._withdraw(homes[0])
            homes.remove(defined)
            if homes:
                self._define(homes[0])
            else:
                del self._sets[defined.name]
            if len(homes) <= 1:
                self._clashing.discard(defined.name)

    @property
    def grouped(self) -> AbstractSet[str]:
        """The counter sets of which some device has compatibility groups."""
        return self._grouped.keys()

    def problem(self) -> str:
        """Return what is wrong with the counters; empty if nothing is."""
        if self._clashing:
            return f"it has two counter sets called {min(self._clashing)}"
        if self._undefined:
            name, counter = min(self._undefined)
            what = f"counter {counter} of counter set {name}" if counter else f"counter set {name}"
            return f"a device names {what}, which the pool does not have"
        if self._negative:
            return f"device {min(self._negative)} draws a negative amount from a counter"
        return ""

    def _define(self, defined: CounterSet) -> None:
        keys = _keys(defined)
        self._defined.update(keys)
        self._undefined.difference_update(keys)
        self.totals.update({(defined.name, name): counter.value.nano for name, counter in defined.counters.items()})

    def _withdraw(self, defined: CounterSet) -> None:
        for key in _keys(defined):
            self._defined.discard(key)
            self.totals.pop(key, None)
            if key in self._named:
                self._undefined.add(key)


class CounterState:
    """What taken devices have drawn from the counters of a pool, or (`closed`) why nobody can know.

    `common` are the compatibility groups that all of them have, by counter set.
    """

    __slots__ = ("closed", "common", "drawn")

    def __init__(
        self,
        drawn: Mapping[CounterKey, int],
        closed: str = "",
        common: Mapping[str, frozenset[str]] = NO_COMMON_GROUPS,
    ) -> None:
        self.drawn = drawn
        self.closed = closed
        self.common = common

    @classmethod
    def of(cls, taken: TakenDevices, book: CounterBook, published: Callable[[str], Device | None]) -> "CounterState":
        """Return the state that follows from the taken devices, charged once each whether shared or not.

        What a device drew when it was first seen taken counts, and what it draws now where that is more. Once nobody
        can tell any more, nothing more is handed out: a driver that publishes its pool anew must not free what is used.
        """
        drawn: dict[CounterKey, int] = {}
        for name in (*taken.charges, *taken.uncharged):
            remembered, device = taken.charges.get(name), published(name)
            if remembered is None and device is None:
                return cls({}, f"device {name} is taken, not published, and drew nobody knows what from the counters")
            charge = dict(remembered or ())
            for key, amount in charge_of(device) if device is not None else ():
                charge[key] = max(amount, charge.get(key, 0))
            for key, amount in charge.items():
                if key not in book.totals:
                    return cls({}, f"device {name} is taken and drew from counter {key[1]} of {key[0]}, which is gone")
                drawn[key] = drawn.get(key, 0) + amount
        return cls(drawn, common=_common(taken, book, published))


def _common(
    taken: TakenDevices, book: CounterBook, published: Callable[[str], Device | None]
) -> Mapping[str, frozenset[str]]:
    """Return the groups that the taken devices have in common; of one that is gone nobody knows any."""
    if not book.grouped:
        return NO_COMMON_GROUPS
    memberships = []
    for name in (*taken.charges, *taken.uncharged):
        device = published(name)
        if device is not None:
            memberships.append(memberships_of(device))
        else:
            sets = {counter_set for (counter_set, _), _ in taken.charges.get(name, ())}
            memberships.append(tuple((counter_set, frozenset[str]()) for counter_set in sets & book.grouped))
    return common_groups(memberships)


def _grouped(device: Device) -> Iterator[str]:
    """Yield every counter set in which the device has compatibility groups."""
    return (use.counter_set for use in device.consumes_counters if use.compatibility_groups)


def _keys(defined: CounterSet) -> list[CounterKey]:
    """Return the set itself, as a counter without a name, and its counters."""
    return [(defined.name, ""), *((defined.name, counter) for counter in defined.counters)]


def _named(device: Device) -> Iterator[tuple[CounterKey, int]]:
    """Yield every set and counter that the device names, with the amount."""
    for consumption in device.consumes_counters:
        yield (consumption.counter_set, ""), 0
        for name, counter in consumption.counters.items():
            yield (consumption.counter_set, name), counter.value.nano


def _count_down(counts: dict[K, int], key: K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
