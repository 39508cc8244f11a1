"""The search for devices: depth first over demands, on whole numbers, without trying the same thing twice.

Four facts keep it small. Devices that nothing tells apart are tried once a place. Of two interchangeable demands the
earlier one takes the smaller device. After every device taken, later demands must still have enough to choose from.
What was proved impossible once is not tried again. The first solution found is the first of all in the order of demands
and devices.

Devices are bits. Five of them hang off two PCIe roots, the first two off one; `x` wants one of all, `y` two of the last
four, and all three of one root:

>>> from dra_scheduling.allocation.constraints import MatchAttribute
>>> same_root = MatchAttribute([0b00011, 0b11100])
>>> x = Demand(candidates=0b11111, wanted=1, rules=(0,))
>>> y = Demand(candidates=0b11110, wanted=2, rules=(0,))
>>> search([x, y], [same_root], budget=100)
Found(picks=(4, 24), steps=5)

Step 1 gives device 0 to `x`. That leaves the first root, in which `y` could have device 1 alone: no outlook, so it is
given back before anything is tried for `y`. Step 2 gives device 1 to `x`, with the same end; device 1 is not passed
over as like device 0, because `y` may have only one of them. Step 3 gives device 2, which leaves 3 and 4 for `y`, and
steps 4 and 5 take them. Device 3 would not have been tried in the place of device 2: nothing tells the two apart.

Were there a thousand alike devices in the first root, none of which `y` may have, they would cost one step together.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec

from dra_scheduling.allocation.constraints import AdminOrNormal, Constraint, alike
from dra_scheduling.allocation.deadline import IsLate, never

NO_TWIN = -1
NORMAL = -1
"""The space of demands that take devices away from one another; those of any other space do so among themselves."""
STEPS_PER_READING = 256
"""So many steps go by, of some microseconds each, between two readings of the clock."""
STEPS_BEFORE_MEMORY = 64
"""Short searches are quicker without remembering what failed."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """`wanted` devices out of `candidates`. `rules` are indexes of the constraints that bind it.

    A device that a demand takes is not there any more for the demands of the same `space`, unless it is shareable.

    `twin` is the index of the nearest earlier demand that this one could change places with, rules and partners
    included; `NO_TWIN` if there is none.
    """

    candidates: int
    wanted: int
    rules: tuple[int, ...] = ()
    twin: int = NO_TWIN
    space: int = NORMAL

    @property
    def is_admin(self) -> bool:
        """Whether devices are only looked at, and nobody else's view changes by it."""
        return self.space != NORMAL


class Found(msgspec.Struct, frozen=True):
    """The devices of each demand, and the number of devices that were tried."""

    picks: tuple[int, ...]
    steps: int


class NotFound(msgspec.Struct, frozen=True):
    """Nothing satisfies all demands, or (`is_exhausted`) nobody knows: the budget or the time ended first."""

    steps: int
    is_exhausted: bool


class SearchObserver(Protocol):
    """Is told each step: the index of the demand, and the device as a bit."""

    def took(self, demand: int, device: int) -> None:
        """A device was taken for a demand."""

    def gave_back(self, demand: int, device: int) -> None:
        """It led nowhere."""


class _Choice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device taken for a demand: what else could have been taken there, and how many were wanted.

    `entry` is the state in which this place was entered, None where nobody remembers.
    """

    demand: int
    device: int
    choices: int
    wanted: int
    entry: Hashable


class _Rivals(msgspec.Struct, frozen=True, kw_only=True):
    """Later demands that are the same to the outlook: each wants so many of the candidates, `wanted` together."""

    candidates: int
    rules: tuple[int, ...]
    space: int
    each: tuple[int, ...]
    wanted: int


def search(
    demands: Sequence[Demand],
    constraints: Sequence[Constraint],
    budget: int,
    watcher: SearchObserver | None = None,
    shareable: int = 0,
    is_late: IsLate = never,
) -> Found | NotFound:
    """Return the first choice of devices that satisfies every demand and constraint.

    No device is taken twice by one demand, nor, unless it is `shareable`, by two of one space. A step is one device
    tried; the budget bounds their number, and a long search ends soon after it is late, too.
    """
    if watcher is None:
        return _Search(demands, constraints, shareable).run(budget, is_late)
    return _WatchedSearch(demands, constraints, shareable, watcher).run(budget, is_late)


class _Patience:
    """How long a search goes on. It is to be asked again at the step `until`."""

    __slots__ = ("_budget", "_is_late", "until")

    def __init__(self, budget: int, is_late: IsLate) -> None:
        self._budget = budget
        self._is_late = is_late
        self.until = min(budget, STEPS_PER_READING)

    def is_over(self, steps: int) -> bool:
        """Whether the budget is spent after so many steps, or it is late."""
        self.until = min(self._budget, steps + STEPS_PER_READING)
        return steps >= self._budget or self._is_late()


class _Search:
    __slots__ = (
        "_alike",
        "_can_touch",
        "_constraints",
        "_demands",
        "_distinctions",
        "_everything",
        "_failed",
        "_free",
        "_later",
        "_picks",
        "_rivals",
        "_shareable",
        "_twins_ahead",
    )

    def __init__(self, demands: Sequence[Demand], constraints: Sequence[Constraint], shareable: int) -> None:
        self._demands = demands
        self._constraints = constraints
        self._shareable = shareable
        self._everything = 0
        for demand in demands:
            self._everything |= demand.candidates
        self._free = {demand.space: self._everything for demand in demands}
        self._picks = [0] * len(demands)
        self._rivals = _rivals(demands)
        self._alike: dict[int, int] = {}
        self._distinctions = tuple(
            {demand.candidates: None for demand in demands}
            | {mask: None for constraint in constraints for mask in constraint.distinctions}
        )
        self._can_touch = bool(shareable) or any(isinstance(one, AdminOrNormal) for one in constraints)
        self._failed: set[Hashable] = set()
        self._later = _later(demands)
        self._twins_ahead = _twins_ahead(demands)

    def run(self, budget: int, is_late: IsLate) -> Found | NotFound:
        steps, trail = 0, list[_Choice]()
        patience = _Patience(budget, is_late)
        index, wanted, choices = -1, 0, 0
        entry: Hashable = None
        is_new = True
        while True:
            while not wanted:
                index += 1
                if index == len(self._demands):
                    return Found(tuple(self._picks), steps)
                wanted, choices = self._demands[index].wanted, self._open(index)
            for rule in self._demands[index].rules:
                choices &= self._constraints[rule].allowed
            if is_new:
                entry = self._state(index, wanted, choices) if steps > STEPS_BEFORE_MEMORY else None
            is_dead = is_new and entry is not None and entry in self._failed
            if not is_dead and choices.bit_count() >= wanted and self._has_outlook(index):
                if steps >= patience.until and patience.is_over(steps):
                    return NotFound(steps, is_exhausted=True)
                steps += 1
                device = choices & -choices
                trail.append(_Choice(demand=index, device=device, choices=choices, wanted=wanted, entry=entry))
                self._take(index, device)
                choices ^= device
                wanted -= 1
                is_new = True
            elif trail:
                if entry is not None:
                    self._failed.add(entry)
                last = trail.pop()
                self._give_back(last)
                index, wanted, entry = last.demand, last.wanted, last.entry
                choices = last.choices & ~self._alike_to(last.device)
                is_new = False
            else:
                return NotFound(steps, is_exhausted=False)

    def _open(self, index: int) -> int:
        """Return what a demand may choose from: free candidates, from the first choice of its twin on."""
        demand = self._demands[index]
        choices = demand.candidates & self._free[demand.space]
        if demand.twin != NO_TWIN:
            first = self._picks[demand.twin] & -self._picks[demand.twin]
            choices &= -first
        return choices

    def _has_outlook(self, index: int) -> bool:
        """Whether every later demand still has enough candidates, the rest of this one's wishes left aside."""
        for rivals in self._rivals[index]:
            left = rivals.candidates & self._free[rivals.space]
            for rule in rivals.rules:
                left &= self._constraints[rule].allowed
            if left.bit_count() >= rivals.wanted:
                continue
            shared = (left & self._shareable).bit_count() if rivals.space == NORMAL else 0
            if not shared or left.bit_count() - shared < sum(max(wanted - shared, 0) for wanted in rivals.each):
                return False
        return True

    def _state(self, index: int, wanted: int, choices: int) -> Hashable:
        """Return all that the rest of the search depends on."""
        return (
            index,
            wanted,
            choices,
            *(free & self._later[index] for free in self._free.values()),
            *(constraint.state for constraint in self._constraints),
            *(self._picks[twin] & -self._picks[twin] for twin in self._twins_ahead[index]),
        )

    def _is_used_up(self, index: int, device: int) -> bool:
        """Whether others of the space cannot have the device as well."""
        return not device & self._shareable or self._demands[index].space != NORMAL

    def _take(self, index: int, device: int) -> None:
        if self._is_used_up(index, device):
            self._free[self._demands[index].space] ^= device
        self._picks[index] |= device
        for rule in self._demands[index].rules:
            self._constraints[rule].take(device)

    def _give_back(self, choice: _Choice) -> None:
        if self._is_used_up(choice.demand, choice.device):
            self._free[self._demands[choice.demand].space] |= choice.device
        self._picks[choice.demand] ^= choice.device
        for rule in reversed(self._demands[choice.demand].rules):
            self._constraints[rule].rewind()

    def _alike_to(self, device: int) -> int:
        """Return the devices that would lead to the same end: alike, and not told apart by what was taken so far."""
        same = self._alike.get(device)
        if same is None:
            same = self._alike[device] = alike(device, self._distinctions, self._everything)
        if self._can_touch:
            touched = 0
            for constraint in self._constraints:
                touched |= constraint.touched
            same = device if device & touched else same & ~touched
        return same


