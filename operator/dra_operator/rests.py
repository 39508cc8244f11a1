"""When instance types that have failed may be tried again: no object changes at that moment."""

from collections.abc import Iterator

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.instancetypes import Failure, InstanceType


class RestEnds:
    """The ends of rests that are to come. Times are seconds since 1970."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: dict[str, tuple[float, ...]] = {}

    def noticed(self, name: str, value: InstanceType | None, now: float) -> None:
        """Take note of a type as it is from now on, None where it has gone."""
        ends = tuple(end for end in _ends_of(value) if end > now) if value is not None else ()
        if ends:
            self._ends[name] = ends
        else:
            self._ends.pop(name, None)

    def next_time(self) -> float | None:
        """Return when the next rest ends, None if none does."""
        return min((end for ends in self._ends.values() for end in ends), default=None)

    def take(self, now: float) -> bool:
        """Let go of the rests that are over; return whether there were any."""
        when = self.next_time()
        if when is None or when > now:
            return False
        left = {name: tuple(end for end in ends if end > now) for name, ends in self._ends.items()}
        self._ends = {name: ends for name, ends in left.items() if ends}
        return True


def _ends_of(value: InstanceType) -> Iterator[float]:
    for failure in Failure:
        yield seconds_of(value.status.row(failure)[1])
