"""What can be set about binding."""

import msgspec

from dra_kube.retry import Backoff

ATTEMPTS = Backoff(1.0, 60.0)
"""Pauses between the attempts of a bind."""
DEFAULT_LIMIT = 3


class BinderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds.

    `settle_seconds` is how long another scheduler may take between its decision and its write, waited for only where
    one is active over the same devices; `stand_back_seconds` is how long it is let go first there. `patience_seconds`
    bounds the wait for the own cache and for those who lose. `binding_timeout_seconds` is how long drivers may take
    until the devices of a claim are ready, from the claim's allocation on.
    """

    scheduler_name: str = "dra-scheduler"
    settle_seconds: float = 1.0
    stand_back_seconds: float = 2.0
    patience_seconds: float = 30.0
    binding_timeout_seconds: float = 600.0
    undo_attempts: int = 5


DEFAULTS = BinderSettings()


def limit_of(backoff_limit: int | None) -> int:
    """Return after how many failed attempts a BindRequest has failed; at least one attempt is made."""
    return DEFAULT_LIMIT if backoff_limit is None else max(backoff_limit, 1)
