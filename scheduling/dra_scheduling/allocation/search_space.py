"""All pools that a node reaches, laid side by side: one numbering of devices for a search over several pools."""

from collections.abc import Callable, Iterator, Sequence

from dra_scheduling.devices.attributes import AttributeKey, AttributeSource
from dra_scheduling.devices.consumable_capacity import Amounts
from dra_scheduling.devices.free_devices import FreeDevices
from dra_scheduling.devices.generations import SUPERSEDED
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.devices.node_view import PoolOnNode
from dra_scheduling.devices.selections import DeviceCriteria, SelectorMasks

Group = tuple[int, ...]
"""Devices that have a value in common, for each source in which they are looked up."""


class SearchSpace:
    """The devices in reach of one node, those of pools with binding conditions last (as kube-scheduler orders them).

    Pools that are not complete and valid are kept apart and hand out nothing. `shareable` devices can be in several
    claims, `charged` ones have drawn from their counters already.
    """

    __slots__ = ("_available", "_verdicts", "broken", "charged", "pools", "shareable")

    def __init__(self, pools: tuple[PoolOnNode, ...], ledger: Ledger) -> None:
        self.pools: list[tuple[int, PoolOnNode, FreeDevices]] = []
        self.broken: list[PoolOnNode] = []
        self.shareable = self.charged = 0
        self._verdicts: dict[DeviceCriteria, SelectorMasks] = {}
        self._available: dict[DeviceCriteria, int] = {}
        self.lay_out(pools, lambda pool: pool.stock(ledger))

    def lay_out(self, pools: tuple[PoolOnNode, ...], stock_of: Callable[[PoolOnNode], FreeDevices]) -> None:
        """Put more pools behind those that are there."""
        offset = self.pools[-1][0] + self.pools[-1][1].width if self.pools else 0
        for pool in sorted(pools, key=lambda pool: pool.has_conditions) if len(pools) > 1 else pools:
            if pool.pool.problem is not None:
                self.broken.append(pool)
                continue
            stock = stock_of(pool)
            self.pools.append((offset, pool, stock))
            self.shareable |= pool.shareable << offset
            self.charged |= stock.charged << offset
            offset += pool.width

    def verdict(self, wish: DeviceCriteria) -> SelectorMasks:
        """Return what the wish means of all devices."""
        if len(self.pools) == 1:
            return self.pools[0][1].verdict(wish)
        found = self._verdicts.get(wish)
        if found is None:
            matching = usable = failed = lacking = tainted = 0
            taints: dict[str, None] = {}
            for offset, pool, _ in self.pools:
                part = pool.verdict(wish)
                matching |= part.matching << offset
                usable |= part.usable << offset
                failed |= part.failed << offset
                lacking |= part.lacking << offset
                tainted |= part.tainted << offset
                taints |= dict.fromkeys(part.taints)
            found = self._verdicts[wish] = SelectorMasks(
                matching=matching,
                usable=usable,
                failed=failed,
                lacking=lacking,
                tainted=tainted,
                taints=tuple(taints),
            )
        return found

    def available(self, wish: DeviceCriteria) -> int:
        """Return the devices that the wish could be given now."""
        found = self._available.get(wish)
        if found is None:
            found = 0
            for offset, pool, stock in self.pools:
                found |= pool.available(wish, stock) << offset
            self._available[wish] = found
        return found

    def in_doubt(self, wish: DeviceCriteria) -> list[PoolOnNode]:
        """Return the pools whose devices must not be handed out although the wish may mean some of them.

        A pool of which all slices are seen is judged by its devices. Missing slices may hold any device of the driver.
        """
        return [pool for pool in self.broken if pool.verdict(wish).matching or _may_hold_more(pool, wish)]

    def superseded(self, wish: DeviceCriteria) -> list[PoolOnNode]:
        """Return the pools that had devices for this node before, as far as the wish may mean those."""
        return [pool for pool in self.broken if _is_superseded(pool) and wish.selection.may_select(pool.key.driver)]

    def groups(self, source: AttributeSource) -> dict[AttributeKey, int]:
        """Return the devices by their values of an attribute, over all pools."""
        found: dict[AttributeKey, int] = {}
        for offset, pool, _ in self.pools:
            for value, mask in pool.groups(source).items():
                found[value] = found.get(value, 0) | mask << offset
        return found

    def grouped(self, sources: Sequence[AttributeSource]) -> list[Group]:
        """Return the groups of devices by value, whichever of the sources a device is looked up in."""
        tables = [self.groups(source) for source in sources]
        if len(tables) == 1:
            return [(mask,) for mask in tables[0].values()]
        values = dict.fromkeys(value for table in tables for value in table)
        return [tuple(table.get(value, 0) for table in tables) for value in values]

    def agreeing(self, sources: Sequence[AttributeSource]) -> list[Group]:
        """Return the groups of devices that agree in an attribute."""
        return self.grouped(sources)

    def portions(self, wish: DeviceCriteria) -> dict[int, Amounts]:
        """Return what the wish takes of each matching shareable device, by number."""
        found: dict[int, Amounts] = {}
        for offset, pool, _ in self.pools:
            if pool.shareable:
                found.update({offset + number: amounts for number, amounts in pool.portions(wish).items()})
        return found

    def rooms(self) -> dict[int, dict[str, int]]:
        """Return what is left of each capacity of the shareable devices, by number."""
        return {offset + number: left for offset, _, stock in self.pools for number, left in stock.rooms.items()}

    def parts(self, mask: int) -> Iterator[tuple[PoolOnNode, int]]:
        """Yield the pools of the devices in the mask, each with its own devices."""
        for offset, pool, _ in self.pools:
            part = mask >> offset & pool.everything
            if part:
                yield pool, part


def _may_hold_more(pool: PoolOnNode, wish: DeviceCriteria) -> bool:
    """Whether devices that are not seen could match, as far as the driver tells."""
    if _is_superseded(pool):
        return False
    problem = pool.pool.problem
    is_partly_seen = problem is not None and problem.has_missing_slices
    return (is_partly_seen or not pool.everything) and wish.selection.may_select(pool.key.driver)


def _is_superseded(pool: PoolOnNode) -> bool:
    problem = pool.pool.problem
    return problem is not None and problem.reason == SUPERSEDED
