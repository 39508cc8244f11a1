"""The one way in which requests are repeated: pauses that double, those that the API server asks for, and an end."""

import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from dra_kube.errors import ApiError, ThrottledError, UnclearError

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
MOST_DOUBLINGS = 30


class Backoff(msgspec.Struct, frozen=True):
    """Pauses in seconds that double with each failure in a row, from `first` up to `longest`."""

    first: float
    longest: float

    def pause(self, failures: int) -> float:
        """Return the pause after that many failures in a row."""
        return min(self.first * 2.0 ** min(max(failures, 1) - 1, MOST_DOUBLINGS), self.longest)


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Which errors are worth another attempt, how many attempts are made, and how long the pauses are.

    No attempt comes sooner than the server asks for, but a pause is cut to `longest_asked`, and there is no other
    attempt where the server asks for more than `most_asked`. Errors in `at_once` need no pause: the next attempt looks
    at the object again before it writes.
    """

    backoff: Backoff
    attempts: float = math.inf
    repeated: tuple[type[ApiError], ...] = (ThrottledError, UnclearError)
    at_once: tuple[type[ApiError], ...] = ()
    longest_asked: float = math.inf
    most_asked: float = math.inf

    def allows(self, error: ApiError, failures: int) -> bool:
        """Whether there is to be another attempt after that many failures in a row, the last one being `error`."""
        is_worthwhile = isinstance(error, (*self.repeated, *self.at_once))
        return is_worthwhile and failures < self.attempts and error.retry_after <= self.most_asked

    def pause(self, error: ApiError, failures: int) -> float:
        """Return how long to wait before the next attempt."""
        if isinstance(error, self.at_once):
            return error.retry_after
        return max(self.backoff.pause(failures), min(error.retry_after, self.longest_asked))


def _ignore(_: ApiError, __: int) -> None:
    """Report nothing."""


async def retry(
    action: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    sleep: Sleep,
    *,
    failed: Callable[[ApiError, int], None] = _ignore,
) -> T:
    """Return the result of the first attempt that succeeds. Raises the error of the last one otherwise.

    `failed` is told of every error that is followed by another attempt, with the number of failures until then.
    """
    failures = 0
    while True:
        try:
            return await action()
        except ApiError as error:
            failures += 1
            if not policy.allows(error, failures):
                raise
            failed(error, failures)
            pause = policy.pause(error, failures)
        if pause > 0:
            await sleep(pause)
