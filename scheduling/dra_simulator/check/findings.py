"""One thing that is wrong (`error`) or suspicious (`warning`) in one object."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from dra_simulator.problems import InputProblem


class Severity(StrEnum):
    """An error can never work as written; a warning may be meant."""

    ERROR = "error"
    WARNING = "warning"


class Remark(msgspec.Struct, frozen=True):
    """A finding whose object is known to whoever asks: where in it, and what about it."""

    severity: Severity
    path: str
    message: str


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A finding as it is shown. `object` is `Kind namespace/name`, `path` a JSON path in it."""

    file: str
    object: str
    path: str
    severity: Severity
    message: str

    @staticmethod
    def of_problem(problem: InputProblem) -> "Finding":
        """Return the finding that an unusable object is."""
        return Finding(
            file=problem.file,
            object=problem.object,
            path=problem.path,
            severity=Severity.ERROR,
            message=problem.message,
        )


Remarks = Iterator[Remark]


def error(path: str, message: str) -> Remark:
    """Return a remark about something that can never work as written."""
    return Remark(Severity.ERROR, path, message)


def warning(path: str, message: str) -> Remark:
    """Return a remark about something that may be meant."""
    return Remark(Severity.WARNING, path, message)
