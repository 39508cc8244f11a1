"""Running what has no end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine

STEPS = 50


async def settle() -> None:
    """Lets everything run that can run without time passing."""
    for _ in range(STEPS):
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def running(*jobs: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """The jobs run for as long as the block does."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def run_briefly(*jobs: Coroutine[None, None, None]) -> None:
    """Lets the jobs do what they can do at this moment, and ends them."""
    async with running(*jobs):
        await settle()
