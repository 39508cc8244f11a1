"""Functions on strings, version 2 of cel-go's strings library, and Kubernetes' regular expressions."""

from functools import lru_cache

import re2  # type: ignore[import-untyped]

from kube_cel.arithmetic import within_limit
from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.operators import is_same
from kube_cel.values import Value

MAX_REGEX_MEMORY = 2 * 1024 * 1024
"""Bytes that one compiled expression may take; what needs more does not compile."""
_ASCII_UPPER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_ASCII_LOWER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What Go calls space; Python also strips the ASCII separators."""


def text(value: Value) -> str:
    """Return the value if it is a string."""
    if value.__class__ is str:
        return str(value)
    raise no_such_overload()


def whole(value: Value) -> int:
    """Return the value if it is an int."""
    if value.__class__ is int:
        return int(value)
    raise no_such_overload()


def _out_of_range(at: int) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"index out of range: {at}")


def contains(value: Value, part: Value) -> bool:
    """Return whether a string holds another."""
    return text(part) in text(value)


def starts_with(value: Value, prefix: Value) -> bool:
    """Return whether a string starts with another."""
    return text(value).startswith(text(prefix))


def ends_with(value: Value, suffix: Value) -> bool:
    """Return whether a string ends with another."""
    return text(value).endswith(text(suffix))


def char_at(value: Value, at: Value) -> str:
    """Return one character, or nothing just behind the last."""
    string, position = text(value), whole(at)
    if not 0 <= position <= len(string):
        raise _out_of_range(position)
    return string[position : position + 1]


def index_of(value: Value, part: Value, offset: Value = 0) -> int:
    """Return where a string first holds another, or a list an element; -1 if nowhere."""
    if value.__class__ is tuple:
        return next((at for at, item in enumerate(value) if is_same(item, part)), -1)
    string, sought, start = text(value), text(part), whole(offset)
    if start < 0:
        raise _out_of_range(start)
    return min(start, len(string)) if not sought else string.find(sought, start)


def last_index_of(value: Value, part: Value, offset: Value = None) -> int:
    """Return where a string last holds another, starting at most at the offset, or a list an element; -1 if nowhere."""
    if value.__class__ is tuple:
        return next((at for at in reversed(range(len(value))) if is_same(value[at], part)), -1)
    string, sought = text(value), text(part)
    if offset is None:
        return string.rfind(sought)
    start = whole(offset)
    if start < 0:
        raise _out_of_range(start)
    if not sought:
        return min(start, len(string))
    return -1 if start >= len(string) else string.rfind(sought, 0, start + len(sought))


def join(parts: Value, separator: Value = "") -> str:
    """Return the strings of a list behind each other."""
    if parts.__class__ is not tuple:
        raise no_such_overload()
    if not all(part.__class__ is str for part in parts):
        raise EvaluationError(CelErrorKind.OTHER, "join: every item must be a string")
    between = text(separator)
    within_limit(sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def lower_ascii(value: Value) -> str:
    """Return a string with A to Z in lower case."""
    return text(value).translate(_ASCII_UPPER)


def upper_ascii(value: Value) -> str:
    """Return a string with a to z in upper case."""
    return text(value).translate(_ASCII_LOWER)


def replace(value: Value, old: Value, new: Value, limit: Value = -1) -> str:
    """Return a string with a part replaced, at most `limit` times."""
    string, sought, substitute = text(value), text(old), text(new)
    within_limit(len(string) + string.count(sought) * len(substitute))
    return string.replace(sought, substitute, max(whole(limit), -1))


def split(value: Value, separator: Value, limit: Value = -1) -> tuple[str, ...]:
    """Return the parts of a string between separators, at most `limit` of them."""
    string, between, most = text(value), text(separator), whole(limit)
    if most == 0:
        return ()
    if between:
        return tuple(string.split(between, most - 1 if most > 0 else -1))
    if most < 0 or most >= len(string):
        return tuple(string)
    return (*string[: most - 1], string[most - 1 :])


def substring(value: Value, start: Value, end: Value = None) -> str:
    """Return the characters from start up to end."""
    string, first = text(value), whole(start)
    last = len(string) if end is None else whole(end)
    if first > last and end is not None:
        raise EvaluationError(CelErrorKind.OTHER, f"invalid substring range. start: {first}, end: {last}")
    for at in (first, last):
        if not 0 <= at <= len(string):
            raise _out_of_range(at)
    return string[first:last]


def trim(value: Value) -> str:
    """Return a string without white space around it."""
    return text(value).strip(_WHITE_SPACE)


def quote(value: Value) -> str:
    """Return a string in double quotes, with escapes."""
    return f'"{text(value).translate(_QUOTED)}"'


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Value:
    """Return a compiled RE2 expression, or raise ValueError with what is wrong with it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_REGEX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as problem:
        raise ValueError(f"error parsing regexp: {problem.args[0].decode()}") from None


def _regex(pattern: Value) -> Value:
    try:
        return compiled(text(pattern))
    except ValueError as problem:
        raise EvaluationError(CelErrorKind.OTHER, str(problem)) from None


def matches(value: Value, pattern: Value) -> bool:
    """Return whether an RE2 expression matches anywhere in a string."""
    return _regex(pattern).search(text(value)) is not None


def find(value: Value, pattern: Value) -> str:
    """Return the first match of an RE2 expression, or an empty string."""
    found = _regex(pattern).search(text(value))
    return found.group() if found else ""


def find_all(value: Value, pattern: Value, limit: Value = -1) -> tuple[str, ...]:
    """Return the matches of an RE2 expression, at most `limit` of them."""
    most = whole(limit)
    found: list[str] = []
    end = -1
    for match in _regex(pattern).finditer(text(value)):
        # Go leaves out an empty match right behind another match, Python does not.
        if len(found) == most:
            break
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
        end = match.end()
    return tuple(found)
