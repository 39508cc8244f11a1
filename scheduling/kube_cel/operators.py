"""Operators on values at run time.

Each function checks what it is given, because attributes are dyn: what does not fit raises EvaluationError.
"""

from kube_cel.errors import CelErrorKind, CostExceededError, EvaluationError, no_such_overload
from kube_cel.quantity import Quantity
from kube_cel.semver import Version
from kube_cel.values import (
    ABSENT,
    Cidr,
    DomainMap,
    Duration,
    HiddenDomains,
    Ip,
    Maybe,
    NamedFormat,
    Timestamp,
    UInt,
    Url,
    Value,
)

NUMBERS = frozenset({int, UInt, float})
MAPS = frozenset({dict, DomainMap, HiddenDomains})
_STRUCTURES = frozenset({tuple, Maybe, *MAPS})
_ORDERED = frozenset({bool, str, bytes, Duration, Timestamp})
STRICT = frozenset({Quantity, Version, Ip, Cidr, Url, NamedFormat})
"""Kubernetes' own types: comparing one with anything else is an error, where other types are just not equal."""


MAX_COMPARISONS = 20_000
"""Most values looked at in one comparison of lists or maps, which can share parts and so be larger than they look."""


def equal(left: Value, right: Value) -> bool:
    """Return whether two values are equal; the left one decides how, as in cel-go."""
    kind = left.__class__
    if left is None or right is None:
        return left is right
    if kind in NUMBERS:
        return right.__class__ in NUMBERS and bool(left == right)
    if kind in STRICT:
        if right.__class__ is not kind:
            raise no_such_overload()
        return bool(left == right)
    if kind in _STRUCTURES:
        return _Structures().equal(left, right)
    return kind is right.__class__ and bool(left == right)


def not_equal(left: Value, right: Value) -> bool:
    """Return whether two values differ; values that cannot be compared do."""
    return not is_same(left, right)


def is_same(left: Value, right: Value) -> bool:
    """Return whether two values are equal; values that cannot be compared are not."""
    try:
        return equal(left, right)
    except EvaluationError as error:
        if error.kind is not CelErrorKind.NO_SUCH_OVERLOAD:
            raise
        return False


class _Structures:
    """One comparison of lists, maps or optionals, with the number of values it may still look at."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_COMPARISONS

    def equal(self, left: Value, right: Value) -> bool:
        self.left -= 1
        if self.left < 0:
            raise CostExceededError
        kind = left.__class__
        if kind not in _STRUCTURES:
            return equal(left, right)
        if kind is tuple:
            return right.__class__ is tuple and len(left) == len(right) and not any(map(self._differ, left, right))
        if kind is Maybe:
            return right.__class__ is Maybe and self._equal_optionals(left, right)
        return right.__class__ in MAPS and len(left) == len(right) and self._equal_maps(left, right)

    def _equal_optionals(self, left: Maybe, right: Maybe) -> bool:
        if len(left.content) != len(right.content):
            return False
        return not left.content or self.equal(left.content[0], right.content[0])

    def _equal_maps(self, left: Value, right: Value) -> bool:
        pairs = ((value, find(right, key)) for key, value in left.items())
        return not any(not there.content or self._differ(value, there.content[0]) for value, there in pairs)

    def _differ(self, left: Value, right: Value) -> bool:
        """Return whether two values are known to differ; in a structure cel-go counts incomparable ones as equal."""
        try:
            return not self.equal(left, right)
        except EvaluationError as error:
            if error.kind is not CelErrorKind.NO_SUCH_OVERLOAD:
                raise
            return False


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for two values of types that have an order."""
    kind = left.__class__
    if (kind in NUMBERS and right.__class__ in NUMBERS) or (kind in _ORDERED and right.__class__ is kind):
        if left != left or right != right:  # noqa: PLR0124  not a number
            raise EvaluationError(CelErrorKind.OTHER, "NaN values cannot be ordered")
        return int(left > right) - int(left < right)
    raise no_such_overload()


def less(left: Value, right: Value) -> bool:
    """Return whether left < right."""
    return compare(left, right) < 0


def less_or_equal(left: Value, right: Value) -> bool:
    """Return whether left <= right."""
    return compare(left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    """Return whether left > right."""
    return compare(left, right) > 0


def greater_or_equal(left: Value, right: Value) -> bool:
    """Return whether left >= right."""
    return compare(left, right) >= 0


def contained(element: Value, container: Value) -> bool:
    """Return whether a list holds the element, or a map has it as a key."""
    if container.__class__ is tuple:
        return any(is_same(element, item) for item in container)
    if container.__class__ in MAPS:
        return has_key(container, element)
    raise no_such_overload()


def has_key(mapping: Value, key: Value) -> bool:
    """Return whether a map really has the key."""
    return key in mapping if key.__class__ is str else bool(find(mapping, key).content)


def find(mapping: Value, key: Value) -> Maybe:
    """Return the value under a key, if there is one; domains of a device are all there, if empty."""
    if key.__class__ is str:
        return Maybe((mapping[key],)) if key in mapping or mapping.__class__ is DomainMap else ABSENT
    if key.__class__ not in NUMBERS and key.__class__ is not bool:
        return ABSENT
    return next((Maybe((value,)) for known, value in mapping.items() if equal(known, key)), ABSENT)


def index(container: Value, key: Value) -> Value:
    """Return container[key]."""
    kind = container.__class__
    if kind in MAPS:
        found = find(container, key)
        if found.content:
            return found.content[0]
    elif kind is tuple:
        return _item(container, key)
    elif kind is Maybe:
        return optional_index(container, key)
    error = EvaluationError(CelErrorKind.NO_SUCH_KEY, f"no such key: {key}")
    if kind in MAPS and key.__class__ is str:
        error.key, error.names = key, container
    raise error


def optional_index(container: Value, key: Value) -> Maybe:
    """Return container[?key]."""
    kind = container.__class__
    if kind is Maybe:
        return optional_index(container.content[0], key) if container.content else ABSENT
    if kind in MAPS:
        return find(container, key)
    if kind is tuple:
        at = _position(key)
        return Maybe((container[at],)) if 0 <= at < len(container) else ABSENT
    return ABSENT


def _item(items: tuple[Value, ...], key: Value) -> Value:
    at = _position(key)
    if not 0 <= at < len(items):
        raise EvaluationError(CelErrorKind.NO_SUCH_KEY, f"index '{at}' out of range in list size '{len(items)}'")
    return items[at]


def _position(key: Value) -> int:
    if isinstance(key, int | float) and not isinstance(key, bool) and key % 1 == 0:
        return int(key)
    raise EvaluationError(CelErrorKind.OTHER, f"unsupported index in list: {key}")
