"""How long an answer may take: search steps first, the clock as a second guard."""

from collections.abc import Callable

import msgspec

from dra_scheduling.allocation.allocator import DEFAULT_BUDGET
from dra_scheduling.allocation.deadline import IsLate, never

STEPS_PER_POD = 1_000_000
SECONDS_PER_POD = 5.0


class SearchBudget(msgspec.Struct, frozen=True, kw_only=True):
    """`steps` for everything that is asked for one pod, of which one node or instance type gets at most `each`.

    Results depend on the steps alone, unless `is_late` says that time is up.
    """

    steps: int = STEPS_PER_POD
    each: int = DEFAULT_BUDGET
    is_late: IsLate = never

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be tried."""
        return self.steps <= 0 or self.is_late()

    @property
    def share(self) -> int:
        """The steps that the next search may take."""
        return self.each if self.steps >= self.each else max(self.steps, 0)

    @property
    def untimed(self) -> "SearchBudget":
        """The same steps, whatever the clock says."""
        return msgspec.structs.replace(self, is_late=never)

    def after(self, steps: int) -> "SearchBudget":
        """Return what is left after so many steps."""
        return msgspec.structs.replace(self, steps=self.steps - steps) if steps else self


def within(clock: Callable[[], float], seconds: float = SECONDS_PER_POD, steps: int = STEPS_PER_POD) -> SearchBudget:
    """Return a budget that also ends so many seconds from now, by a clock that returns seconds."""
    end = clock() + seconds
    return SearchBudget(steps=steps, is_late=lambda: clock() >= end)
