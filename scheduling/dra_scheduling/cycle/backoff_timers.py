"""When instance types that have failed may be tried again: no object changes at that moment."""

from collections.abc import Iterator

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.instancetypes import Failure, InstanceType


class BackoffTimers:
    """The ends of the back-offs of instance types. Times are seconds since 1970."""

    __slots__ = ("_ends",)

    def __init__(self, state: dict[str, tuple[float, ...]] | None = None) -> None:
        self._ends = dict(state or {})

    @property
    def state(self) -> dict[str, tuple[float, ...]]:
        """The state from which another one can be made."""
        return dict(self._ends)

    def changed(self, name: str, value: InstanceType | None, now: float) -> None:
        """Take note of a type as it is from now on, None where it is gone."""
        ends = tuple(end for end in _ends_of(value) if end > now) if value is not None else ()
        if ends:
            self._ends[name] = ends
        else:
            self._ends.pop(name, None)

    def next_time(self) -> float | None:
        """Return when the next back-off ends, None if none does."""
        return min((end for ends in self._ends.values() for end in ends), default=None)

    def take(self, now: float) -> bool:
        """Drop the back-offs that are over; return whether there were any."""
        when = self.next_time()
        if when is None or when > now:
            return False
        left = {name: tuple(end for end in ends if end > now) for name, ends in self._ends.items()}
        self._ends = {name: ends for name, ends in left.items() if ends}
        return True


def _ends_of(value: InstanceType) -> Iterator[float]:
    for failure in Failure:
        yield seconds_of(value.status.row(failure)[1])
