"""Functions on timestamps and durations."""

from collections.abc import Callable

from kube_cel.errors import no_such_overload
from kube_cel.timetext import Moment, calendar, offset_seconds
from kube_cel.values import NANOSECONDS, Duration, Timestamp, Value

Getter = Callable[..., int]


def _field(read: Callable[[Moment], int], nanoseconds: int = 0) -> Getter:
    """Return a function for a calendar field; with a unit it also answers how many of them a duration holds."""

    def getter(value: Value, zone: Value = "UTC") -> int:
        if value.__class__ is Duration and nanoseconds and zone == "UTC":
            whole = abs(value.nanoseconds) // nanoseconds
            return int(whole if value.nanoseconds >= 0 else -whole)
        if value.__class__ is not Timestamp or zone.__class__ is not str:
            raise no_such_overload()
        return read(calendar(value, offset_seconds(zone)))

    return getter


TIME_FUNCTIONS: dict[str, Getter] = {
    "getFullYear": _field(lambda at: at.year),
    "getMonth": _field(lambda at: at.month - 1),
    "getDate": _field(lambda at: at.day),
    "getDayOfMonth": _field(lambda at: at.day - 1),
    "getDayOfYear": _field(lambda at: at.day_of_year - 1),
    "getDayOfWeek": _field(lambda at: at.day_of_week),
    "getHours": _field(lambda at: at.hour, 3600 * NANOSECONDS),
    "getMinutes": _field(lambda at: at.minute, 60 * NANOSECONDS),
    "getSeconds": _field(lambda at: at.second, NANOSECONDS),
    "getMilliseconds": _field(lambda at: at.nanosecond // 1_000_000, 1_000_000),
}
