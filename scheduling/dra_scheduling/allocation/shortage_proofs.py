"""Proofs that demands cannot be met, found without a search."""

from collections.abc import Iterable, Sequence

import msgspec

from dra_scheduling.allocation.search import NORMAL, Demand
from dra_scheduling.devices.bits import smallest


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """These demands (by index) together want more devices than they have candidates: Hall's condition fails."""

    demands: tuple[int, ...]
    wanted: int
    found: int


def shortage(demands: Sequence[Demand], shareable: int = 0) -> Shortage | None:
    """Return demands that have too few candidates between them, or None where all could be met without constraints.

    The smallest proof comes first: one demand, then demands with the same candidates, then any set of demands. Every
    demand of the normal space can have a shareable device; what it wants beyond those it wants for itself.
    """
    for index, demand in enumerate(demands):
        if demand.candidates.bit_count() < demand.wanted:
            return Shortage(demands=(index,), wanted=demand.wanted, found=demand.candidates.bit_count())
    for space in dict.fromkeys(demand.space for demand in demands):
        mine = [index for index, demand in enumerate(demands) if demand.space == space]
        found = _shortage_of([demands[index] for index in mine], shareable if space == NORMAL else 0)
        if found is not None:
            return msgspec.structs.replace(found, demands=tuple(mine[index] for index in found.demands))
    return None


def _shortage_of(demands: Sequence[Demand], shareable: int) -> Shortage | None:
    if not shareable:
        return _dedicated_shortage(demands)
    shared = [min((demand.candidates & shareable).bit_count(), demand.wanted) for demand in demands]
    dedicated = [
        msgspec.structs.replace(demand, candidates=demand.candidates & ~shareable, wanted=demand.wanted - count)
        for demand, count in zip(demands, shared, strict=True)
    ]
    found = _dedicated_shortage(dedicated)
    if found is None:
        return None
    extra = sum(shared[index] for index in found.demands)
    return Shortage(demands=found.demands, wanted=found.wanted + extra, found=found.found + extra)


def _dedicated_shortage(demands: Sequence[Demand]) -> Shortage | None:
    sharing: dict[int, list[int]] = {}
    for index, demand in enumerate(demands):
        sharing.setdefault(demand.candidates, []).append(index)
    for candidates, members in sharing.items():
        wanted = sum(demands[index].wanted for index in members)
        if candidates.bit_count() < wanted:
            return Shortage(demands=tuple(members), wanted=wanted, found=candidates.bit_count())
    return None if are_apart(sharing) else _Matching(demands).shortage()


def are_apart(masks: Iterable[int]) -> bool:
    """Whether no device is in two of the masks."""
    seen = 0
    for mask in masks:
        if seen & mask:
            return False
        seen |= mask
    return True


class _Matching:
    """Devices given to demands, enlarged one by one along chains of demands that pass a device on."""

    def __init__(self, demands: Sequence[Demand]) -> None:
        self._demands = demands
        self._held = [0] * len(demands)
        self._free = 0
        for demand in demands:
            self._free |= demand.candidates

    def shortage(self) -> Shortage | None:
        for index, demand in enumerate(self._demands):
            quick = smallest(demand.candidates & self._free, demand.wanted)
            self._held[index] = quick
            self._free ^= quick
        for index, demand in enumerate(self._demands):
            while self._held[index].bit_count() < demand.wanted:
                stuck = self._enlarge(index)
                if stuck:
                    return self._proof(stuck)
        return None

    def _enlarge(self, needy: int) -> list[int]:
        """Give the demand one device more and return nothing, or return the demands that cannot help each other."""
        giver_to = {needy: needy}
        queue = [needy]
        for taker in queue:
            wishes = self._demands[taker].candidates
            if wishes & self._free:
                self._pass_on(taker, smallest(wishes & self._free, 1), giver_to)
                return []
            for giver, held in enumerate(self._held):
                if giver not in giver_to and held & wishes:
                    giver_to[giver] = taker
                    queue.append(giver)
        return queue

    def _pass_on(self, last: int, device: int, giver_to: dict[int, int]) -> None:
        self._free ^= device
        self._held[last] |= device
        while giver_to[last] != last:
            taker = giver_to[last]
            passed = smallest(self._held[last] & self._demands[taker].candidates, 1)
            self._held[last] ^= passed
            self._held[taker] |= passed
            last = taker

    def _proof(self, stuck: list[int]) -> Shortage:
        union = 0
        for index in stuck:
            union |= self._demands[index].candidates
        wanted = sum(self._demands[index].wanted for index in stuck)
        return Shortage(demands=tuple(sorted(stuck)), wanted=wanted, found=union.bit_count())
