"""Functions on lists: cel-go's lists and sets, and those that Kubernetes adds."""

from functools import cmp_to_key
from itertools import pairwise

from kube_cel.arithmetic import add, within_limit
from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.operators import compare, contained, is_same
from kube_cel.values import ABSENT, Maybe, Value, type_name

MAX_RANGE = 1_000_000
_ORDERED_TYPES = frozenset(
    {"int", "uint", "double", "bool", "string", "bytes", "google.protobuf.Duration", "google.protobuf.Timestamp"}
)

Items = tuple[Value, ...]


def items(value: Value) -> Items:
    """Return the value if it is a list."""
    if value.__class__ is tuple:
        return tuple(value)
    raise no_such_overload()


def _failure(message: str) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, message)


def slice_of(value: Value, start: Value, end: Value) -> Items:
    """Return the items from start up to end."""
    values = items(value)
    if start.__class__ is not int or end.__class__ is not int:
        raise no_such_overload()
    if not 0 <= start <= end <= len(values):
        raise _failure(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def flatten(value: Value, depth: Value = 1) -> Items:
    """Return a list with the lists inside it unpacked, `depth` levels down."""
    if depth.__class__ is not int:
        raise no_such_overload()
    if depth < 0:
        raise _failure("level must be non-negative")
    values = items(value)
    for _ in range(depth):
        if not any(item.__class__ is tuple for item in values):
            break
        within_limit(sum(len(item) if item.__class__ is tuple else 1 for item in values))
        values = tuple(inner for item in values for inner in (item if item.__class__ is tuple else (item,)))
    return values


def range_of(count: Value) -> Items:
    """Return the integers from 0 up to count."""
    if count.__class__ is not int:
        raise no_such_overload()
    if not 0 <= count <= MAX_RANGE:
        raise _failure(f"lists.range: size {count} is negative or exceeds maximum allowed ({MAX_RANGE})")
    return tuple(range(count))


def reverse(value: Value) -> Items:
    """Return the items from last to first."""
    return items(value)[::-1]


def distinct(value: Value) -> Items:
    """Return the items without repetitions, in order of first appearance."""
    values = items(value)
    within_limit(2 * len(values) * len(values))
    found: list[Value] = []
    for item in values:
        if not contained(item, tuple(found)):
            found.append(item)
    return tuple(found)


def sort(value: Value) -> Items:
    """Return the items in ascending order."""
    return sort_by(value, value)


def sort_by(value: Value, keys: Value) -> Items:
    """Return the items in ascending order of their keys."""
    values, ranks = items(value), items(keys)
    if len(values) != len(ranks):
        raise _failure("sortBy needs one key for each item")
    kinds = {type_name(rank) for rank in ranks}
    if not kinds <= _ORDERED_TYPES:
        raise _failure("list elements must be comparable")
    if len(kinds) > 1:
        raise _failure("list elements must have the same type")
    pairs = sorted(zip(ranks, values, strict=True), key=cmp_to_key(_by_rank))
    return tuple(item for _, item in pairs)


def _by_rank(left: tuple[Value, Value], right: tuple[Value, Value]) -> int:
    return compare(left[0], right[0])


def is_sorted(value: Value) -> bool:
    """Return whether no item is smaller than the one before it."""
    return all(compare(left, right) <= 0 for left, right in pairwise(items(value)))


def sum_of(value: Value, zero: Value = 0) -> Value:
    """Return the sum of the items."""
    values = items(value)
    total = zero if not values else values[0]
    for item in values[1:]:
        total = add(total, item)
    return total


def smallest(value: Value) -> Value:
    """Return the first of the smallest items."""
    return _extreme("min", value, 1)


def largest(value: Value) -> Value:
    """Return the first of the largest items."""
    return _extreme("max", value, -1)


def _extreme(name: str, value: Value, replaced_if: int) -> Value:
    values = items(value)
    if not values:
        raise _failure(f"{name} called on empty list")
    chosen = values[0]
    for item in values[1:]:
        if compare(chosen, item) == replaced_if:
            chosen = item
    return chosen


def includes(value: Value, sought: Value) -> bool:
    """Return whether a list holds the value, or a scalar is it; types that do not compare are different."""
    return any(is_same(item, sought) for item in (value if value.__class__ is tuple else (value,)))


def first(value: Value) -> Maybe:
    """Return the first item, if there is one."""
    return Maybe(items(value)[:1]) if value else ABSENT


def last(value: Value) -> Maybe:
    """Return the last item, if there is one."""
    return Maybe(items(value)[-1:]) if value else ABSENT


def sets_contains(whole: Value, part: Value) -> bool:
    """Return whether every item of `part` is in `whole`."""
    container = items(whole)
    within_limit(len(container) * len(items(part)))
    return all(contained(item, container) for item in items(part))


def sets_intersects(left: Value, right: Value) -> bool:
    """Return whether the lists have an item in common."""
    container = items(right)
    within_limit(len(container) * len(items(left)))
    return any(contained(item, container) for item in items(left))


def sets_equivalent(left: Value, right: Value) -> bool:
    """Return whether each list holds every item of the other."""
    return sets_contains(left, right) and sets_contains(right, left)
