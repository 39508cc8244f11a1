"""Static cost: the most that an expression can cost on any device that the API admits.

This is cel-go's estimator with Kubernetes' sizes for devices: at most 32 domains of 63 and 32 names of 32 characters,
values of at most 64 characters or items. Nothing that a selector can contain is left out.
"""

from msgspec import Struct

from kube_cel.estimate_calls import Callee, CallEstimate, call_estimate
from kube_cel.macros import OPTIONAL_INPUT
from kube_cel.signatures import Signature
from kube_cel.size_range import ANY_SIZE, NOTHING, ONE, Span, exactly, total
from kube_cel.tree import (
    ADD,
    AND,
    CONDITIONAL,
    INDEX,
    OR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Select,
    SyntaxNode,
)
from kube_cel.typecheck import Typed
from kube_cel.types import BOOL, DEVICE, DOUBLE, DURATION, INT, LIST, MAP, OPTIONAL, TIMESTAMP, UINT, Kind

COST_LIMIT = 1_000_000
"""CELSelectorExpressionMaxCost of the resource API, at admission and at run time."""
LIST_COST = 10
MAP_COST = 30

_SCALARS = frozenset({BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT})

Path = tuple[str, ...]
"""Where a value comes from: `device`, then field names, or @keys, @values, @items for what is iterated or indexed."""


class EntrySizes(Struct, frozen=True):
    """Sizes of what a list or map holds; a list counts as having keys of size one."""

    container: str
    key: Span
    value: Span

    def union(self, other: "EntrySizes | None") -> "EntrySizes | None":
        """Return sizes that cover both, if both are known."""
        if other is None:
            return None
        return EntrySizes(self.container, self.key.union(other.key), self.value.union(other.value))


class _Variable(Struct, frozen=True):
    path: Path
    size: Span | None
    entries: EntrySizes | None


class _Declared(Struct, frozen=True):
    """How large the API lets a part of a device become."""

    size: int
    fields: dict[str, "_Declared"] = {}
    key: "_Declared | None" = None
    value: "_Declared | None" = None


_ATTRIBUTE = _Declared(64)
_NAMES = _Declared(32, key=_Declared(32), value=_ATTRIBUTE)
_AMOUNTS = _Declared(32, key=_Declared(32), value=_Declared(0))
_DEVICE = _Declared(
    0,
    {
        "driver": _Declared(63),
        "allowMultipleAllocations": _Declared(1),
        "attributes": _Declared(32, key=_Declared(63), value=_NAMES),
        "capacity": _Declared(32, key=_Declared(63), value=_AMOUNTS),
    },
)


def estimate(root: SyntaxNode, typed: Typed) -> int:
    """Return the highest cost of the tree in CEL cost units; 2^64 - 1 where nothing bounds it."""
    return _Estimator(typed).cost(root).high


