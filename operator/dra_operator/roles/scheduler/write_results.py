"""How a write ended, in the words of the scheduling loop."""

from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError
from dra_scheduling.cycle.events import WriteResult


def result_of(error: ApiError) -> WriteResult:
    """Return what an error of the API server means for the decision that was to be written."""
    match error:
        case ConflictError():
            return WriteResult.CONFLICT
        case ThrottledError():
            return WriteResult.THROTTLED
        case UnclearError():
            return WriteResult.LOST
        case _:
            return WriteResult.REFUSED
