"""Windows of time that begin by a schedule in cron's notation: five fields in UTC, or a name such as `@daily`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

NAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS = 5
MINUTE, HOUR, DAY = 60, 3_600, 86_400
LONGEST_WALK = 366


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The minutes, hours, days and months on which something begins. Days of the week count from Sunday as 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def is_on(self, month: int, day: int, weekday: int) -> bool:
        """Whether something begins on the day. If days of both kinds are named, one of them is enough, as in cron."""
        if month not in self.months:
            return False
        by_date, by_week = day in self.days, weekday in self.weekdays
        return by_date and by_week if self.any_day or self.any_weekday else by_date or by_week


@lru_cache(maxsize=512)
def schedule_of(text: str) -> Schedule | None:
    """Return the schedule, None for text that is none."""
    fields = NAMES.get(text, text).split()
    if len(fields) != FIELDS:
        return None
    try:
        minutes, hours, days, months, weekdays = (
            _values(fields[0], 0, 59),
            _values(fields[1], 0, 23),
            _values(fields[2], 1, 31),
            _values(fields[3], 1, 12, MONTHS, first=1),
            _values(fields[4], 0, 7, DAYS),
        )
    except ValueError:
        return None
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(number % 7 for number in weekdays),
        any_day=fields[2][0] in "*?",
        any_weekday=fields[4][0] in "*?",
    )


def is_open(schedule: Schedule, duration: float, now: float) -> bool:
    """Whether a window of so many seconds that begins by the schedule is open now (seconds since 1970).

    A window is open from its beginning until just before its end. One that began over a year ago is not looked for.
    """
    return any(now - duration < begin <= now for begin in _begins(schedule, now, duration))


def _begins(schedule: Schedule, now: float, duration: float) -> Iterator[int]:
    """Yield the last begin of every day that a window now could have begun on, the latest first."""
    today = int(now // DAY)
    for number in range(min(int(duration // DAY) + 2, LONGEST_WALK)):
        start = (today - number) * DAY
        at = datetime.fromtimestamp(start, UTC)
        if schedule.is_on(at.month, at.day, at.isoweekday() % 7):
            begins = (start + hour * HOUR + minute * MINUTE for hour in schedule.hours for minute in schedule.minutes)
            last = max((begin for begin in begins if begin <= now), default=None)
            if last is not None:
                yield last


def _values(field: str, least: int, most: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    found: set[int] = set()
    for part in field.lower().split(","):
        bounds, has_step, step_text = part.partition("/")
        step = int(step_text) if has_step else 1
        low, is_range, high = bounds.partition("-")
        if bounds in {"*", "?"}:
            begin, end = least, most
        else:
            begin = _number(low, names, first)
            # `5/10` means from 5 on, every 10.
            end = _number(high, names, first) if is_range else most if has_step else begin
        if step < 1 or not least <= begin <= end <= most:
            raise ValueError(field)
        found.update(range(begin, end + 1, step))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...], first: int) -> int:
    return names.index(text) + first if text in names else int(text)
