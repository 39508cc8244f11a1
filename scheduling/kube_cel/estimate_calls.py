"""What calling a function costs at most, and how large its result can be.

The formulas are those of cel-go and of k8s.io/apiserver, which the API server promises not to change.
"""

from collections.abc import Callable
from math import ceil

from msgspec import Struct

from kube_cel.signatures import Signature
from kube_cel.size_range import ANY_SIZE, NOTHING, ONE, UNBOUNDED, Span, exactly
from kube_cel.tree import ADD, EQUALS, IN, Literal, SyntaxNode
from kube_cel.types import CIDR, IP, NAMED_FORMAT, QUANTITY, URL, VERSION, Kind

TRAVERSAL = 0.1
"""Cost of looking at one character."""
REGEX = 0.25
"""Cost of one character of a regular expression for each ten of the text."""
LIST_COST = 10
FORMAT_NAME_SIZE = 64
FORMAT_REGEX_SIZE = 128

CallEstimate = tuple[Span, Span | None]
Size = Callable[[SyntaxNode], Span]


class Callee(Struct, frozen=True, kw_only=True):
    """One way in which a call may go."""

    function: str
    form: Signature | None
    target: SyntaxNode | None
    arguments: list[SyntaxNode]
    kinds: dict[SyntaxNode, Kind]

    def takes(self, index: int, *names: str) -> bool:
        """Return whether this form takes one of the types at that place, the receiver of a method being place 0."""
        return self.form is not None and len(self.form.arguments) > index and self.form.arguments[index].name in names


def call_estimate(callee: Callee, size: Size, element_size: Size) -> CallEstimate:
    """Return the cost of the call without that of its arguments, and the size of its result if it is known."""
    handler = _HANDLERS.get(callee.function)
    sizes = _Sizes(callee, size, element_size)
    return (handler(sizes) if handler else None) or (ONE, None)


class _Sizes:
    __slots__ = ("arguments", "callee", "element", "operands", "target")

    def __init__(self, callee: Callee, size: Size, element_size: Size) -> None:
        self.callee = callee
        self.arguments = [size(argument) for argument in callee.arguments]
        self.target = size(callee.target) if callee.target is not None else NOTHING
        self.operands = self.arguments if callee.target is None else [self.target, *self.arguments]
        self.element = element_size(callee.target) if callee.target is not None else ANY_SIZE

    def number(self, index: int, default: int) -> int:
        """Return a literal argument as a whole number of at least zero."""
        node = self.callee.arguments[index] if index < len(self.callee.arguments) else None
        if isinstance(node, Literal) and node.value.__class__ is int:
            return max(int(node.value), 0)
        return default


Handler = Callable[[_Sizes], CallEstimate | None]


def _read_through(sizes: _Sizes) -> CallEstimate:
    return sizes.operands[0].scaled(TRAVERSAL), None


def _read_twice(sizes: _Sizes) -> CallEstimate:
    return sizes.operands[0].scaled(2 * TRAVERSAL), None


def _rewritten(sizes: _Sizes) -> CallEstimate:
    return sizes.operands[0].scaled(TRAVERSAL), sizes.operands[0]


def _affix(sizes: _Sizes) -> CallEstimate:
    return sizes.arguments[0].scaled(TRAVERSAL), None


def _in(sizes: _Sizes) -> CallEstimate | None:
    return (sizes.arguments[1], None) if sizes.callee.takes(1, "list") else None


def _matches(sizes: _Sizes) -> CallEstimate:
    text, pattern = sizes.operands
    return text.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(REGEX)), None


def _find(sizes: _Sizes) -> CallEstimate:
    text, pattern = sizes.operands[:2]
    return text.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(REGEX)), Span(0, text.high)


def _contains(sizes: _Sizes) -> CallEstimate:
    return sizes.target.scaled(TRAVERSAL).times(sizes.arguments[0].scaled(TRAVERSAL)), None


def _add(sizes: _Sizes) -> CallEstimate | None:
    if not sizes.callee.takes(0, "string", "bytes", "list"):
        return None
    size = sizes.arguments[0].plus(sizes.arguments[1])
    return (ONE if sizes.callee.takes(0, "list") else size.scaled(TRAVERSAL)), size


def _compared(sizes: _Sizes) -> CallEstimate:
    most = min(size.high for size in sizes.arguments)
    return Span(1 if most else 0, most).scaled(TRAVERSAL), None


def _ordered(sizes: _Sizes) -> CallEstimate | None:
    return _compared(sizes) if sizes.callee.takes(0, "string", "bytes") else None


def _equals(sizes: _Sizes) -> CallEstimate:
    kinds = [sizes.callee.kinds[argument] for argument in sizes.callee.arguments]
    if kinds[0] == kinds[1]:
        if kinds[0] in (QUANTITY, VERSION, IP, CIDR):
            return ONE, None
        if kinds[0] == NAMED_FORMAT:
            return Span(1, FORMAT_NAME_SIZE).scaled(TRAVERSAL), None
        if kinds[0] == URL:
            return Span(1, sizes.arguments[1].high).scaled(TRAVERSAL), None
    return _compared(sizes)


def _to_bytes(sizes: _Sizes) -> CallEstimate | None:
    size = sizes.arguments[0]
    return (size.scaled(TRAVERSAL), Span(size.low, size.high * 4)) if sizes.callee.takes(0, "string") else None


