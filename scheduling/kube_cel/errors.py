"""The two ways a selector can go wrong: it does not compile, or it fails on one device."""

from collections.abc import Collection
from enum import Enum

_SHOWN = 160
_SHOWN_BEFORE = 120
"""Of a very long line, only what is around the problem is shown."""


class CompileError(ValueError):
    """A selector that no device can ever be tested with; the text shows the problem, its place and the source line.

    `line` and `column` count from 1, as in the messages of the API server.
    """

    def __init__(self, problem: str, source: str, position: int) -> None:
        before = source[:position]
        self.problem = problem
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        super().__init__(problem, source, position)

    def __str__(self) -> str:
        _, source, _ = self.args
        start = max(0, self.column - 1 - _SHOWN_BEFORE)
        text = source.split("\n")[self.line - 1][start : start + _SHOWN]
        pointer = "." * (self.column - 1 - start) + "^"
        return f"<input>:{self.line}:{self.column}: {self.problem}\n | {text}\n | {pointer}"


class CelErrorKind(Enum):
    """Why an evaluation failed, independent of the wording."""

    NO_SUCH_KEY = "no such key"
    NO_SUCH_OVERLOAD = "no such overload"
    NOT_BOOL = "result is not a bool"
    DIVIDE_BY_ZERO = "division by zero"
    OVERFLOW = "overflow"
    COST = "cost limit exceeded"
    PARSE = "unreadable literal"
    OTHER = "other"


class EvaluationError(Exception):
    """An expression that compiled but fails on the device it was evaluated for.

    Where a map has nothing under a name, `key` is that name and `names` are those of the map.
    """

    def __init__(self, kind: CelErrorKind, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message
        self.key = ""
        self.names: Collection[str] | None = None

    def __str__(self) -> str:
        return self.message


class CostExceededError(EvaluationError):
    """Evaluation was stopped; unlike other failures no operand of `&&` or `||` can hide it."""

    def __init__(self) -> None:
        super().__init__(CelErrorKind.COST, "operation cancelled: actual cost limit exceeded")

    def __reduce__(self) -> tuple[type["CostExceededError"], tuple[()]]:
        return CostExceededError, ()


def no_such_overload() -> EvaluationError:
    """Return the error for a function or operator that does not accept the values it was given."""
    return EvaluationError(CelErrorKind.NO_SUCH_OVERLOAD, "no such overload")
