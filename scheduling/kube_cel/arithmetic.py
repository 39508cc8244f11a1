"""Arithmetic with the limits of 64-bit numbers, and the concatenation that shares its sign."""

from math import copysign, inf, nan

from kube_cel.errors import CelErrorKind, CostExceededError, EvaluationError, no_such_overload
from kube_cel.values import MAX_INT, MAX_UINT, MIN_INT, NANOSECONDS, Duration, Timestamp, UInt, Value

MIN_TIMESTAMP = -62_135_596_800 * NANOSECONDS
MAX_TIMESTAMP = 253_402_300_799 * NANOSECONDS + NANOSECONDS - 1
"""The years 1 to 9999."""
MAX_SIZE = 1_000_000
"""Most characters or items of one value; CEL charges nothing for appending lists, so that cost alone is no bound."""
_CONCATENATED = frozenset({str, bytes, tuple})


def within_limit(size: int) -> None:
    """Raise CostExceededError for more characters, items or comparisons than one call may take."""
    if size > MAX_SIZE:
        raise CostExceededError


def overflow(what: str) -> EvaluationError:
    """Return the error for a number that leaves its range."""
    return EvaluationError(CelErrorKind.OVERFLOW, f"{what} overflow")


def signed(value: int) -> int:
    """Return the value if it is a signed 64-bit integer."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise overflow("integer")


def unsigned(value: int) -> UInt:
    """Return the value as an unsigned 64-bit integer."""
    if 0 <= value <= MAX_UINT:
        return UInt(value)
    raise overflow("unsigned integer")


def span(nanoseconds: int) -> Duration:
    """Return a duration that fits 64 bits."""
    if MIN_INT <= nanoseconds <= MAX_INT:
        return Duration(nanoseconds)
    raise overflow("duration")


def moment(nanoseconds: int) -> Timestamp:
    """Return a timestamp of the years 1 to 9999."""
    if MIN_TIMESTAMP <= nanoseconds <= MAX_TIMESTAMP:
        return Timestamp(nanoseconds)
    raise overflow("timestamp")


def add(left: Value, right: Value) -> Value:
    """Return left + right."""
    kinds = (left.__class__, right.__class__)
    if kinds[0] is kinds[1]:
        if kinds[0] is int:
            return signed(left + right)
        if kinds[0] in _CONCATENATED:
            within_limit(len(left) + len(right))
            return left + right
        if kinds[0] is float:
            return left + right
        if kinds[0] is UInt:
            return unsigned(int(left) + int(right))
        if kinds[0] is Duration:
            return span(left.nanoseconds + right.nanoseconds)
    elif kinds in ((Timestamp, Duration), (Duration, Timestamp)):
        return moment(left.nanoseconds + right.nanoseconds)
    raise no_such_overload()


def subtract(left: Value, right: Value) -> Value:
    """Return left - right."""
    kinds = (left.__class__, right.__class__)
    if kinds == (int, int):
        return signed(left - right)
    if kinds == (UInt, UInt):
        return unsigned(int(left) - int(right))
    if kinds == (float, float):
        return left - right
    if kinds in ((Duration, Duration), (Timestamp, Timestamp)):
        return span(left.nanoseconds - right.nanoseconds)
    if kinds == (Timestamp, Duration):
        return moment(left.nanoseconds - right.nanoseconds)
    raise no_such_overload()


def multiply(left: Value, right: Value) -> Value:
    """Return left * right."""
    kinds = (left.__class__, right.__class__)
    if kinds == (int, int):
        return signed(left * right)
    if kinds == (UInt, UInt):
        return unsigned(int(left) * int(right))
    if kinds == (float, float):
        return left * right
    raise no_such_overload()


def divide(left: Value, right: Value) -> Value:
    """Return left / right, for integers rounded towards zero."""
    kinds = (left.__class__, right.__class__)
    if kinds == (float, float):
        return left / right if right else _divided_by_zero(left, right)
    if kinds not in ((int, int), (UInt, UInt)):
        raise no_such_overload()
    if right == 0:
        raise EvaluationError(CelErrorKind.DIVIDE_BY_ZERO, "division by zero")
    quotient = abs(int(left)) // abs(int(right))
    if kinds == (UInt, UInt):
        return UInt(quotient)
    return signed(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Value, right: Value) -> Value:
    """Return left % right, with the sign of the left."""
    kinds = (left.__class__, right.__class__)
    if kinds not in ((int, int), (UInt, UInt)):
        raise no_such_overload()
    if right == 0:
        raise EvaluationError(CelErrorKind.DIVIDE_BY_ZERO, "modulus by zero")
    if (left, right) == (MIN_INT, -1):
        raise overflow("integer")
    rest = abs(int(left)) % abs(int(right))
    return kinds[0](-rest if left < 0 else rest)


def negate(value: Value) -> Value:
    """Return -value."""
    if value.__class__ is int:
        return signed(-value)
    if value.__class__ is float:
        return -value
    if value.__class__ is Duration:
        return span(-value.nanoseconds)
    raise no_such_overload()


def _divided_by_zero(left: float, right: float) -> float:
    if left == 0 or left != left:  # noqa: PLR0124  not a number
        return nan
    return copysign(inf, left) * copysign(1.0, right)
