"""The errors of the Kubernetes API, as exceptions by what a client can do about them."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any


class ApiError(Exception):
    """The API server refused a request, or did not answer it.

    `action` is what was tried (`update resourceclaims/status default/gpu`), `code` is the HTTP status (0 without an
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
        details = ": ".join(part for part in (self.message, ", ".join(self.causes)) if part)
        return f"could not {self.action} ({answer}){': ' + details if details else ''}"


class MissingError(ApiError):
    """404: the object is gone."""


class ConflictError(ApiError):
    """409: the object is not as the request assumed (resourceVersion, UID, or it exists already)."""


class ThrottledError(ApiError):
    """429: nothing was applied."""


class UnclearError(ApiError):
    """5xx, a reset or a time-out: the request may have been applied."""


def error_of(action: str, code: int, answer: Mapping[str, Any], headers: Mapping[str, str]) -> ApiError:
    """Return the error for an HTTP status of 400 or more, with what its Status object says."""
    details: Mapping[str, Any] = answer.get("details") or {}
    error = _class_of(code)(
        action,
        code,
        reason=str(answer.get("reason") or ""),
        message=str(answer.get("message") or ""),
        causes=tuple(str(cause.get("field") or "") for cause in details.get("causes") or ()),
    )
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        asked = headers.get("Retry-After") or str(details.get("retryAfterSeconds") or "1")
        error.retry_after = float(asked) if asked.isdecimal() else 1.0
    return error


def _class_of(code: int) -> type[ApiError]:
    match code:
        case HTTPStatus.NOT_FOUND:
            return MissingError
        case HTTPStatus.CONFLICT:
            return ConflictError
        case HTTPStatus.TOO_MANY_REQUESTS:
            return ThrottledError
        case _:
            return UnclearError if code >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError
