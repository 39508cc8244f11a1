"""What one instance type of one candidate sees as taken of a pool.

Of another candidate only one type will come true, so its types are alternatives: what any of them holds is taken, and
of counters and capacities the most that one of them draws is gone. What other types of the same candidate hold is not
there for this one.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import msgspec

from dra_scheduling.devices.compatibility_groups import common_groups
from dra_scheduling.devices.consumable_capacity import Amounts, full_name
from dra_scheduling.devices.generations import Pool
from dra_scheduling.devices.ledger import CounterKey, Holder, Source, TakenDevices
from dra_scheduling.devices.node_view import PoolProblem
from dra_scheduling.devices.partitionable_devices import CounterState
from dra_scheduling.template_devices.device_uses import DeviceUse

K = TypeVar("K", bound=Hashable)
Uses = tuple[DeviceUse, ...]
PLANNED = {Source("plan", ""): ""}


class Seed(msgspec.Struct, frozen=True):
    """What is taken before anything is planned."""

    taken: TakenDevices
    counters: CounterState


NOTHING_TAKEN = Seed(TakenDevices(), CounterState({}))


class SeenDevices(TakenDevices):
    """The record of a pool as one instance type sees it; it never changes once it is made."""

    __slots__ = ("_amounts", "counters")

    def __init__(self, seed: Seed, others: Iterable[Iterable[Uses]], own: Uses) -> None:
        super().__init__()
        self.dedicated = dict(seed.taken.dedicated)
        self.shared = dict(seed.taken.shared)
        self._amounts = {name: seed.taken.consumed(name) for name in seed.taken.shared}
        drawn = dict(seed.counters.drawn)
        planned = tuple(tuple(alternatives) for alternatives in (*others, (own,)))
        for alternatives in planned:
            self._reserve(alternatives, drawn)
        held = [use.memberships for alternatives in planned for uses in alternatives for use in uses]
        common = common_groups((tuple(seed.counters.common.items()), *held))
        self.counters = CounterState(drawn, seed.counters.closed, common)

    def consumed(self, name: str) -> dict[str, int]:
        """Return how much of each capacity is taken."""
        return dict(self._amounts.get(name, {}))

    def _reserve(self, alternatives: tuple[Uses, ...], drawn: dict[CounterKey, int]) -> None:
        """Take what one candidate holds: exactly one of these will come true."""
        for name, amounts in _most(_amounts_of(uses) for uses in alternatives).items():
            gone = self._amounts.setdefault(name, {})
            for capacity, amount in amounts.items():
                gone[capacity] = gone.get(capacity, 0) + amount
        charges = _most({"": _charges_of(uses)} for uses in alternatives)
        for key, amount in charges.get("", {}).items():
            drawn[key] = drawn.get(key, 0) + amount
        for use in (use for uses in alternatives for use in uses):
            name = use.device.device
            if use.consumed is None:
                self.dedicated.setdefault(name, PLANNED)
            elif name not in self.shared:
                # A shared device draws from its counters once, whoever shares it.
                self.shared[name] = {}
                for key, amount in use.charge:
                    drawn[key] = drawn.get(key, 0) + amount


class SeenTemplatePool:
    """A pool as searches for candidates see it: its counters are those of the record that the search is given."""

    __slots__ = ("pool",)

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @property
    def problem(self) -> PoolProblem | None:
        """Why no device may be handed out, or None."""
        return self.pool.problem

    @property
    def totals(self) -> Mapping[CounterKey, int]:
        """The shared counters of the pool."""
        return self.pool.totals

    @property
    def version(self) -> object:
        """Another object after every change of the pool's slices."""
        return self.pool.version

    def counter_state(self, taken: TakenDevices) -> CounterState:
        """Return what has been drawn from the counters."""
        return taken.counters if isinstance(taken, SeenDevices) else self.pool.counter_state(taken)


def seed_of(pool: Pool, taken: TakenDevices | None, freed: frozenset[Holder]) -> Seed:
    """Return what is taken of a pool, the devices of claims that are planned anew left out."""
    if taken is None:
        return NOTHING_TAKEN
    kept = _without(taken, freed) if freed else taken
    has_counters = bool(pool.totals) or bool(kept.charges)
    published = pool.current
    counters = CounterState.of(kept, published.counters, published.device) if has_counters else CounterState({})
    return Seed(kept, counters)


def _without(taken: TakenDevices, freed: frozenset[Holder]) -> TakenDevices:
    kept = TakenDevices()
    for name, holders in taken.dedicated.items():
        staying = {source: holder for source, holder in holders.items() if holder not in freed}
        if staying:
            kept.dedicated[name] = staying
    for name, sharers in taken.shared.items():
        using = {source: said for source, said in sharers.items() if said[0] not in freed}
        if using:
            kept.shared[name] = using
    kept.charges = {name: charge for name, charge in taken.charges.items() if kept.has(name)}
    kept.uncharged = {name for name in taken.uncharged if kept.has(name)}
    return kept


Table = dict[str, dict[str, int]]


def _amounts_of(uses: Uses) -> Table:
    table: Table = {}
    for use in uses:
        if use.consumed is not None:
            _add(table.setdefault(use.device.device, {}), use.consumed, use.device.driver)
    return table


def _add(gone: dict[str, int], amounts: Amounts, driver: str) -> None:
    for name, amount in amounts:
        key = full_name(name, driver)
        gone[key] = gone.get(key, 0) + amount


def _charges_of(uses: Uses) -> dict[CounterKey, int]:
    drawn: dict[CounterKey, int] = {}
    for use in uses:
        if use.consumed is None:
            for key, amount in use.charge:
                drawn[key] = drawn.get(key, 0) + amount
    return drawn


def _most(tables: Iterable[Mapping[str, Mapping[K, int]]]) -> dict[str, dict[K, int]]:
    """Return the largest amount of each entry over all tables."""
    most: dict[str, dict[K, int]] = {}
    for table in tables:
        for name, amounts in table.items():
            largest = most.setdefault(name, {})
            for key, amount in amounts.items():
                largest[key] = max(amount, largest.get(key, 0))
    return most
