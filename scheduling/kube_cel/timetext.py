"""Times as text and calendar fields, without a clock or a time-zone database."""

import re
from typing import NamedTuple

from kube_cel.arithmetic import moment, span
from kube_cel.errors import CelErrorKind, EvaluationError
from kube_cel.values import NANOSECONDS, Duration, Timestamp

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\N{MICRO SIGN}s": 1_000,
    "\N{GREEK SMALL LETTER MU}s": 1_000,
    "ms": 1_000_000,
    "s": NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "h": 3600 * NANOSECONDS,
}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m|h)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_MAX_TEXT = 256
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY = 2
_SECONDS_A_DAY = 86_400
_DAYS_A_CYCLE = 146_097
"""Days of 400 years, after which the calendar repeats."""
_EPOCH_DAY = 719_468
"""Days from 0000-03-01 to 1970-01-01."""


class Moment(NamedTuple):
    """A point in time as people write it; months and days count from 1, days of the week from Sunday as 0."""

    year: int
    month: int
    day: int
    day_of_year: int
    day_of_week: int
    hour: int
    minute: int
    second: int
    nanosecond: int


def _invalid(what: str, text: str) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"invalid {what}: {text[:_MAX_TEXT]!r}")


def read_duration(text: str) -> Duration:
    """Return the duration in Go's notation, such as 1h30m, -1.5s or 0."""
    unsigned = text[1:] if text[:1] in ("+", "-") and text else text
    if unsigned == "0":
        return Duration(0)
    parts = list(_PART.finditer(unsigned)) if len(text) <= _MAX_TEXT else []
    if not parts or "".join(part.group() for part in parts) != unsigned:
        raise _invalid("duration", text)
    total = 0
    for part in parts:
        whole, _, fraction = part.group(1).partition(".")
        unit = _UNITS[part.group(2)]
        total += int(whole or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
    return span(-total if text.startswith("-") else total)


def duration_text(value: Duration) -> str:
    """Return the duration in seconds with a trailing s."""
    sign = "-" if value.nanoseconds < 0 else ""
    seconds, rest = divmod(abs(value.nanoseconds), NANOSECONDS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


def read_timestamp(text: str) -> Timestamp:
    """Return the time of an RFC 3339 string."""
    shape = _TIMESTAMP.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if shape is None:
        raise _invalid("timestamp", text)
    year, month, day, hour, minute, second = (int(shape.group(index)) for index in range(1, 7))
    if not _is_date(year, month, day) or (hour, minute, second) >= (24, 0, 0) or minute >= 60 or second >= 60:  # noqa: PLR2004
        raise _invalid("timestamp", text)
    fraction = (shape.group(7) or "")[:9].ljust(9, "0")
    seconds = _day_number(year, month, day) * _SECONDS_A_DAY + hour * 3600 + minute * 60 + second
    offset = 0 if shape.group(8) == "Z" else offset_seconds(shape.group(8))
    return moment((seconds - offset) * NANOSECONDS + int(fraction))


def timestamp_text(value: Timestamp) -> str:
    """Return the time in RFC 3339, in UTC."""
    at = calendar(value)
    fraction = f".{at.nanosecond:09d}".rstrip("0") if at.nanosecond else ""
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}{fraction}Z"


def offset_seconds(zone: str) -> int:
    """Return the seconds east of UTC of a zone written as UTC or +hh:mm.

    Names of regions raise EvaluationError: they need the time-zone database of the machine, and no device has times.
    """
    if zone in ("", "UTC"):
        return 0
    shape = _OFFSET.fullmatch(zone)
    if shape is None:
        raise EvaluationError(CelErrorKind.OTHER, f"unknown time zone {zone[:_MAX_TEXT]}: expected UTC or an offset")
    seconds = int(shape.group(2)) * 3600 + int(shape.group(3)) * 60
    return -seconds if shape.group(1) == "-" else seconds


def calendar(value: Timestamp, offset: int = 0) -> Moment:
    """Return the calendar fields of a time, as seen `offset` seconds east of UTC."""
    seconds, nanosecond = divmod(value.nanoseconds, NANOSECONDS)
    days, second_of_day = divmod(seconds + offset, _SECONDS_A_DAY)
    year, month, day = _date(days)
    minutes, second = divmod(second_of_day, 60)
    hour, minute = divmod(minutes, 60)
    day_of_year = days - _day_number(year, 1, 1) + 1
    return Moment(year, month, day, day_of_year, (days + 4) % 7, hour, minute, second, nanosecond)


def _is_date(year: int, month: int, day: int) -> bool:
    if not 1 <= month <= len(_DAYS) or year < 1:
        return False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + (1 if is_leap and month == _FEBRUARY else 0)


def _day_number(year: int, month: int, day: int) -> int:
    """Return days since 1970-01-01; years are counted from March, so that leap days come last."""
    year -= month <= _FEBRUARY
    cycle, year_of_cycle = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return cycle * _DAYS_A_CYCLE + day_of_cycle - _EPOCH_DAY


def _date(days: int) -> tuple[int, int, int]:
    cycle, day_of_cycle = divmod(days + _EPOCH_DAY, _DAYS_A_CYCLE)
    year = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = (march_month + 2) % 12 + 1
    return year + cycle * 400 + (month <= _FEBRUARY), month, day
