"""How long expressions go on being put to devices."""

from collections.abc import Callable

COST_PER_READING = 4_096
"""So much is evaluated between two readings of the clock: some hundred devices, or one where it takes long."""
COST_OF_EVALUATION = 16
"""What an evaluation costs at least."""


def _never() -> bool:
    return False


class EvaluationBudget:
    """Reads the clock now and then; once it `was_late`, nothing more is evaluated."""

    __slots__ = ("_is_late", "_left", "was_late")

    def __init__(self, is_late: Callable[[], bool] = _never) -> None:
        self._is_late = is_late
        self._left = COST_PER_READING
        self.was_late = False

    def is_over(self, cost: int) -> bool:
        """Whether it is too late to evaluate something of this estimated cost."""
        self._left -= max(cost, COST_OF_EVALUATION)
        if self._left < 0 and not self.was_late:
            self._left = COST_PER_READING
            self.was_late = self._is_late()
        return self.was_late
