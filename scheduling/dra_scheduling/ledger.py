"""The one record of taken devices: who holds what, and who says so.

Several sources may say that one holder has a device (a BindRequest first, then the claim itself). A device is free
again when the last source lets go of it.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from dra_scheduling.model.ids import DeviceID, PoolKey

Holder = str
"""The identity of a claim, the same whichever source speaks of it."""


class Source(NamedTuple):
    """Who says that devices are held: the kind of object or plan, and its UID."""

    kind: str
    uid: str


class Held(msgspec.Struct, frozen=True):
    """What one source says: a holder and its devices."""

    holder: Holder
    devices: tuple[DeviceID, ...]


class Mark(NamedTuple):
    """A point in the ledger's history that `rewind` can return to."""

    era: int
    length: int


class TakenDevices:
    """The taken devices of one pool by name, each with who says so. `stamp` is another object after every change."""

    __slots__ = ("sources", "stamp")

    def __init__(self) -> None:
        self.sources: dict[str, dict[Source, Holder]] = {}
        self.stamp = object()


class Ledger:
    """Devices held by claims, unfinished BindRequests and plans.

    A journal is kept from the first `mark` until `settle`, so that a ledger nobody marks does not grow.
    `taken_count` is the number of taken devices.
    """

    __slots__ = ("_era", "_held", "_is_marked", "_journal", "_pools", "taken_count")

    def __init__(self) -> None:
        self.taken_count = 0
        self._held: dict[Source, Held] = {}
        self._pools: dict[PoolKey, TakenDevices] = {}
        self._journal: list[tuple[Source, Held | None]] = []
        self._is_marked = False
        self._era = 0

    @property
    def held(self) -> Mapping[Source, Held]:
        """What every source says; a live view."""
        return MappingProxyType(self._held)

    def hold(self, source: Source, holder: Holder, devices: Iterable[DeviceID]) -> None:
        """Let `source` say that `holder` has these devices and nothing else; what it said before is replaced."""
        self._replace(source, Held(holder, tuple(devices)))

    def release(self, source: Source) -> tuple[DeviceID, ...]:
        """Let `source` say nothing any more; return the devices that it held."""
        before = self._held.get(source)
        if before is None:
            return ()
        self._replace(source, None)
        return before.devices

    def is_taken(self, device: DeviceID) -> bool:
        """Whether any source says that somebody has the device."""
        taken = self._pools.get(device.pool_key)
        return taken is not None and device.device in taken.sources

    def holders(self, device: DeviceID) -> frozenset[Holder]:
        """Return who has the device; more than one means that it was given twice."""
        taken = self._pools.get(device.pool_key)
        return frozenset(taken.sources.get(device.device, {}).values()) if taken is not None else frozenset()

    def taken_in(self, pool: PoolKey) -> AbstractSet[str]:
        """Return the names of the pool's taken devices, published or not; a live view."""
        taken = self._pools.get(pool)
        return taken.sources.keys() if taken is not None else frozenset()

    def taken(self, pool: PoolKey) -> TakenDevices | None:
        """Return the record of a pool, or None where nothing is taken. Masks kept by its stamp stay true."""
        return self._pools.get(pool)

    def mark(self) -> Mark:
        """Return the present as a point to come back to."""
        self._is_marked = True
        return Mark(self._era, len(self._journal))

    def rewind(self, mark: Mark) -> None:
        """Undo everything since `mark`, which stays valid. A mark of settled or undone history is a ValueError."""
        if mark.era != self._era or mark.length > len(self._journal):
            raise ValueError("the history that this mark belongs to is settled or undone")
        while len(self._journal) > mark.length:
            source, before = self._journal.pop()
            self._set(source, before)

    def settle(self) -> None:
        """Make everything so far final: marks end, and the journal is dropped until the next mark."""
        self._journal.clear()
        self._is_marked = False
        self._era += 1

    def _replace(self, source: Source, said: Held | None) -> None:
        if self._is_marked:
            self._journal.append((source, self._held.get(source)))
        self._set(source, said)

    def _set(self, source: Source, said: Held | None) -> None:
        before = self._held.pop(source, None)
        if before is not None:
            self._free(source, before.devices)
        if said is not None:
            self._held[source] = said
            self._take(source, said)

    def _take(self, source: Source, said: Held) -> None:
        for driver, pool, name in said.devices:
            key = PoolKey(driver, pool)
            taken = self._pools.get(key)
            if taken is None:
                taken = self._pools[key] = TakenDevices()
            self.taken_count += name not in taken.sources
            taken.sources.setdefault(name, {})[source] = said.holder
            taken.stamp = object()

    def _free(self, source: Source, devices: tuple[DeviceID, ...]) -> None:
        for driver, pool, name in devices:
            key = PoolKey(driver, pool)
            taken = self._pools.get(key)
            if taken is None or name not in taken.sources:
                continue
            taken.sources[name].pop(source, None)
            taken.stamp = object()
            if not taken.sources[name]:
                del taken.sources[name]
                self.taken_count -= 1
            if not taken.sources:
                del self._pools[key]
