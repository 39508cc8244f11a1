"""How long to wait before trying again."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
DOUBLINGS = 6
DEFAULT_LIMIT = 3


def pause_after(failures: int) -> float:
    """Return the seconds to wait after that many failures in a row: 1, 2, 4 ... 60."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures, 1) - 1, DOUBLINGS), LONGEST_PAUSE)


def limit_of(backoff_limit: int | None) -> int:
    """Return after how many failed attempts a BindRequest has failed; at least one attempt is made."""
    return DEFAULT_LIMIT if backoff_limit is None else max(backoff_limit, 1)