class _Estimator:
    __slots__ = ("entries", "paths", "sizes", "typed", "variables")

    def __init__(self, typed: Typed) -> None:
        self.typed = typed
        self.paths: dict[SyntaxNode, Path] = {}
        self.sizes: dict[SyntaxNode, Span] = {}
        self.entries: dict[SyntaxNode, EntrySizes] = {}
        self.variables: dict[str, list[_Variable]] = {}

    def cost(self, node: SyntaxNode) -> Span:
        cost = NOTHING
        match node:
            case Ident():
                cost = self._ident(node)
            case Select():
                cost = self._select(node)
            case Call():
                cost = self._call(node)
            case ListLiteral():
                cost = self._list(node)
            case MapLiteral():
                cost = self._map(node)
            case Comprehension():
                cost = self._bind(node) if node.macro is Macro.BIND else self._loop(node)
            case _:
                pass
        return cost

    def _ident(self, node: Ident) -> Span:
        variable = self._variable(node.name)
        self.paths[node] = variable.path if variable else (node.name.removeprefix("."),)
        return ONE

    def _select(self, node: Select) -> Span:
        if node in self.typed.namespaced:
            return ONE
        cost = self.cost(node.operand)
        if node.tests_presence:
            return cost
        self.paths[node] = (*self._path(node.operand), node.field)
        kind = self.typed.kinds[node.operand]
        return cost.plus(ONE) if kind.name == MAP or kind == DEVICE else cost

    def _call(self, node: Call) -> Span:
        costs = [self.cost(argument) for argument in node.arguments]
        if node.function == "dyn":
            self._copy_sizes(node, node.arguments[0])
            return costs[0].plus(ONE)
        target = None if node in self.typed.namespaced else node.target
        own = self.cost(target) if target is not None else NOTHING
        if node.function in (AND, OR):
            return Span(costs[0].low, total(costs).high)
        forms = self.typed.overloads.get(node, (None,))
        estimates = [self._form(node, target, costs, form) for form in forms]
        sizes = [size for _, size in estimates if size is not None]
        size = sizes[0] if sizes else None
        for other in sizes[1:]:
            size = size.union(other) if size else other
        if node.function == INDEX:
            size = self._index(node, forms) or size
        size = size or self.size(node)
        if size is not None:
            self.sizes[node] = size
        return own.plus(_union([cost for cost, _ in estimates]))

    def _form(self, node: Call, target: SyntaxNode | None, costs: list[Span], form: Signature | None) -> CallEstimate:
        if node.function == CONDITIONAL:
            return self._conditional(node, costs)
        arguments = list(node.arguments)
        if node.function == ADD and form is not None and form.arguments[0].name in (LIST, "string", "bytes"):
            self._concatenation(node)
        callee = Callee(
            function=self.typed.namespaced.get(node, node.function),
            form=form,
            target=target,
            arguments=arguments,
            kinds=self.typed.kinds,
        )
        cost, size = call_estimate(callee, self.known_size, self._element_size)
        return total(costs).plus(cost), size

    def _conditional(self, node: Call, costs: list[Span]) -> CallEstimate:
        _, first, second = node.arguments
        entries = self._entries(first)
        merged = entries.union(self._entries(second)) if entries else None
        if merged:
            self.entries[node] = merged
        return costs[0].plus(costs[1].union(costs[2])), self.known_size(first).union(self.known_size(second))

    def _concatenation(self, node: Call) -> None:
        first, second = map(self._entries, node.arguments)
        merged = first.union(second) if first else None
        if merged:
            self.entries[node] = merged

    def _index(self, node: Call, forms: tuple[Signature | None, ...]) -> Span | None:
        operand = node.arguments[0]
        for form in forms:
            container = form.arguments[0].name if form else ""
            if container in (LIST, MAP):
                self.paths[node] = (*self._path(operand), "@items" if container == LIST else "@values")
        entries = self._entries(operand)
        return entries.value if entries else None

    def _list(self, node: ListLiteral) -> Span:
        costs = [self.cost(element) for element in node.elements]
        sizes = [self.known_size(element) for element in node.elements]
        self.entries[node] = EntrySizes(LIST, ONE, _union(sizes))
        return total(costs).plus(exactly(LIST_COST))

    def _map(self, node: MapLiteral) -> Span:
        costs = [self.cost(part) for entry in node.entries for part in (entry.key, entry.value)]
        keys = [self.known_size(entry.key) for entry in node.entries]
        values = [self.known_size(entry.value) for entry in node.entries]
        self.entries[node] = EntrySizes(MAP, _union(keys), _union(values))
        return total(costs).plus(exactly(MAP_COST))

    def _loop(self, node: Comprehension) -> Span:
        outside = [self.cost(node.source), self.cost(node.initial)]
        self._push(node.accumulator, self._path(node.initial), self.size(node.initial), self._entries(node.initial))
        self._push_iterated(node)
        inside = self.cost(node.condition).plus(self.cost(node.step))
        self.variables[node.variable].pop()
        if node.second_variable:
            self.variables[node.second_variable].pop()
        outside.append(self.cost(node.result))
        self.variables[node.accumulator].pop()
        rounds = self.known_size(node.source)
        self._size_loop(node, rounds)
        return total(outside).plus(rounds.times(inside))

    def _size_loop(self, node: Comprehension, rounds: Span) -> None:
        size = self.size(node.initial) if isinstance(node.initial, Literal) else rounds
        if size is not None:
            self.sizes[node] = size
        entries = self._entries(node.step)
        if entries and not isinstance(node.initial, Literal):
            self.entries[node] = entries

    def _push_iterated(self, node: Comprehension) -> None:
        entries = self._entries(node.source)
        container = entries.container if entries else self.typed.kinds[node.source].name
        is_list = container == LIST
        path = self._path(node.source)
        key = entries.key if entries else None
        value = entries.value if entries else None
        if node.second_variable:
            self._push(node.variable, (*path, "@indices" if is_list else "@keys"), key, None)
            self._push(node.second_variable, (*path, "@items" if is_list else "@values"), value, None)
        else:
            self._push(node.variable, (*path, "@items" if is_list else "@keys"), value if is_list else key, None)

    def _bind(self, node: Comprehension) -> Span:
        initial = self.cost(node.initial)
        self._push(node.accumulator, self._path(node.initial), self.size(node.initial), self._entries(node.initial))
        result = self.cost(node.result)
        self.variables[node.accumulator].pop()
        self._copy_sizes(node, node.result)
        if node.accumulator == OPTIONAL_INPUT:
            return _repeated(initial, result)
        return exactly(LIST_COST).plus(initial).plus(result)

    def known_size(self, node: SyntaxNode) -> Span:
        """Return the size of the value, unbounded if unknown."""
        return self.size(node) or ANY_SIZE

    def size(self, node: SyntaxNode) -> Span | None:
        """Return the size of the value of a node that has been costed, or None if nothing bounds it."""
        if node in self.sizes:
            return self.sizes[node]
        written = _written_size(node)
        if written is not None:
            return written
        declared = _declared_size(self._path(node))
        if declared is not None:
            self.sizes[node] = declared
            return declared
        if _is_scalar(self.typed.kinds[node]):
            return ONE
        variable = self._variable(node.name) if isinstance(node, Ident) else None
        return variable.size if variable else None

    def _element_size(self, node: SyntaxNode) -> Span:
        return _declared_size((*self._path(node), "@items")) or ANY_SIZE

    def _copy_sizes(self, node: SyntaxNode, source: SyntaxNode) -> None:
        size, entries = self.size(source), self._entries(source)
        if size is not None:
            self.sizes[node] = size
        if entries is not None:
            self.entries[node] = entries

    def _path(self, node: SyntaxNode) -> Path:
        variable = self._variable(node.name) if isinstance(node, Ident) else None
        return variable.path if variable else self.paths.get(node, ())

    def _entries(self, node: SyntaxNode) -> EntrySizes | None:
        variable = self._variable(node.name) if isinstance(node, Ident) else None
        return self.entries.get(node) or (variable.entries if variable else None)

    def _variable(self, name: str) -> _Variable | None:
        stack = self.variables.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, path: Path, size: Span | None, entries: EntrySizes | None) -> None:
        self.variables.setdefault(name, []).append(_Variable(path, size, entries))


