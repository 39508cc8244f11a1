"""How fast things that may be left out or put off are written."""

from collections.abc import Callable

Clock = Callable[[], float]


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
