"""What is wrong with the input: one line a problem, naming file, object, path and what was expected."""

import msgspec

from dra_scheduling.wire.objects import InvalidObjectError


class Problem(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One reason why an input cannot be used. `object` is `Kind namespace/name`, `path` a JSON path in it."""

    file: str
    object: str
    path: str
    message: str

    def __str__(self) -> str:
        # Names and messages may hold line breaks, and scripts count lines.
        return " ".join(f"{self.file}: {self.object}: {self.path}: {self.message}".split())


class UnusableInputError(Exception):
    """The input cannot be used; `problems` says why."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


def problem_of(file: str, error: InvalidObjectError) -> Problem:
    """Return the problem that reading one object of this file met."""
    return Problem(file=file, object=error.subject, path=error.path, message=error.problem)
