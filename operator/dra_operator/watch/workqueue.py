"""Which objects are to be looked at, each by one worker at a time, with pauses after failures and with deadlines."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from dra_kube.errors import ApiError, ConflictError
from dra_kube.retry import Backoff, RetryPolicy
from dra_operator.logs import log

K = TypeVar("K", bound=Hashable)
CONFLICTS = RetryPolicy(backoff=Backoff(0.05, 30.0))
FAILURES = RetryPolicy(backoff=Backoff(0.2, 30.0))
FINISH_LOOK_SECONDS = 0.02


class WorkQueue(Generic[K]):
    """Keys that wait. One that is added while it is looked at is looked at once more after that.

    Failures are logged under the name of the `role` that looks.
    """

    __slots__ = ("_again", "_busy", "_failures", "_is_closed", "_log", "_ready", "_timers", "_waiting")

    def __init__(self, role: str) -> None:
        self._log = log(role)
        self._is_closed = False
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._waiting: set[K] = set()
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}

    def __len__(self) -> int:
        """The number of keys that wait to be looked at now."""
        return len(self._waiting)

    def add(self, key: K) -> None:
        """Have the key looked at as soon as there is a worker."""
        if self._is_closed:
            return
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def add_in(self, key: K, seconds: float) -> None:
        """Have the key looked at after a pause, at the latest: an earlier time that is set already stays."""
        loop = asyncio.get_running_loop()
        when = loop.time() + max(0.0, seconds)
        before = self._timers.get(key)
        if before is not None:
            if before.when() <= when:
                return
            before.cancel()
        self._timers[key] = loop.call_at(when, self._due, key)

    def forget(self, key: K) -> None:
        """Look at the key at no set time any more: its object is gone."""
        self._failures.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def clear(self) -> None:
        """Let everything go that waits; what is being looked at is not interrupted."""
        while not self._ready.empty():
            self._ready.get_nowait()
        for timer in self._timers.values():
            timer.cancel()
        for kept in (self._waiting, self._again, self._timers, self._failures):
            kept.clear()

    async def finish(self, seconds: float) -> None:
        """Take up nothing more, and return when what is being looked at has been, or after so many seconds."""
        self._is_closed = True
        self.clear()
        end = asyncio.get_running_loop().time() + seconds
        while self._busy and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110  once in a life
            await asyncio.sleep(FINISH_LOOK_SECONDS)

    async def work(self, look: Callable[[K], Awaitable[None]]) -> None:
        """Be one of the workers, until cancelled. What `look` raises concerns its key alone."""
        while True:
            key = await self._ready.get()
            self._waiting.discard(key)
            self._busy.add(key)
            try:
                await look(key)
                self._failures.pop(key, None)
            except Exception as error:  # noqa: BLE001  one object that cannot be dealt with must not stop the others
                self._failed(key, error)
            finally:
                self._busy.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)

    def _failed(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = _pause(error, failures)
        line = self._log.bind(key=str(key), seconds=round(pause, 2))
        if not isinstance(error, ApiError):
            line.exception("an object could not be dealt with")
        elif not isinstance(error, ConflictError):
            line.warning("a request failed", error=str(error))
        self.add_in(key, pause)

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)


def _pause(error: Exception, failures: int) -> float:
    if not isinstance(error, ApiError):
        return FAILURES.backoff.pause(failures)
    policy = CONFLICTS if isinstance(error, ConflictError) else FAILURES
    return policy.pause(error, failures)
