"""What is wrong with the input: one line a problem, naming file, object, path and what was expected."""

from typing import NamedTuple


class InputProblem(NamedTuple):
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

    def __init__(self, *problems: InputProblem) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems
