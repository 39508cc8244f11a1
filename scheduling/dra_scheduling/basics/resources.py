"""Amounts of resources as whole numbers: what a pod wants, held against what a node has left."""

from collections.abc import Collection, ItemsView, Mapping

import msgspec

from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Family, Quantity

CPU = "cpu"
PODS = "pods"
HUGEPAGES_PREFIX = "hugepages-"
BYTE_RESOURCES = frozenset({"memory", "ephemeral-storage"})
SHORT_TEXT = 8
BINARY_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Resources(msgspec.Struct, frozen=True):
    """What a pod takes of a node, in base units: cpu in thousandths, everything else in whole units.

    Only amounts above zero are held, so that equal wishes are equal values whatever zeros they were written with.
    """

    amounts: dict[str, int] = {}

    def __hash__(self) -> int:
        return hash(frozenset(self.amounts.items()))

    def items(self) -> ItemsView[str, int]:
        """Return names with their amounts."""
        return self.amounts.items()

    def get(self, name: str) -> int:
        """Return the amount of one resource, 0 where none is wanted."""
        return self.amounts.get(name, 0)

    def without(self, names: Collection[str]) -> "Resources":
        """Return the same amounts without some resources."""
        return Resources({name: amount for name, amount in self.amounts.items() if name not in names})

    def has_room_in(self, free: Mapping[str, int]) -> bool:
        """Whether `free` (base units, absent means none) has enough of everything."""
        for name, amount in self.amounts.items():  # noqa: SIM110 - asked of every node, and a generator costs more
            if free.get(name, 0) < amount:
                return False
        return True

    def lacking(self, free: Mapping[str, int]) -> tuple[str, ...]:
        """Return the resources of which `free` (base units, absent means none) has less than this wants."""
        return tuple(name for name, amount in self.amounts.items() if free.get(name, 0) < amount)


def base_units(nano: Mapping[str, int]) -> Resources:
    """Return amounts given in nano units as requests: rounded up as Kubernetes does, no zeros, ordered by name."""
    rounded = {name: _ceil(nano[name], NANO_PER_MILLI if name == CPU else NANO_PER_UNIT) for name in sorted(nano)}
    return Resources({name: amount for name, amount in rounded.items() if amount > 0})


def amount_text(name: str, amount: int) -> str:
    """Return an amount of base units as a person writes it: `3500m` of cpu, `16Gi` of memory, `2` of anything else.

    Byte counts that have no short exact text are cut to two decimals.
    """
    if name == CPU:
        return str(Quantity(amount * NANO_PER_MILLI))
    if name in BYTE_RESOURCES or name.startswith(HUGEPAGES_PREFIX):
        return _bytes_text(amount)
    return str(amount)


def _ceil(nano: int, unit: int) -> int:
    return -(-nano // unit)


def _bytes_text(amount: int) -> str:
    exact = str(Quantity(amount * NANO_PER_UNIT, Family.BINARY))
    if len(exact) <= SHORT_TEXT:
        return exact
    power = min((amount.bit_length() - 1) // 10, len(BINARY_UNITS) - 1)
    hundredths = amount * 100 >> 10 * power
    whole, fraction = divmod(hundredths, 100)
    return f"{whole}.{fraction:02}{BINARY_UNITS[power]}"
