"""How a step of a bind may end instead of going on: values, since a step that cannot go on is an everyday outcome."""

from http import HTTPStatus

import msgspec

from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError
from dra_scheduling.model.claims import AllocationResult

TRANSIENT = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT})


class Retry(msgspec.Struct, frozen=True):
    """The attempt may well succeed later; everything stays reserved. `after` is the least pause in seconds."""

    reason: str
    after: float = 0.0


class GiveUp(msgspec.Struct, frozen=True):
    """The decision cannot be carried out: everything is undone and the BindRequest fails.

    Nobody can go on with a `spoiled` allocation: it goes with its last consumer, whoever decided it.
    """

    reason: str
    spoiled: tuple[AllocationResult, ...] = ()


class Gone(msgspec.Struct, frozen=True):
    """Nobody waits for this bind any more: everything is undone, nothing is reported."""

    reason: str


Stop = Retry | GiveUp | Gone


def stop_after(error: ApiError) -> Stop:
    """Return how a bind goes on after an API error that no step made sense of.

    A refusal (403, 422, an admission webhook) is final for this BindRequest; an expired token, a conflict, a throttled
    or an unclear request is not.
    """
    if isinstance(error, ThrottledError | ConflictError | UnclearError) or error.code in TRANSIENT:
        return Retry(str(error), after=error.retry_after)
    if error.code == HTTPStatus.FORBIDDEN and "resourceclaims/status" in error.action:
        return GiveUp(
            f"{error} (since Kubernetes 1.36 this also needs update on resourceclaims/binding, by ClusterRole)"
        )
    return GiveUp(str(error))