def _to_string(sizes: _Sizes) -> CallEstimate | None:
    size = sizes.arguments[0]
    return (size.scaled(TRAVERSAL), Span(size.low // 4, size.high)) if sizes.callee.takes(0, "bytes") else None


def _quote(sizes: _Sizes) -> CallEstimate:
    size = sizes.arguments[0]
    return size.scaled(TRAVERSAL), Span(size.low + 2, min(size.high * 2 + 2, UNBOUNDED))


def _each_item(sizes: _Sizes) -> CallEstimate:
    """Cost of comparing every item of a list, or of reading a string once."""
    callee = sizes.callee
    kind = callee.kinds[callee.target] if callee.target is not None else None
    if kind is None or (not kind.parameters and callee.function != "includes"):
        return sizes.target.scaled(TRAVERSAL), None
    comparison = ONE
    if kind.parameters and kind.parameters[0].name in ("string", "bytes"):
        comparison = ONE.plus(sizes.element.scaled(TRAVERSAL))
    return sizes.target.times(comparison), None


def _replace(sizes: _Sizes) -> CallEstimate:
    text, old, new = sizes.target, *sizes.arguments[:2]
    if old.low == 0:
        most, kept_most = min(text.high + 1, UNBOUNDED), text.high
    elif new.high <= old.low:
        most, kept_most = 0, text.high
    else:
        most, kept_most = ceil(float(text.high) / float(old.low)), 0
    if old.high == 0:
        least, kept_least = min(text.low + 1, UNBOUNDED), text.low
    elif old.high <= new.low:
        least, kept_least = 0, text.low
    else:
        least, kept_least = ceil(float(text.low) / float(old.high)), 0
    size = Span(least, most).times(new).plus(Span(kept_least, kept_most))
    return text.scaled(2 * TRAVERSAL), size


def _split(sizes: _Sizes) -> CallEstimate:
    most = sizes.number(1, sizes.target.high)
    return sizes.target.scaled(2 * TRAVERSAL), Span(0, most)


def _join(sizes: _Sizes) -> CallEstimate:
    items = sizes.target
    size = items.times(sizes.element)
    if sizes.arguments:
        gaps = Span(max(items.low - 1, 0), max(items.high - 1, 0))
        size = size.plus(sizes.arguments[0].times(gaps))
    return size.scaled(TRAVERSAL), size


def _ip(sizes: _Sizes) -> CallEstimate:
    return (ONE, None) if sizes.callee.takes(0, CIDR.name) else _read_through(sizes)


_NETWORK_BYTES = Span(4, 16)


def _contains_ip(sizes: _Sizes) -> CallEstimate:
    cost = _NETWORK_BYTES.plus(_NETWORK_BYTES).scaled(TRAVERSAL)
    if sizes.callee.takes(1, "string"):
        cost = cost.plus(sizes.arguments[0].scaled(TRAVERSAL))
    return cost, None


def _contains_cidr(sizes: _Sizes) -> CallEstimate:
    cost, _ = _contains_ip(sizes)
    return cost.plus(_NETWORK_BYTES.scaled(TRAVERSAL)).plus(ONE), None


def _validate(sizes: _Sizes) -> CallEstimate:
    return sizes.arguments[0].scaled(TRAVERSAL).scaled(FORMAT_REGEX_SIZE * REGEX), None


def _sets(factor: int) -> Handler:
    def handler(sizes: _Sizes) -> CallEstimate:
        first, second = sizes.arguments
        return first.times(second).scaled(factor).plus(ONE), None

    return handler


def _new_list(size: Span, factor: float = 1) -> CallEstimate:
    return size.scaled(factor).plus(exactly(1 + LIST_COST)), size


def _slice(sizes: _Sizes) -> CallEstimate:
    width = sizes.number(1, sizes.target.high) - sizes.number(0, 0)
    return _new_list(exactly(width % (UNBOUNDED + 1)))


def _range(sizes: _Sizes) -> CallEstimate:
    return _new_list(exactly(sizes.number(0, UNBOUNDED)))


def _reverse(sizes: _Sizes) -> CallEstimate:
    return _new_list(sizes.target)


def _flatten(sizes: _Sizes) -> CallEstimate:
    return _new_list(sizes.target, float(sizes.number(0, UNBOUNDED) if sizes.arguments else 1))


def _distinct(sizes: _Sizes) -> CallEstimate:
    return _new_list(sizes.target.times(sizes.target), 2.0)


def _sort(sizes: _Sizes) -> CallEstimate:
    keys = sizes.arguments[0] if sizes.arguments else sizes.target
    form = sizes.callee.form
    kind = form.arguments[-1].parameters[0].name if form else ""
    return _new_list(keys.times(keys), 2.0 + (TRAVERSAL if kind in ("string", "bytes") else 0))


_HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _each_item),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim", "url"), _rewritten),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read_through),
    **dict.fromkeys(("format",), _read_through),
    **dict.fromkeys(("startsWith", "endsWith"), _affix),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    "ip.isCanonical": _read_twice,
    "_!=_": _compared,
    EQUALS: _equals,
    ADD: _add,
    IN: _in,
    "matches": _matches,
    "contains": _contains,
    "bytes": _to_bytes,
    "string": _to_string,
    "strings.quote": _quote,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
}
