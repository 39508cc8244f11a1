"""What a call really costs, for the functions whose cost depends on the size of their arguments.

The formulas are those of cel-go and k8s.io/apiserver, except that a result is bounded by its arguments where upstream
measures it afterwards, so that nothing larger than the limit is ever built.
"""

from collections.abc import Callable
from math import ceil

from kube_cel.values import Value

_TENTHS = 10
_LIST_COST = 11


def _size(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes | tuple | dict) else 1


def _traversal(characters: int) -> int:
    return ceil(characters / _TENTHS)


def _read(value: Value, *_rest: Value) -> int:
    return _traversal(_size(value))


def _read_twice(value: Value, *_rest: Value) -> int:
    return _traversal(2 * _size(value))


def _affix(_value: Value, affix: Value) -> int:
    return _traversal(_size(affix))


def _contains(value: Value, part: Value) -> int:
    return _traversal(_size(value)) * _traversal(_size(part))


def _regex(value: Value, pattern: Value, *_rest: Value) -> int:
    return _traversal(_size(value) + 1) * ceil(_size(pattern) / 4)


def _compared(left: Value, right: Value) -> int:
    return _traversal(min(_size(left), _size(right)))


def _added(left: Value, right: Value) -> int:
    if left.__class__ is tuple:
        return 1
    return _traversal(_size(left) + _size(right)) if left.__class__ in (str, bytes) else 1


def _in(_element: Value, container: Value) -> int:
    return _size(container) if container.__class__ is tuple else 1


def _walked(value: Value, *_rest: Value) -> int:
    if value.__class__ is tuple:
        return sum(_traversal(_size(item)) for item in value)
    return _traversal(_size(value))


def _replaced(value: Value, old: Value, new: Value, *_rest: Value) -> int:
    places = _size(value) // max(_size(old), 1) + 1
    return _traversal(2 * _size(value)) + _traversal(places * _size(new))


def _joined(parts: Value, separator: Value = "") -> int:
    if parts.__class__ is not tuple:
        return 1
    return _traversal(2 * (sum(map(_size, parts)) + len(parts) * _size(separator)))


def _sets(left: Value, right: Value) -> int:
    return 1 + _size(left) * _size(right)


def _sets_twice(left: Value, right: Value) -> int:
    return 1 + 2 * _size(left) * _size(right)


def _self_compared(value: Value, *keys: Value) -> int:
    count = _size(keys[0] if keys else value)
    return _LIST_COST + 2 * count * count


def _copied(value: Value, *_rest: Value) -> int:
    return _LIST_COST + _size(value)


def _ranged(count: Value) -> int:
    return _LIST_COST + max(count, 0) if count.__class__ is int else 1


def _flattened(value: Value, *_rest: Value) -> int:
    if value.__class__ is not tuple:
        return 1
    return _LIST_COST + sum(map(_size, value))


CALL_COSTS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip"), _read),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver", "bytes", "strings.quote", "format"), _read),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _walked),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _compared),
    **dict.fromkeys(("startsWith", "endsWith"), _affix),
    **dict.fromkeys(("matches", "find", "findAll"), _regex),
    **dict.fromkeys(("split", "ip.isCanonical"), _read_twice),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys", "distinct"), _self_compared),
    **dict.fromkeys(("slice", "reverse"), _copied),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets),
    "sets.equivalent": _sets_twice,
    "string": _read,
    "contains": _contains,
    "_+_": _added,
    "@in": _in,
    "replace": _replaced,
    "join": _joined,
    "lists.range": _ranged,
    "flatten": _flattened,
}
"""By function; all others cost one unit."""
