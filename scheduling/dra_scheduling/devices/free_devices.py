"""What of a pool's devices in reach of a node is still to be had, as it follows from the ledger."""

from collections.abc import Mapping

import msgspec

from dra_scheduling.devices.compatibility_groups import Company
from dra_scheduling.devices.ledger import Charge, CounterKey
from dra_scheduling.devices.partitionable_devices import CounterState


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """The devices (as bits) that draw the same from the counters of their pool."""

    devices: int
    charge: Charge


class StockSignature:
    """What the devices of a pool draw from counters, and with whom they do. One object stands for one content.

    `consumers` draw something, `sharers` draw from a set together with others, be it nothing.
    """

    __slots__ = ("companies", "consumers", "keys", "sharers", "spendings")

    def __init__(self, spendings: tuple[Spending, ...], companies: tuple[Company, ...] = ()) -> None:
        self.spendings = spendings
        self.companies = companies
        self.keys = tuple(sorted({key for spending in spendings for key, _ in spending.charge}))
        self.consumers = 0
        for spending in spendings:
            self.consumers |= spending.devices
        self.sharers = 0
        for company in companies:
            self.sharers |= company.devices

    def left(self, totals: Mapping[CounterKey, int], state: CounterState) -> tuple[int, ...]:
        """Return what is left of each counter, in the order of `keys`; it may be negative."""
        return tuple(totals.get(key, 0) - state.drawn.get(key, 0) for key in self.keys)

    def affordable(self, left: tuple[int, ...]) -> int:
        """Return the devices for which there is enough of every counter; those that draw nothing are not asked."""
        amounts = dict(zip(self.keys, left, strict=True))
        mask = 0
        for spending in self.spendings:
            if all(amount <= amounts[key] for key, amount in spending.charge):
                mask |= spending.devices
        return mask


NO_PROFILE = StockSignature(())


class FreeDevices(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be had of a pool in reach of a node.

    `free` are devices that nobody has for himself and whose counters suffice, shareable ones with or without room left.
    `rooms` holds what is left of each capacity of shareable devices, by bit number. `charged` are shared devices, which
    have drawn from their counters already. `left` belongs to the profile's keys; `closed` says why it is not known.
    `allies` belongs to the profile's companies: the devices of each group that is still open; those that do not go with
    devices in use are `apart`. Those that only lack what is left of their counters are `exhausted`.
    """

    free: int
    rooms: dict[int, dict[str, int]] = {}
    charged: int = 0
    left: tuple[int, ...] = ()
    closed: str = ""
    allies: tuple[tuple[int, ...], ...] = ()
    apart: int = 0
    exhausted: int = 0
