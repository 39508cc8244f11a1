"""A limit on the tasks that run at once, in which a task that waits gives its slot to another one meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LONG_PAUSE = 0.2
"""Giving a slot away for less is not worth it."""


class Slot:
    """The slot of one task, passed to whatever may wait on its behalf. Without a semaphore it limits nothing."""

    __slots__ = ("_semaphore",)

    def __init__(self, semaphore: asyncio.Semaphore | None = None) -> None:
        self._semaphore = semaphore

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Give the slot to another task for as long as the context lasts."""
        if self._semaphore is None:
            yield
            return
        self._semaphore.release()
        try:
            yield
        finally:
            await self._semaphore.acquire()

    async def sleep(self, seconds: float) -> None:
        """Let time pass; during a long pause another task has the slot."""
        if seconds < LONG_PAUSE:
            await asyncio.sleep(seconds)
            return
        async with self.released():
            await asyncio.sleep(seconds)


class Slots:
    """So many slots as tasks may run at once."""

    __slots__ = ("_semaphore",)

    def __init__(self, number: int) -> None:
        self._semaphore = asyncio.Semaphore(number)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Slot]:
        """Return a slot as soon as there is one, for as long as the context lasts."""
        async with self._semaphore:
            yield Slot(self._semaphore)
