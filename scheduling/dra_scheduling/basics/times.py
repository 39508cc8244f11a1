"""Times and durations as the API writes them, as seconds."""

from kube_cel.errors import EvaluationError
from kube_cel.timetext import read_duration, read_timestamp, timestamp_text
from kube_cel.values import NANOSECONDS, Timestamp


def seconds_of(time: str) -> float:
    """Return the seconds since 1970 of RFC 3339 text; 0 for what is none, such as a time that was never set."""
    try:
        return read_timestamp(time).nanoseconds / NANOSECONDS
    except EvaluationError:
        return 0.0


def time_of(seconds: float) -> str:
    """Return the RFC 3339 text, in UTC and whole seconds, rounded up: what is due then is due."""
    return timestamp_text(Timestamp(-int(-seconds // 1) * NANOSECONDS))


def duration_of(text: str) -> float | None:
    """Return the seconds of a duration in Go's notation (`1h30m`), None for text that is none."""
    try:
        return read_duration(text).nanoseconds / NANOSECONDS
    except EvaluationError:
        return None
