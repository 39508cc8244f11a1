"""Amounts that claims share: capacities of devices given out in shares, and counters of pools (KEP-5075, KEP-4815)."""

from collections.abc import Iterator

from dra_binder.ports import Account, Draw
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.consumable_capacity import room
from dra_scheduling.devices.ledger_entries import held_by
from dra_scheduling.devices.partitionable_devices import charge_of
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.model.ids import DeviceID

SEPARATOR = " of counter set "


class Accounts:
    """What there is according to the published slices, and what allocations draw from it, in nano units."""

    def __init__(self, pools: PoolIndex) -> None:
        self._pools = pools

    def draws(self, allocation: AllocationResult) -> Iterator[Draw]:
        """Yield what the allocation draws, as far as its devices are published; nothing for amounts of zero.

        A share draws from the capacities of its device, a device from the counters of its pool, shared or not.
        """
        held = held_by("", allocation)
        for share in held.shares:
            for name, amount in share.consumed:
                if amount > 0:
                    account = Account(share.device.pool_key, name, share.device.device)
                    yield Draw(account, share.share_id, amount)
        for device in dict.fromkeys(held.everything):
            published = self._pools.device(device)
            for (counters, name), amount in charge_of(published) if published is not None else ():
                yield Draw(Account(device.pool_key, f"{name}{SEPARATOR}{counters}"), device.device, amount)

    def limit(self, account: Account) -> int | None:
        """Return how much is published to be drawn."""
        if account.device:
            published = self._pools.device(DeviceID(*account.pool, account.device))
            return room(published, account.pool.driver, {}).get(account.name) if published is not None else None
        pool = self._pools.find(account.pool)
        name, _, counters = account.name.partition(SEPARATOR)
        return pool.totals.get((counters, name)) if pool is not None else None

    def drawers(self, account: Account) -> Iterator[DeviceID]:
        """Yield the published devices that may draw from the account: of a counter, those that name its counter set."""
        if account.device:
            yield DeviceID(*account.pool, account.device)
            return
        pool = self._pools.find(account.pool)
        counters = account.name.partition(SEPARATOR)[2]
        for name in pool.current.drawing_from(counters) if pool is not None else ():
            yield DeviceID(*account.pool, name)
