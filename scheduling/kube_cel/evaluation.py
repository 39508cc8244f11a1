"""What generated code calls for everything that is not a plain function: logic, loops, fields, the cost limit.

There are two kinds of code for each expression. Fast code lets the first error out. Careful code is run only then, and
follows CEL's rule that an operand that decides `&&`, `||`, `all` or `exists` does so whatever the others raise.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NoReturn

from kube_cel.device import FIELDS, AttributeValue, DeviceView
from kube_cel.errors import CelErrorKind, CostExceededError, EvaluationError, no_such_overload
from kube_cel.functions_text import text
from kube_cel.operators import MAPS, contained, has_key, index, optional_index
from kube_cel.runtime_cost import CALL_COSTS
from kube_cel.semver import Version
from kube_cel.values import ABSENT, Maybe, UInt, Value, type_name

_KEYS = frozenset({bool, int, UInt, float, str})
SCALARS = frozenset({bool, int, str, Version})
"""The types that an attribute can have; a list has one of them."""

Thunk = Callable[[], Value]
Body = Callable[..., Value]


def boolean(value: Value) -> bool:
    """Return the value if it is a bool, as an operand of logic must be."""
    if value.__class__ is bool:
        return bool(value)
    raise no_such_overload()


def verdict(value: Value) -> bool:
    """Return the value if it is a bool, as the result of a selector must be."""
    if value.__class__ is bool:
        return bool(value)
    raise EvaluationError(CelErrorKind.NOT_BOOL, f"the result is not a bool but of type {type_name(value)}")


def attribute_value(value: Value) -> AttributeValue:
    """Return the value if it is of a kind that an attribute has, as the result of a derived attribute must be."""
    kinds = {item.__class__ for item in (value if value.__class__ is tuple else (value,))}
    if kinds <= SCALARS and len(kinds) <= 1:
        found: AttributeValue = value
        return found
    what = type_name(value) if value.__class__ is not tuple else f"list of {', '.join(sorted(map(type_name, value)))}"
    raise EvaluationError(CelErrorKind.OTHER, f"the result is no value of an attribute but of type {what}")


def refuse() -> NoReturn:
    """Raise the error for a comparison that the types do not allow, from inside an expression."""
    raise no_such_overload()


def both(*operands: Thunk) -> bool:
    """Return the `&&` of the operands: false if any is, else the first error, else true."""
    return _decided(operands, deciding=False)


def either(*operands: Thunk) -> bool:
    """Return the `||` of the operands: true if any is, else the first error, else false."""
    return _decided(operands, deciding=True)


def _decided(operands: Iterable[Thunk], *, deciding: bool) -> bool:
    first_error: EvaluationError | None = None
    for operand in operands:
        try:
            if boolean(operand()) is deciding:
                return deciding
        except CostExceededError:
            raise
        except EvaluationError as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
    return not deciding


def iterated(source: Value) -> Iterable[tuple[Value]]:
    """Return what a loop with one variable runs over: items of a list, keys of a map."""
    if source.__class__ is tuple or source.__class__ in MAPS:
        return zip(source, strict=True)
    raise _not_iterable(source)


def iterated_pairs(source: Value) -> Iterable[tuple[Value, Value]]:
    """Return what a loop with two variables runs over: index and item, or key and value."""
    if source.__class__ is tuple:
        return enumerate(source)
    if source.__class__ in MAPS:
        pairs: Iterable[tuple[Value, Value]] = source.items()
        return pairs
    raise _not_iterable(source)


def _not_iterable(source: Value) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"a loop needs a list or a map, got {type_name(source)}")


def all_fast(rounds: Iterable[tuple[Value, ...]], test: Body) -> bool:
    """Return whether the test holds in all rounds; the first error ends it."""
    return all(boolean(test(*variables)) for variables in rounds)


def any_fast(rounds: Iterable[tuple[Value, ...]], test: Body) -> bool:
    """Return whether the test holds in some round; the first error ends it."""
    return any(boolean(test(*variables)) for variables in rounds)


def all_careful(rounds: Iterable[tuple[Value, ...]], test: Body) -> bool:
    """Return whether the test holds in all rounds; a false one decides, whatever the others raise."""
    return _decided((partial(test, *variables) for variables in rounds), deciding=False)


def any_careful(rounds: Iterable[tuple[Value, ...]], test: Body) -> bool:
    """Return whether the test holds in some round; a true one decides, whatever the others raise."""
    return _decided((partial(test, *variables) for variables in rounds), deciding=True)


def exactly_one(rounds: Iterable[tuple[Value, ...]], test: Body) -> bool:
    """Return whether the test holds in exactly one round."""
    return sum(boolean(test(*variables)) for variables in rounds) == 1


def collected(rounds: Iterable[tuple[Value, ...]], transform: Body, test: Body | None = None) -> tuple[Value, ...]:
    """Return the list of what each round yields, where the test holds."""
    return tuple(transform(*variables) for variables in rounds if test is None or boolean(test(*variables)))


def mapped(rounds: Iterable[tuple[Value, Value]], transform: Body, test: Body | None = None) -> dict[Value, Value]:
    """Return the map of the keys to what each round yields, where the test holds."""
    chosen = (variables for variables in rounds if test is None or boolean(test(*variables)))
    return {variables[0]: transform(*variables) for variables in chosen}


def merged(rounds: Iterable[tuple[Value, Value]], transform: Body, test: Body | None = None) -> dict[Value, Value]:
    """Return the one map of the maps that the rounds yield, where the test holds; a key must come once only."""
    result: dict[Value, Value] = {}
    for variables in rounds:
        if test is not None and not boolean(test(*variables)):
            continue
        entries = transform(*variables)
        if entries.__class__ not in MAPS:
            raise no_such_overload()
        for key, value in entries.items():
            if has_key(result, key):
                raise EvaluationError(CelErrorKind.OTHER, f"insert failed: key {key} already exists")
            result[key] = value
    return result


def lazily(compute: Thunk) -> Thunk:
    """Return a function that computes a bound value at its first use only, an error as often as asked."""
    known: list[Value] = []

    def value() -> Value:
        if not known:
            known.append(compute())
        return known[0]

    return value


def select(value: Value, field: str) -> Value:
    """Return value.field."""
    kind = value.__class__
    if isinstance(value, DeviceView) and field in FIELDS:
        return getattr(value, FIELDS[field])
    if kind is Maybe:
        return optional_select(value, field)
    return index(value, field)


def has(value: Value, field: str) -> bool:
    """Return whether a value has a field, which maps and devices do."""
    kind = value.__class__
    if kind is Maybe:
        return bool(optional_select(value, field).content)
    if isinstance(value, DeviceView):
        return field in FIELDS
    return kind in (*MAPS, tuple) and bool(optional_index(value, field).content)


def optional_select(value: Value, field: str) -> Maybe:
    """Return value.?field."""
    kind = value.__class__
    if isinstance(value, DeviceView):
        return Maybe((getattr(value, FIELDS[field]),)) if field in FIELDS else ABSENT
    if kind is Maybe:
        return optional_select(value.content[0], field) if value.content else ABSENT
    return optional_index(value, field)


def contained_in_literals(value: Value, literals: tuple[Value, ...]) -> bool:
    """Return whether a list of literals holds the value; Kubernetes fails on versions here."""
    if value.__class__ is Version:
        raise no_such_overload()
    return contained(value, literals)


def search(pattern: Value, value: Value) -> bool:
    """Return whether an already compiled expression matches anywhere in a string."""
    return pattern.search(text(value)) is not None


def or_else(value: Value, other: Thunk) -> Maybe:
    """Return an optional, or another one if it is absent."""
    return value if _optional(value).content else _optional(other())


def or_value(value: Value, default: Thunk) -> Value:
    """Return the value of an optional, or the default if it is absent."""
    content = _optional(value).content
    return content[0] if content else default()


def _optional(value: Value) -> Maybe:
    if isinstance(value, Maybe):
        return value
    raise no_such_overload()


def listed(items: tuple[Value, ...], optional: frozenset[int]) -> tuple[Value, ...]:
    """Return a list in which the optional elements appear only if they are there."""
    return tuple(
        part for at, item in enumerate(items) for part in (_optional(item).content if at in optional else (item,))
    )


def entries(*written: tuple[Value, Value, bool]) -> dict[Value, Value]:
    """Return a map in which the optional entries appear only if they are there; keys must be scalars."""
    result: dict[Value, Value] = {}
    for key, value, is_optional in written:
        if key.__class__ not in _KEYS:
            raise EvaluationError(CelErrorKind.OTHER, f"unsupported key type: {type_name(key)}")
        for content in _optional(value).content if is_optional else (value,):
            result[key] = content
    return result


class CostBudget:
    """What an evaluation may still cost."""

    __slots__ = ("left",)

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, cost: int) -> None:
        """Take the cost of a stretch of code; raise CostExceededError when more is spent than there was."""
        self.left -= cost
        if self.left < 0:
            raise CostExceededError

    def call(self, name: str, function: Callable[..., Value], *arguments: Value) -> Value:
        """Return what a function whose cost depends on its values returns, and charge it."""
        self.spend(CALL_COSTS[name](*arguments))
        return function(*arguments)