def _union(spans: list[Span]) -> Span:
    if not spans:
        return NOTHING
    return Span(min(span.low for span in spans), max(span.high for span in spans))


def _repeated(initial: Span, result: Span) -> Span:
    """Return the cost of optMap as cel-go writes it, with its target twice instead of a variable that is read twice."""
    both = initial.plus(initial).plus(result)
    return Span(max(both.low - 2, 0), max(both.high - 2, 0))


def _written_size(node: SyntaxNode) -> Span | None:
    match node:
        case Literal():
            return exactly(len(node.value)) if isinstance(node.value, str | bytes) else ONE
        case ListLiteral():
            return exactly(len(node.elements))
        case MapLiteral():
            return exactly(len(node.entries))
        case _:
            return None


def _declared_size(path: Path) -> Span | None:
    if not path or path[0] != "device":
        return None
    here = _DEVICE
    for step in path[1:]:
        below = here.key if step == "@keys" else here.value if step in ("@items", "@values") else here.fields.get(step)
        if below is None and here.value is _ATTRIBUTE and not step.startswith("@"):
            below = _ATTRIBUTE
        if below is None:
            return None
        here = below
    return Span(0, here.size)


def _is_scalar(kind: Kind) -> bool:
    return kind in _SCALARS or (kind.name == OPTIONAL and _is_scalar(kind.parameters[0]))
