"""What can go wrong with a write."""

from enum import Enum, auto

import msgspec

from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError


class Fault(Enum):
    """How a write ends instead of well."""

    CRASH_BEFORE = auto()
    CRASH_AFTER = auto()
    CONFLICT = auto()
    THROTTLED = auto()
    ERROR_UNAPPLIED = auto()
    ERROR_APPLIED = auto()
    RESET_UNAPPLIED = auto()
    RESET_APPLIED = auto()
    FORBIDDEN = auto()


TRANSIENT_FAULTS = (
    Fault.CONFLICT,
    Fault.THROTTLED,
    Fault.ERROR_UNAPPLIED,
    Fault.ERROR_APPLIED,
    Fault.RESET_UNAPPLIED,
    Fault.RESET_APPLIED,
)
APPLIED = frozenset({Fault.CRASH_AFTER, Fault.ERROR_APPLIED, Fault.RESET_APPLIED})
RETRY_AFTER_SECONDS = 7.0


class Crash(BaseException):
    """The process is killed."""


class FaultRule(msgspec.Struct, kw_only=True):
    """Where a fault strikes: at the write of that number (from 1; 0 is any) whose action starts so, so many times."""

    fault: Fault
    write: int = 0
    action: str = ""
    times: int = 1

    def strikes(self, action: str, write: int) -> bool:
        """Whether the fault strikes here; counts it."""
        is_hit = self.times > 0 and self.write in {0, write} and action.startswith(self.action)
        self.times -= is_hit
        return is_hit


def failure(fault: Fault, action: str) -> ApiError | Crash:
    """Return what the caller of the write gets to see."""
    match fault:
        case Fault.CRASH_BEFORE | Fault.CRASH_AFTER:
            return Crash(action)
        case Fault.CONFLICT:
            return ConflictError(action, 409, reason="Conflict", message="the object has been modified")
        case Fault.THROTTLED:
            error = ThrottledError(action, 429, reason="TooManyRequests")
            error.retry_after = RETRY_AFTER_SECONDS
            return error
        case Fault.ERROR_UNAPPLIED | Fault.ERROR_APPLIED:
            return UnclearError(action, 500, reason="InternalError")
        case Fault.RESET_UNAPPLIED | Fault.RESET_APPLIED:
            return UnclearError(action, 0, reason="connection reset")
        case Fault.FORBIDDEN:
            return ApiError(action, 403, reason="Forbidden", message="admission webhook denied the request")
