"""The search for devices: depth first over demands, on whole numbers, without trying the same thing twice.

Three facts keep it small. Devices that nothing tells apart are tried once a place. Of two interchangeable demands the
earlier one takes the smaller device. After every device taken, later demands must still have enough to choose from.
The first solution found is the first of all in the order of demands and devices.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from dra_scheduling.allocation.constraints import Constraint, alike

NO_TWIN = -1


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """`wanted` devices out of `candidates`. `rules` are indexes of the constraints that bind it.

    `twin` is the index of the nearest earlier demand that this one could change places with, rules and partners
    included; `NO_TWIN` if there is none.
    """

    candidates: int
    wanted: int
    rules: tuple[int, ...] = ()
    twin: int = NO_TWIN


class Found(msgspec.Struct, frozen=True):
    """The devices of each demand, and the number of devices that were tried."""

    picks: tuple[int, ...]
    steps: int


class NotFound(msgspec.Struct, frozen=True):
    """Nothing satisfies all demands, or (`is_exhausted`) nobody knows: the budget ended first."""

    steps: int
    is_exhausted: bool


class Watcher(Protocol):
    """Is told each step: the index of the demand, and the device as a bit."""

    def took(self, demand: int, device: int) -> None:
        """A device was taken for a demand."""

    def gave_back(self, demand: int, device: int) -> None:
        """It led nowhere."""


class _Choice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device taken for a demand: what else could have been taken there, and how many were wanted."""

    demand: int
    device: int
    choices: int
    wanted: int


class _Rivals(msgspec.Struct, frozen=True, kw_only=True):
    """Later demands that are the same to the outlook: together they want `wanted` of the candidates."""

    candidates: int
    rules: tuple[int, ...]
    wanted: int


def search(
    demands: Sequence[Demand], constraints: Sequence[Constraint], budget: int, watcher: Watcher | None = None
) -> Found | NotFound:
    """Return the first choice of devices that satisfies every demand and constraint, no device twice.

    A step is one device tried; the budget bounds their number.
    """
    if watcher is None:
        return _Search(demands, constraints).run(budget)
    return _WatchedSearch(demands, constraints, watcher).run(budget)


class _Search:
    __slots__ = ("_alike", "_constraints", "_demands", "_distinctions", "_everything", "_free", "_picks", "_rivals")

    def __init__(self, demands: Sequence[Demand], constraints: Sequence[Constraint]) -> None:
        self._demands = demands
        self._constraints = constraints
        self._everything = 0
        for demand in demands:
            self._everything |= demand.candidates
        self._free = self._everything
        self._picks = [0] * len(demands)
        self._rivals = _rivals(demands)
        self._alike: dict[int, int] = {}
        self._distinctions = tuple(
            {demand.candidates: None for demand in demands}
            | {mask: None for constraint in constraints for mask in constraint.distinctions}
        )

    def run(self, budget: int) -> Found | NotFound:
        steps, trail = 0, list[_Choice]()
        index, wanted, choices = -1, 0, 0
        while True:
            while not wanted:
                index += 1
                if index == len(self._demands):
                    return Found(tuple(self._picks), steps)
                wanted, choices = self._demands[index].wanted, self._open(index)
            for rule in self._demands[index].rules:
                choices &= self._constraints[rule].allowed
            if choices.bit_count() >= wanted and self._has_outlook(index):
                if steps == budget:
                    return NotFound(steps, is_exhausted=True)
                steps += 1
                device = choices & -choices
                trail.append(_Choice(demand=index, device=device, choices=choices, wanted=wanted))
                self._take(index, device)
                choices ^= device
                wanted -= 1
            elif trail:
                last = trail.pop()
                self._give_back(last)
                index, wanted = last.demand, last.wanted
                choices = last.choices & ~self._alike_to(last.device)
            else:
                return NotFound(steps, is_exhausted=False)

    def _open(self, index: int) -> int:
        """Return what a demand may choose from: free candidates, beyond the first choice of its twin."""
        demand = self._demands[index]
        choices = demand.candidates & self._free
        if demand.twin != NO_TWIN:
            first = self._picks[demand.twin] & -self._picks[demand.twin]
            choices &= ~((first << 1) - 1)
        return choices

    def _has_outlook(self, index: int) -> bool:
        """Whether every later demand still has enough candidates, the rest of this one's wishes left aside."""
        for rivals in self._rivals[index]:
            left = rivals.candidates & self._free
            for rule in rivals.rules:
                left &= self._constraints[rule].allowed
            if left.bit_count() < rivals.wanted:
                return False
        return True

    def _take(self, index: int, device: int) -> None:
        self._free ^= device
        self._picks[index] |= device
        for rule in self._demands[index].rules:
            self._constraints[rule].take(device)

    def _give_back(self, choice: _Choice) -> None:
        self._free |= choice.device
        self._picks[choice.demand] ^= choice.device
        for rule in self._demands[choice.demand].rules:
            self._constraints[rule].rewind()

    def _alike_to(self, device: int) -> int:
        same = self._alike.get(device)
        if same is None:
            same = self._alike[device] = alike(device, self._distinctions, self._everything)
        return same


class _WatchedSearch(_Search):
    """The same search, which tells what it does: a class of its own, so that nobody else pays for it."""

    __slots__ = ("_watcher",)

    def __init__(self, demands: Sequence[Demand], constraints: Sequence[Constraint], watcher: Watcher) -> None:
        super().__init__(demands, constraints)
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
        wanted: dict[tuple[int, tuple[int, ...]], int] = {}
        for later in demands[index + 1 :]:
            if later.candidates & demand.candidates or set(later.rules) & set(demand.rules):
                key = (later.candidates, later.rules)
                wanted[key] = wanted.get(key, 0) + later.wanted
        result.append(
            tuple(
                _Rivals(candidates=candidates, rules=rules, wanted=total)
                for (candidates, rules), total in wanted.items()
            )
        )
    return result
