"""The format method of strings: printf clauses %s %d %f %e %b %x %X %o, as in version 1 of cel-go's library."""

import re
from collections.abc import Callable
from math import isfinite

from kube_cel.errors import CelErrorKind, CostExceededError, EvaluationError, no_such_overload
from kube_cel.functions_core import to_double, to_string
from kube_cel.functions_text import quote, text
from kube_cel.operators import MAPS
from kube_cel.values import TypeName, UInt, Value, type_name

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([a-zA-Z])|.?)", re.DOTALL)
_DEFAULT_PRECISION = 6
MAX_PRECISION = 1000
MAX_FORMATTED = 65_536
"""Most characters of a result; CEL charges for the template only, whatever the arguments hold."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_SPECIAL = frozenset({"NaN", "Infinity", "-Infinity"})


def format_text(template: Value, arguments: Value) -> str:
    """Return the template with each clause replaced by the next argument."""
    if arguments.__class__ is not tuple:
        raise no_such_overload()
    return _Formatter(arguments).filled(text(template))


def format_clauses(template: str) -> list[str]:
    """Return what stands behind the percent sign of each clause of a template."""
    return [clause.group()[1:] for clause in _CLAUSE.finditer(template) if clause.group() != "%%"]


class _Formatter:
    """One call of format: the arguments that are left, and how long the result already is."""

    __slots__ = ("arguments", "length")

    def __init__(self, arguments: tuple[Value, ...]) -> None:
        self.arguments = iter(arguments)
        self.length = 0

    def filled(self, template: str) -> str:
        return _CLAUSE.sub(self._clause, template)

    def _clause(self, clause: re.Match[str]) -> str:
        if clause.group() == "%%":
            return "%"
        value = next(self.arguments, _END)
        if value is _END:
            raise _failure("index out of range")
        kind = clause.group(2) or ""
        precision = int((clause.group(1) or str(_DEFAULT_PRECISION))[:5])
        if precision > MAX_PRECISION:
            raise _failure(f"precision {precision} exceeds maximum allowed precision {MAX_PRECISION}")
        if kind == "s":
            return self._string(value)
        if kind not in _RENDERERS:
            raise _failure(f'unrecognized formatting clause "{clause.group()[1:]}"')
        return self._counted(_RENDERERS[kind](value, precision))

    def _counted(self, rendered: str) -> str:
        self.length += len(rendered) + 1
        if self.length > MAX_FORMATTED:
            raise CostExceededError
        return rendered

    def _string(self, value: Value) -> str:
        if value.__class__ is tuple:
            return f"[{', '.join(map(self._nested, value))}]"
        if value.__class__ in MAPS:
            parts = (f"{self._nested(key)}:{self._nested(content)}" for key, content in value.items())
            return f"{{{', '.join(sorted(parts))}}}"
        return self._counted(_plain(value))

    def _nested(self, value: Value) -> str:
        if value.__class__ is str:
            return self._counted(quote(value))
        if value.__class__ is bytes:
            return self._counted(f"b{quote(to_string(value))}")
        if value.__class__ is float and isfinite(value):
            return self._counted(f"{value:.{_DEFAULT_PRECISION}f}")
        return self._string(value)


_END = object()


def _failure(problem: str) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"could not format: {problem}")


def _unsuitable(clause: str, value: Value) -> EvaluationError:
    return _failure(f"{clause} was given {type_name(value)}")


def _plain(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, TypeName):
        return value.name
    try:
        return to_string(value)
    except EvaluationError:
        raise _unsuitable("a string clause", value) from None


def _decimal(value: Value, _precision: int) -> str:
    if value.__class__ in (int, UInt):
        return str(int(value))
    raise _unsuitable("a decimal clause", value)


def _double(clause: str, value: Value) -> float:
    if value.__class__ is float or (value.__class__ is str and value in _SPECIAL):
        return to_double(value)
    raise _unsuitable(clause, value)


def _fixed(value: Value, precision: int) -> str:
    return f"{_double('a fixed-point clause', value):,.{precision}f}"


def _scientific(value: Value, _precision: int) -> str:
    """Return the locale form that Kubernetes gets, in which the precision has no effect."""
    mantissa, _, exponent = f"{_double('a scientific clause', value):.{_DEFAULT_PRECISION}e}".partition("e")
    return (
        f"{mantissa}\N{MULTIPLICATION SIGN}10{exponent.lstrip('+').translate(_SUPERSCRIPTS)}" if exponent else mantissa
    )


def _binary(value: Value, _precision: int) -> str:
    if value.__class__ in (int, UInt, bool):
        return f"{int(value):b}"
    raise _unsuitable("a binary clause", value)


def _octal(value: Value, _precision: int) -> str:
    if value.__class__ in (int, UInt):
        return f"{int(value):o}"
    raise _unsuitable("an octal clause", value)


def _hex(value: Value, _precision: int) -> str:
    if value.__class__ in (int, UInt):
        return f"{int(value):x}"
    if value.__class__ is str:
        return str(value).encode().hex()
    if value.__class__ is bytes:
        return bytes(value).hex()
    raise _unsuitable("a hexadecimal clause", value)


def _upper_hex(value: Value, precision: int) -> str:
    return _hex(value, precision).upper()


_RENDERERS: dict[str, Callable[[Value, int], str]] = {
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
    "X": _upper_hex,
}
KNOWN_CLAUSES = frozenset({"s", *_RENDERERS})
