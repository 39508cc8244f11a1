"""Shared counters during a search, and proofs that they do not suffice."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.allocation.search import Demand
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.devices.ledger import CounterKey


class Drawer(msgspec.Struct, frozen=True, kw_only=True):
    """Devices that draw the same: `amounts` by the number of the counter on the board."""

    devices: int
    amounts: tuple[tuple[int, int], ...]


class CounterSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The counters within reach of a node: how each is called, what is left of it, and who draws from it.

    `users` holds, for each counter, pairs of an amount and the devices that draw it, the largest amount first.
    `companies` are the counter sets whose devices do not all go together: those of each compatibility group.
    """

    keys: tuple[tuple[int, CounterKey], ...]
    left: tuple[int, ...]
    drawers: tuple[Drawer, ...]
    users: tuple[tuple[tuple[int, int], ...], ...]
    companies: tuple[tuple[int, ...], ...] = ()

    @property
    def consumers(self) -> int:
        """The devices that draw from any counter."""
        mask = 0
        for drawer in self.drawers:
            mask |= drawer.devices
        return mask


def sheet_of(board: SearchSpace) -> CounterSheet:
    """Return the counters that devices of the board draw from; devices that have drawn already draw no more."""
    keys: list[tuple[int, CounterKey]] = []
    left: list[int] = []
    drawers: list[Drawer] = []
    companies: list[tuple[int, ...]] = []
    for number, (offset, pool, stock) in enumerate(board.pools):
        profile = pool.profile
        place = {key: len(keys) + index for index, key in enumerate(profile.keys)}
        keys += [(number, key) for key in profile.keys]
        left += stock.left
        for spending in profile.spendings:
            devices = (spending.devices & ~stock.charged) << offset
            if devices:
                amounts = tuple((place[key], amount) for key, amount in spending.charge)
                drawers.append(Drawer(devices=devices, amounts=amounts))
        companies += [tuple(mask << offset for mask in groups) for groups in stock.allies if len(groups) > 1]
    users: list[dict[int, int]] = [{} for _ in keys]
    for drawer in drawers:
        for index, amount in drawer.amounts:
            users[index][amount] = users[index].get(amount, 0) | drawer.devices
    return CounterSheet(
        keys=tuple(keys),
        left=tuple(left),
        drawers=tuple(drawers),
        users=tuple(tuple(sorted(amounts.items(), reverse=True)) for amounts in users),
        companies=tuple(companies),
    )


class CounterRule:
    """Devices draw from counters as they are taken, a shareable one only once; none is overdrawn."""

    __slots__ = ("_blocked", "_drawers", "_history", "_left", "_shareable", "_users", "_uses", "distinctions")

    touched = 0

    def __init__(self, sheet: CounterSheet, shareable: int) -> None:
        self._left = list(sheet.left)
        self._drawers = sheet.drawers
        self._users = sheet.users
        self._shareable = shareable
        self._blocked = [self._too_much(index) for index in range(len(self._left))]
        self._uses: dict[int, int] = {}
        self._history: list[tuple[int, Drawer | None]] = []
        self.distinctions = (*(drawer.devices for drawer in sheet.drawers), shareable)

    @property
    def allowed(self) -> int:
        """The devices whose counters suffice."""
        blocked = 0
        for mask in self._blocked:
            blocked |= mask
        for device in self._uses:
            blocked &= ~device
        return ~blocked

    @property
    def state(self) -> Hashable:
        """What is left, and which shareable devices have drawn."""
        return (*self._left, *self._uses)

    def take(self, device: int) -> None:
        """Let an allowed device draw."""
        drawer = None
        if device & self._shareable:
            self._uses[device] = self._uses.get(device, 0) + 1
        if self._uses.get(device, 0) <= 1:
            drawer = next((drawer for drawer in self._drawers if drawer.devices & device), None)
        self._history.append((device, drawer))
        if drawer is not None:
            self._change(drawer, -1)

    def rewind(self) -> None:
        """Undo the last `take`."""
        device, drawer = self._history.pop()
        if device in self._uses:
            self._uses[device] -= 1
            if not self._uses[device]:
                del self._uses[device]
        if drawer is not None:
            self._change(drawer, 1)

    def _change(self, drawer: Drawer, sign: int) -> None:
        for index, amount in drawer.amounts:
            self._left[index] += sign * amount
            self._blocked[index] = self._too_much(index)

    def _too_much(self, index: int) -> int:
        blocked, left = 0, self._left[index]
        for amount, devices in self._users[index]:
            if amount <= left:
                break
            blocked |= devices
        return blocked


class Overdraft(msgspec.Struct, frozen=True, kw_only=True):
    """These demands (by index) draw at least `wanted` from counters of one name, of which `left` is there.

    Or, without a name: they want `wanted` devices, and the counters leave room for `left`. `counters` are the counters
    that were added up, by number.
    """

    demands: tuple[int, ...]
    counter: str
    wanted: int
    left: int
    counters: tuple[int, ...] = ()


