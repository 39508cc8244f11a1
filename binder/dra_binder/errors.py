"""What an API call may answer instead of a result, and how a step may end instead of going on.

The first are exceptions, raised by the ports: nothing in between has anything to say about them. The second are
values, since a step that cannot go on is an everyday outcome.
"""

from http import HTTPStatus

import msgspec

from dra_scheduling.model.claims import AllocationResult


class ApiError(Exception):
    """The API server refused a request, or did not answer it.

    `action` says what was tried (`update resourceclaims/status default/gpu`), `code` is the HTTP status (0 without an
    answer), `reason` the machine-readable word of the Status object, `causes` the paths of the fields at fault. Message
    texts differ from release to release, so nothing may be decided by them. `retry_after` is the pause in seconds that
    the server asked for.
    """

    retry_after: float = 0.0

    def __init__(
        self, action: str, code: int, *, reason: str = "", message: str = "", causes: tuple[str, ...] = ()
    ) -> None:
        super().__init__(action, code, reason, message, causes)
        self.action = action
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes

    def __str__(self) -> str:
        answer = f"{self.code} {self.reason}".strip() if self.code else self.reason or "no answer"
        told = ": ".join(part for part in (self.message, ", ".join(self.causes)) if part)
        return f"could not {self.action} ({answer}){': ' + told if told else ''}"


class MissingError(ApiError):
    """404: the object is gone."""


class ConflictError(ApiError):
    """409: the object is not as the request assumed (resourceVersion, UID, or it exists already)."""


class ThrottledError(ApiError):
    """429: nothing was applied."""


class UnclearError(ApiError):
    """5xx, a reset or a time-out: the request may have been applied."""


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

TRANSIENT = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT})


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
