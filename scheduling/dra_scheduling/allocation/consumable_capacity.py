"""Capacity of shareable devices during a search: every share leaves less room for the next one."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from dra_scheduling.allocation.search import Demand
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.devices.consumable_capacity import Amounts
from dra_scheduling.devices.selections import DeviceCriteria


class RemainingCapacity:
    """What is left of the capacities of all shareable devices, and what each wish would take of them."""

    __slots__ = ("_history", "_left", "_portions", "_state", "_states", "_uses", "fitting", "shareable", "touched")

    def __init__(self, board: SearchSpace, wishes: Iterable[DeviceCriteria]) -> None:
        self.shareable = board.shareable
        self._left = {number: dict(left) for number, left in board.rooms().items()}
        self._portions: dict[DeviceCriteria, dict[int, Amounts]] = {wish: board.portions(wish) for wish in wishes}
        self.fitting: dict[DeviceCriteria, int] = {}
        for wish, portions in self._portions.items():
            self.fitting[wish] = sum(1 << number for number, amounts in portions.items() if self._fits(number, amounts))
        self._uses: dict[int, int] = {}
        self._history: list[tuple[DeviceCriteria, int]] = []
        self.touched = 0
        self._state: int | None = None
        self._states: dict[Hashable, int] = {}

    @property
    def state(self) -> int:
        """What is left of the touched devices, as a number: every wish is asked for it at every step."""
        if self._state is None:
            left = tuple((number, *self._left[number].values()) for number in sorted(self._uses))
            self._state = self._states.setdefault(left, len(self._states))
        return self._state

    def distinctions(self) -> tuple[int, ...]:
        """Return the sets of devices that have the same room and would give the same to every wish."""
        kinds: dict[Hashable, int] = {}
        for number, left in self._left.items():
            given = tuple(portions.get(number) for portions in self._portions.values())
            kind = (tuple(sorted(left.items())), given)
            kinds[kind] = kinds.get(kind, 0) | 1 << number
        return tuple(kinds.values())

    def take(self, wish: DeviceCriteria, device: int) -> None:
        """Take a share of a shareable device, given as a mask with one bit."""
        number = device.bit_length() - 1
        self._uses[number] = self._uses.get(number, 0) + 1
        self.touched |= device
        self._history.append((wish, number))
        self._change(number, self._portions[wish][number], -1)

    def rewind(self) -> None:
        """Undo the last `take`."""
        wish, number = self._history.pop()
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._uses[number]
            self.touched ^= 1 << number
        self._change(number, self._portions[wish][number], 1)

    def _change(self, number: int, amounts: Amounts, sign: int) -> None:
        self._state = None
        left = self._left[number]
        for name, amount in amounts:
            left[name] += sign * amount
        for wish, portions in self._portions.items():
            if number in portions:
                bit = 1 << number
                fits = self._fits(number, portions[number])
                self.fitting[wish] = self.fitting[wish] | bit if fits else self.fitting[wish] & ~bit

    def _fits(self, number: int, amounts: Amounts) -> bool:
        left: Mapping[str, int] = self._left[number]
        return all(amount <= left[name] for name, amount in amounts)


class ShareRule:
    """One wish's part in the rooms: a shareable device is allowed while there is room for what the wish takes of it."""

    __slots__ = ("_history", "_rooms", "_wish", "distinctions")

    def __init__(self, rooms: RemainingCapacity, wish: DeviceCriteria) -> None:
        self._rooms = rooms
        self._wish = wish
        self._history: list[int] = []
        self.distinctions = rooms.distinctions()

    @property
    def allowed(self) -> int:
        """Devices that are not shareable, and those with room."""
        return ~self._rooms.shareable | self._rooms.fitting[self._wish]

    @property
    def touched(self) -> int:
        """The devices with shares that the search took."""
        return self._rooms.touched

    @property
    def state(self) -> Hashable:
        """What is left in all rooms."""
        return self._rooms.state

    def take(self, device: int) -> None:
        """Take a share of an allowed device if it is shareable."""
        shared = device & self._rooms.shareable
        self._history.append(shared)
        if shared:
            self._rooms.take(self._wish, shared)

    def rewind(self) -> None:
        """Undo the last `take`."""
        if self._history.pop():
            self._rooms.rewind()


def share_rules(board: SearchSpace, wishes: Mapping[DeviceCriteria, int]) -> dict[DeviceCriteria, ShareRule]:
    """Return a rule for each wish that may take shareable devices; `wishes` maps each to its candidates."""
    concerned = [wish for wish, candidates in wishes.items() if candidates & board.shareable]
    if not concerned:
        return {}
    rooms = RemainingCapacity(board, concerned)
    return {wish: ShareRule(rooms, wish) for wish in concerned}


def capacity_shortage(
    demands: Sequence[Demand], wishes: Sequence[DeviceCriteria], board: SearchSpace
) -> tuple[tuple[int, ...], str] | None:
    """Return demands (by index) that take more of a capacity together than is left, with its name, or None.

    What each takes at least is counted over its cheapest candidates; devices without that capacity are free of it.
    """
    left: dict[str, int] = {}
    for room in board.rooms().values():
        for name, amount in room.items():
            left[name] = left.get(name, 0) + max(amount, 0)
    for capacity, total in left.items():
        members, taken = [], 0
        for index, (demand, wish) in enumerate(zip(demands, wishes, strict=True)):
            least = 0 if demand.is_admin else _least(demand, board.portions(wish), capacity)
            if least:
                members.append(index)
                taken += least
        if taken > total:
            return tuple(members), capacity
    return None


def _least(demand: Demand, portions: Mapping[int, Amounts], capacity: str) -> int:
    amounts = sorted(
        dict(portion).get(capacity, 0) for number, portion in portions.items() if demand.candidates >> number & 1
    )
    missing = demand.wanted - (demand.candidates.bit_count() - len(amounts))
    return sum(amounts[:missing]) if missing > 0 else 0