class _WatchedSearch(_Search):
    """The same search, which tells what it does: a class of its own, so that nobody else pays for it."""

    __slots__ = ("_watcher",)

    def __init__(
        self, demands: Sequence[Demand], constraints: Sequence[Constraint], shareable: int, watcher: SearchObserver
    ) -> None:
        super().__init__(demands, constraints, shareable)
        self._watcher = watcher

    def _take(self, index: int, device: int) -> None:
        super()._take(index, device)
        self._watcher.took(index, device)

    def _give_back(self, choice: _Choice) -> None:
        super()._give_back(choice)
        self._watcher.gave_back(choice.demand, choice.device)


def _rivals(demands: Sequence[Demand]) -> list[tuple[_Rivals, ...]]:
    """Return, for each demand, what the later ones want that it can spoil: by candidates or by a common rule."""
    result = []
    for index, demand in enumerate(demands):
        wanted: dict[tuple[int, tuple[int, ...], int], list[int]] = {}
        for later in demands[index + 1 :]:
            is_near = later.space == demand.space and later.candidates & demand.candidates
            if is_near or set(later.rules) & set(demand.rules):
                wanted.setdefault((later.candidates, later.rules, later.space), []).append(later.wanted)
        result.append(
            tuple(
                _Rivals(candidates=candidates, rules=rules, space=space, each=tuple(each), wanted=sum(each))
                for (candidates, rules, space), each in wanted.items()
            )
        )
    return result


def _later(demands: Sequence[Demand]) -> list[int]:
    """Return, for each demand, the candidates of those behind it."""
    result, mask = [], 0
    for demand in reversed(demands):
        result.append(mask)
        mask |= demand.candidates
    return result[::-1]


def _twins_ahead(demands: Sequence[Demand]) -> list[tuple[int, ...]]:
    """Return, for each demand, the ones up to it that a later one is the twin of."""
    return [
        tuple(sorted({later.twin for later in demands[index + 1 :] if NO_TWIN < later.twin <= index}))
        for index in range(len(demands))
    ]
