"""Since when something is waited for. Nobody else needs to know: after a restart the wait begins anew."""

from collections.abc import Hashable

from dra_operator.pacing import Clock


class Pauses:
    """The pauses that have begun."""

    __slots__ = ("_begun", "_clock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[Hashable, float] = {}

    def left(self, key: Hashable, seconds: float) -> float:
        """Return how much of a pause is left; it begins when it is first asked for."""
        if seconds <= 0:
            return 0.0
        return max(0.0, self._begun.setdefault(key, self._clock()) + seconds - self._clock())

    def end(self, key: Hashable) -> None:
        """Let the next pause of that key begin anew."""
        self._begun.pop(key, None)

    def clear(self) -> None:
        """End all of them."""
        self._begun.clear()
