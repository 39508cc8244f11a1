"""How long something took, by the clock and by the processor: beside other work only the second says much."""

import gc
import time
from collections.abc import Callable, Iterable
from statistics import median

import msgspec


class Took(msgspec.Struct, frozen=True):
    """Milliseconds by the clock, and of processor time of this process."""

    wall: float
    cpu: float

    def __sub__(self, other: "Took") -> "Took":
        return Took(self.wall - other.wall, self.cpu - other.cpu)


def timed(action: Callable[[], object]) -> Took:
    """Return what the action took; what waits to be collected is collected before."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return Took((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)


def middle(several: Iterable[Took]) -> Took:
    """Return the medians of several runs."""
    runs = tuple(several)
    return Took(median(run.wall for run in runs), median(run.cpu for run in runs))


def milliseconds(value: float) -> str:
    """Return milliseconds as a table shows them: three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
