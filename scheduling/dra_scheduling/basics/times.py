"""Times and durations as the API writes them, as seconds. Nothing here asks what time it is."""

import re
from datetime import UTC, datetime, timedelta

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m|h)", re.ASCII)
_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "\N{MICRO SIGN}s": 1_000,
    "\N{GREEK SMALL LETTER MU}s": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_MOST_NANOSECONDS = 2**63 - 1
"""What a duration of Go holds, 292 years."""
_LONGEST_TEXT = 256


def seconds_of(time: str) -> float:
    """Return the seconds since 1970 of RFC 3339 text; 0 for what is none, such as a time that was never set."""
    if len(time) > _LONGEST_TEXT or _TIME.fullmatch(time) is None:
        return 0.0
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0


def time_of(seconds: float) -> str:
    """Return the RFC 3339 text, in UTC and whole seconds, rounded up: what is due then is due."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=-int(-seconds // 1))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def duration_of(text: str) -> float | None:
    """Return the seconds of a duration in Go's notation (`1h30m`), None for text that is none.

    Source: `time.ParseDuration` of Go, which the API server reads durations with.
    """
    sign = -1 if text.startswith("-") else 1
    unsigned = text[1:] if text[:1] in {"+", "-"} and text else text
    if unsigned == "0":
        return 0.0
    parts = list(_PART.finditer(unsigned)) if len(text) <= _LONGEST_TEXT else []
    if not parts or "".join(part.group() for part in parts) != unsigned:
        return None
    total = sum(_part(part.group(1), _NANOSECONDS[part.group(2)]) for part in parts)
    return None if total > _MOST_NANOSECONDS else sign * total / _NANOSECONDS["s"]


def _part(number: str, unit: int) -> int:
    whole, _, fraction = number.partition(".")
    scale: int = 10 ** len(fraction)
    return int(whole or 0) * unit + int(fraction or 0) * unit // scale
