"""Places for what may happen a number of times at once; whoever pauses lets another one have its place."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

LONG_PAUSE = 0.2

_place: ContextVar[asyncio.Semaphore | None] = ContextVar("place", default=None)


@asynccontextmanager
async def at_place(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Have one of the places."""
    async with places:
        _place.set(places)
        try:
            yield
        finally:
            _place.set(None)


@asynccontextmanager
async def aside() -> AsyncIterator[None]:
    """Let another one have the place meanwhile."""
    place = _place.get()
    if place is None:
        yield
        return
    place.release()
    try:
        yield
    finally:
        await place.acquire()


async def sleep(seconds: float) -> None:
    """Let time pass; a long pause leaves the place to another one."""
    if seconds < LONG_PAUSE:
        await asyncio.sleep(seconds)
        return
    async with aside():
        await asyncio.sleep(seconds)
