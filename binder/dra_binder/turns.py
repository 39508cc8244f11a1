"""Binds that write to one claim do so one after the other."""

import asyncio
from weakref import WeakValueDictionary

from dra_scheduling.model.ids import ObjectKey


class Turns:
    """One lock a claim, for as long as somebody has it or waits for it.

    Writes hold for the version that was read, so of hundreds of pods that share a claim one would get through at a time
    and all others in vain, until their attempts are used up.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[ObjectKey, asyncio.Lock] = WeakValueDictionary()

    def at(self, claim: ObjectKey) -> asyncio.Lock:
        """Return the lock of the claim; nobody may take a second one while holding it."""
        return self._locks.setdefault(claim, asyncio.Lock())