def overdraft(demands: Sequence[Demand], sheet: CounterSheet, shareable: int) -> Overdraft | None:
    """Return the proof that the counters do not suffice, or None where sums do not tell.

    First each counter by itself, then all counters of one name together: parts of whatever device, and whole ones, draw
    from different sets of the same kind. Last how many devices of one kind the sets have room for.
    """
    for name, indexes in _ledgers(sheet):
        found = _sum_proof(demands, sheet, indexes, shareable)
        if found is not None:
            members, wanted = found
            left = sum(max(sheet.left[index], 0) for index in indexes)
            return Overdraft(demands=members, counter=name, wanted=wanted, left=left, counters=indexes)
    return _room_proof(demands, sheet, shareable)


def _ledgers(sheet: CounterSheet) -> Iterator[tuple[str, tuple[int, ...]]]:
    by_name: dict[str, list[int]] = {}
    for index, (_, (_, name)) in enumerate(sheet.keys):
        yield name, (index,)
        by_name.setdefault(name, []).append(index)
    for name, indexes in by_name.items():
        if len(indexes) > 1:
            yield name, tuple(indexes)


def _sum_proof(
    demands: Sequence[Demand], sheet: CounterSheet, indexes: Iterable[int], shareable: int
) -> tuple[tuple[int, ...], int] | None:
    least = least_draw(sheet, indexes, shareable)
    left = sum(max(sheet.left[index], 0) for index in indexes)
    drawn = {number: amount for number, demand in enumerate(demands) if (amount := least(demand))}
    total = sum(drawn.values())
    return (tuple(drawn), total) if total > left else None


def least_draw(sheet: CounterSheet, indexes: Iterable[int], shareable: int) -> Callable[[Demand], int]:
    """Return what a demand draws at least from these counters together, as a function of the demand."""
    weights = _weights(sheet, indexes, shareable)
    users = 0
    for _, devices in weights:
        users |= devices
    return lambda demand: 0 if demand.is_admin else _least(demand, weights, users)


def _weights(sheet: CounterSheet, indexes: Iterable[int], shareable: int) -> list[tuple[int, int]]:
    """Return pairs of an amount, over all these counters, and the devices that draw it, the smallest first."""
    wanted = set(indexes)
    found: dict[int, int] = {}
    for drawer in sheet.drawers:
        amount = sum(amount for index, amount in drawer.amounts if index in wanted)
        devices = drawer.devices & ~shareable
        if amount and devices:
            found[amount] = found.get(amount, 0) | devices
    return sorted(found.items())


def _least(demand: Demand, weights: Sequence[tuple[int, int]], users: int) -> int:
    """Return the least that the demand draws, whatever devices it gets."""
    missing = demand.wanted - (demand.candidates & ~users).bit_count()
    total = 0
    for amount, devices in weights:
        if missing <= 0:
            break
        count = min(missing, (demand.candidates & devices).bit_count())
        total += count * amount
        missing -= count
    return total


def _room_proof(demands: Sequence[Demand], sheet: CounterSheet, shareable: int) -> Overdraft | None:
    """Return a kind of device of which the counter sets do not have room for enough."""
    sharing: dict[int, list[int]] = {}
    for number, demand in enumerate(demands):
        if not demand.is_admin and demand.candidates & sheet.consumers and not demand.candidates & shareable:
            sharing.setdefault(demand.candidates, []).append(number)
    for candidates, members in sharing.items():
        wanted = sum(demands[number].wanted for number in members)
        room = _room(candidates, sheet)
        if room < wanted:
            return Overdraft(demands=tuple(members), counter="", wanted=wanted, left=room)
    return None


def _room(candidates: int, sheet: CounterSheet) -> int:
    """Return how many of the devices the counters have room for at most, set by set."""
    sets: dict[tuple[int, str], list[int]] = {}
    for index, (pool, (name, _)) in enumerate(sheet.keys):
        sets.setdefault((pool, name), []).append(index)
    room, rest = 0, candidates
    for indexes in sets.values():
        inside = 0
        for index in indexes:
            for _, devices in sheet.users[index]:
                inside |= devices & rest
        if inside:
            rest &= ~inside
            room += min(_fitting(inside, sheet, index) for index in indexes)
    return room + rest.bit_count()


def _fitting(devices: int, sheet: CounterSheet, index: int) -> int:
    """Return how many of the devices one counter has room for, the cheapest first."""
    left, users = sheet.left[index], 0
    for _, drawing in sheet.users[index]:
        users |= drawing
    count = (devices & ~users).bit_count()
    for amount, drawing in reversed(sheet.users[index]):
        here = (devices & drawing).bit_count()
        affordable = min(here, left // amount) if left > 0 else 0
        count += affordable
        left -= affordable * amount
        if affordable < here:
            break
    return count
