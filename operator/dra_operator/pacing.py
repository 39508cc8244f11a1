"""How fast things are done that may be left out or put off."""

import asyncio
import datetime as dt
import time
from collections.abc import Callable

Clock = Callable[[], float]

LEVEL_SECONDS = 0.1
LOOK_SECONDS = 0.002


def timestamp() -> str:
    """Return the time of day as the API writes it: RFC 3339 in UTC, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp() -> str:
    """Return the time of day as Leases hold it: RFC 3339 in UTC, to the microsecond."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class LevelGate:
    """Lets through whoever wants to act on news when the watches of all kinds have been read, or soon.

    What was written together comes by different watches; whoever acts on the first part of it acts too early.
    """

    def __init__(self, is_level: Callable[[], bool]) -> None:
        self._is_level = is_level
        self._looking: asyncio.Task[None] | None = None

    async def wait(self) -> None:
        """Return when everything that has arrived by now has been read."""
        # In one turn of the loop everything is read that has arrived, in the next it is on its way to the handlers.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if self._is_level():
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        await asyncio.shield(self._looking)

    async def _look(self) -> None:
        end = time.monotonic() + LEVEL_SECONDS
        while not self._is_level() and time.monotonic() < end:  # noqa: ASYNC110  one for all who wait
            await asyncio.sleep(LOOK_SECONDS)


class TokenBucket:
    """Lets `burst` through at once and `rate` a second after that."""

    __slots__ = ("_burst", "_clock", "_filled", "_rate", "_tokens")

    def __init__(self, *, rate: float, burst: float, clock: Clock) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._filled = clock()

    def take(self) -> bool:
        """Return whether one more may go now; if so it is counted."""
        if self.wait() > 0:
            return False
        self._tokens -= 1
        return True

    def wait(self) -> float:
        """Return in how many seconds the next may go."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        return max(0.0, (1 - self._tokens) / self._rate)
