"""Functions of CEL itself: sizes, conversions between scalars, optionals."""

import re
from collections.abc import Callable
from decimal import Decimal
from math import inf, isfinite, isnan, nan

from kube_cel.arithmetic import moment, overflow, signed, unsigned
from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.operators import MAPS
from kube_cel.timetext import duration_text, read_duration, read_timestamp, timestamp_text
from kube_cel.values import (
    ABSENT,
    NANOSECONDS,
    Cidr,
    Duration,
    Ip,
    Maybe,
    Timestamp,
    TypeName,
    UInt,
    Value,
    type_name,
)

_SIZED = frozenset({str, bytes, tuple, *MAPS})
_TRUE = frozenset({"1", "t", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "false", "FALSE", "False"})
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DIGITS = re.compile(r"[0-9]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL_DOUBLES = {"inf": inf, "infinity": inf, "nan": nan}
_MAX_DIGITS = 400
_LARGEST_PLAIN_EXPONENT = 6
_SMALLEST_PLAIN_EXPONENT = -4


def _unreadable(what: str, text: str) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"type conversion error: {text!r} is not {what}")


def size(value: Value) -> int:
    """Return the number of characters, bytes, items or entries."""
    if value.__class__ in _SIZED:
        return len(value)
    raise no_such_overload()


def dyn(value: Value) -> Value:
    """Return the value; only the static type is lost."""
    return value


def type_of(value: Value) -> TypeName:
    """Return the type of a value."""
    return TypeName(type_name(value))


def to_bool(value: Value) -> bool:
    """Return a bool or what a string says."""
    if value.__class__ is bool:
        return bool(value)
    if value.__class__ is not str:
        raise no_such_overload()
    if value not in _TRUE and value not in _FALSE:
        raise _unreadable("a bool", value)
    return value in _TRUE


def to_bytes(value: Value) -> bytes:
    """Return bytes, or the UTF-8 of a string."""
    if value.__class__ is bytes:
        return bytes(value)
    if value.__class__ is str:
        return str(value).encode()
    raise no_such_overload()


def to_int(value: Value) -> int:
    """Return an int; doubles are cut, timestamps give seconds, durations nanoseconds."""
    kind = value.__class__
    if kind in (int, UInt):
        return signed(int(value))
    if kind is float:
        if not isfinite(value) or not -(2.0**63) < value < 2.0**63:
            raise overflow("integer")
        return int(value)
    if kind is Duration:
        return int(value.nanoseconds)
    if kind is Timestamp:
        return int(value.nanoseconds // NANOSECONDS)
    if kind is not str:
        raise no_such_overload()
    if len(value) > _MAX_DIGITS or not _WHOLE.fullmatch(value):
        raise _unreadable("an int", value)
    return signed(int(value))


def to_uint(value: Value) -> UInt:
    """Return a uint; doubles are cut."""
    kind = value.__class__
    if kind in (int, UInt):
        return unsigned(int(value))
    if kind is float:
        if not isfinite(value) or not 0 <= value < 2.0**64:
            raise overflow("unsigned integer")
        return UInt(value)
    if kind is not str:
        raise no_such_overload()
    if len(value) > _MAX_DIGITS or not _DIGITS.fullmatch(value):
        raise _unreadable("a uint", value)
    return unsigned(int(value))


def to_double(value: Value) -> float:
    """Return a double."""
    kind = value.__class__
    if kind in (int, UInt, float):
        return float(value)
    if kind is not str:
        raise no_such_overload()
    special = _SPECIAL_DOUBLES.get(value.lstrip("+-").lower()) if value[:2] not in ("+-", "-+", "--", "++") else None
    if special is not None:
        return -special if value.startswith("-") else special
    if len(value) > _MAX_DIGITS or not _DOUBLE.fullmatch(value):
        raise _unreadable("a double", value)
    return float(value)


def to_string(value: Value) -> str:
    """Return the text of a scalar, an IP address or a network."""
    writer = _WRITERS.get(value.__class__)
    if writer is None:
        raise no_such_overload()
    return writer(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError(CelErrorKind.OTHER, "invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """Return the shortest text of a double, in the notation that Go's %g prints."""
    if isnan(value) or not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    point = len(digits) + int(exponent)
    text = "".join(map(str, digits))
    if value == 0:
        return "-0" if sign else "0"
    if _SMALLEST_PLAIN_EXPONENT <= point - 1 < _LARGEST_PLAIN_EXPONENT:
        plain = f"{abs(Decimal(repr(value))):f}"
        body = plain.rstrip("0").rstrip(".") if "." in plain else plain
    else:
        body = f"{text[0]}{'.' + text[1:] if text[1:] else ''}e{point - 1:+03d}"
    return f"-{body}" if sign else body


def to_duration(value: Value) -> Duration:
    """Return a duration or what a string such as 1h30m says."""
    if value.__class__ is Duration:
        return Duration(value.nanoseconds)
    if value.__class__ is str:
        return read_duration(value)
    raise no_such_overload()


def to_timestamp(value: Value) -> Timestamp:
    """Return a timestamp, what an RFC 3339 string says, or the time so many seconds after 1970."""
    if value.__class__ is Timestamp:
        return Timestamp(value.nanoseconds)
    if value.__class__ is str:
        return read_timestamp(value)
    if value.__class__ is int:
        return moment(value * NANOSECONDS)
    raise no_such_overload()


def _optional(value: Value) -> Maybe:
    if isinstance(value, Maybe):
        return value
    raise no_such_overload()


def optional_of(value: Value) -> Maybe:
    """Return an optional that has a value."""
    return Maybe((value,))


def optional_of_non_zero(value: Value) -> Maybe:
    """Return an optional that has a value unless it is empty, zero, false or null."""
    is_zero = value in (Duration(0), ABSENT) or (value.__class__ in (*_SIZED, bool, int, UInt, float) and not value)
    return ABSENT if value is None or is_zero else Maybe((value,))


def optional_none() -> Maybe:
    """Return an optional without a value."""
    return ABSENT


def optional_value(value: Value) -> Value:
    """Return the value inside an optional."""
    content = _optional(value).content
    if not content:
        raise EvaluationError(CelErrorKind.OTHER, "optional.none() dereference")
    return content[0]


def optional_has_value(value: Value) -> bool:
    """Return whether an optional has a value."""
    return bool(_optional(value).content)


def optional_unwrap(values: Value) -> tuple[Value, ...]:
    """Return the values inside the optionals of a list, without the absent ones."""
    if values.__class__ is not tuple:
        raise no_such_overload()
    return tuple(item for value in values for item in _optional(value).content)


_WRITERS: dict[type, Callable[[Value], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    UInt: lambda value: str(int(value)),
    float: double_text,
    bytes: _decoded,
    Duration: duration_text,
    Timestamp: timestamp_text,
    Ip: lambda value: str(value.address),
    Cidr: lambda value: str(value.interface),
}
