"""Static types of an expression, inferred as cel-go's checker infers them."""

from msgspec import Struct

from kube_cel.signatures import Signature, signatures
from kube_cel.tree import (
    AND,
    OPTIONAL_SELECT,
    OR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Select,
    SourceError,
    SyntaxNode,
)
from kube_cel.types import (
    ANY,
    BOOL,
    BYTES,
    DEVICE,
    DEVICE_FIELDS,
    DOUBLE,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    QUANTITY,
    STRING,
    TYPE_IDENTIFIERS,
    UINT,
    VERSION,
    Kind,
    is_any,
    is_unknown,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
)
from kube_cel.unify import assigned, most_general, settled, substituted
from kube_cel.values import UInt

_LITERAL_KINDS: dict[type, Kind] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
_COMPARISONS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_COMPARED_BY_METHOD = {QUANTITY: "quantities", VERSION: "versions"}


class Typed(Struct, frozen=True, eq=False):
    """What is known about each node of a tree."""

    kinds: dict[SyntaxNode, Kind]
    overloads: dict[SyntaxNode, tuple[Signature, ...]]
    """The ways in which a call may go; more than one where an argument is dyn."""
    namespaced: dict[SyntaxNode, str]
    """Calls and selections that are one dotted name, such as sets.contains, and that name."""


def check(root: SyntaxNode) -> Typed:
    """Return the types of the tree under `root`, or raise SourceError for the first thing that does not fit."""
    checker = _Checker()
    checker.check(root)
    kinds = {node: settled(checker.bindings, kind) for node, kind in checker.kinds.items()}
    return Typed(kinds, checker.overloads, checker.namespaced)


class _Checker:
    __slots__ = ("bindings", "kinds", "namespaced", "overloads", "scopes", "variables_made")

    def __init__(self) -> None:
        self.bindings: dict[str, Kind] = {}
        self.kinds: dict[SyntaxNode, Kind] = {}
        self.overloads: dict[SyntaxNode, tuple[Signature, ...]] = {}
        self.namespaced: dict[SyntaxNode, str] = {}
        self.scopes: list[dict[str, Kind]] = [{"device": DEVICE}]
        self.variables_made = 0

    def check(self, node: SyntaxNode) -> Kind:
        match node:
            case Literal():
                kind = _LITERAL_KINDS[node.value.__class__]
            case Ident():
                kind = self._ident(node)
            case Select():
                kind = self._select(node)
            case Call():
                kind = self._call(node)
            case ListLiteral():
                kind = self._list(node)
            case MapLiteral():
                kind = self._map(node)
            case Comprehension():
                kind = self._comprehension(node)
            case _:
                name = node.type_name if isinstance(node, MessageLiteral) else "?"
                raise _undeclared(name, node.position)
        self.kinds[node] = kind
        return kind

    def _ident(self, node: Ident) -> Kind:
        kind = self._variable(node.name) or _type_identifier(node.name)
        if kind is None:
            problem = f"undeclared reference to '{node.name}'; the only variable is 'device'"
            raise SourceError(problem, node.position)
        return kind

    def _variable(self, name: str) -> Kind | None:
        if name.startswith("."):
            return self.scopes[0].get(name[1:])
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _select(self, node: Select) -> Kind:
        name = qualified_name(node)
        if name is not None and self._variable(name.split(".", 1)[0]) is None:
            kind = _type_identifier(name)
            if kind is not None:
                self.namespaced[node] = name
                return kind
        kind = self._field(node, node.operand, node.field)
        return BOOL if node.tests_presence else substituted(self.bindings, kind)

    def _field(self, node: SyntaxNode, operand: SyntaxNode, field: str) -> Kind:
        kind = substituted(self.bindings, self.check(operand))
        is_optional = kind.name == OPTIONAL
        if is_optional:
            kind = substituted(self.bindings, kind.parameters[0])
        if kind.is_parameter:
            self._fits([(ANY, kind)])
            result = ANY
        elif kind.name == MAP:
            result = kind.parameters[1]
        elif kind == DEVICE:
            if field not in DEVICE_FIELDS:
                raise SourceError(f"undefined field '{field}': a device has {', '.join(DEVICE_FIELDS)}", node.position)
            result = DEVICE_FIELDS[field]
        elif is_unknown(kind):
            result = ANY
        else:
            raise SourceError(f"type '{kind}' does not support field selection", node.position)
        return optional_of(result) if is_optional else result

    def _call(self, node: Call) -> Kind:
        if node.function == OPTIONAL_SELECT:
            return self._optional_select(node)
        arguments = [self.check(argument) for argument in node.arguments]
        if node.target is None:
            return self._resolve(node, node.function, arguments)
        prefix = qualified_name(node.target)
        if prefix is not None and f"{prefix}.{node.function}" in signatures():
            self.namespaced[node] = f"{prefix}.{node.function}"
            return self._resolve(node, self.namespaced[node], arguments)
        return self._resolve(node, node.function, [self.check(node.target), *arguments], is_method=True)

    def _optional_select(self, node: Call) -> Kind:
        operand, field = node.arguments
        self.kinds[field] = STRING
        assert isinstance(field, Literal)  # noqa: S101  the grammar has a name there
        kind = substituted(self.bindings, self._field(node, operand, str(field.value)))
        return kind if kind.name == OPTIONAL else optional_of(kind)

    def _resolve(self, node: Call, function: str, arguments: list[Kind], *, is_method: bool = False) -> Kind:
        known = signatures().get(function)
        if known is None:
            raise _undeclared(function, node.position)
        if function in (AND, OR):
            return self._logical(node, known, arguments)
        result: Kind | None = None
        matching = []
        for signature in known:
            if signature.is_method != is_method:
                continue
            matched = self._match(signature, arguments)
            if matched is None:
                continue
            matching.append(signature)
            if result is None:
                result = matched
            elif not is_any(result) and matched != result:
                result = ANY
        if result is None:
            raise self._no_overload(node, function, arguments, is_method=is_method)
        self.overloads[node] = tuple(matching)
        return result

    def _logical(self, node: Call, known: tuple[Signature, ...], arguments: list[Kind]) -> Kind:
        for argument, kind in zip(node.arguments, arguments, strict=True):
            if not self._fits([(kind, BOOL)]):
                raise self._mismatch(argument, BOOL, kind)
        self.overloads[node] = known
        return BOOL

    def _match(self, signature: Signature, arguments: list[Kind]) -> Kind | None:
        if len(signature.arguments) != len(arguments):
            return None
        fresh = {name: self._new_variable() for name in signature.parameters}
        wanted = [substituted(fresh, kind) for kind in signature.arguments]
        if not self._fits(list(zip(arguments, wanted, strict=True))):
            return None
        return substituted(self.bindings, substituted(fresh, signature.result))

    def _no_overload(self, node: Call, function: str, arguments: list[Kind], *, is_method: bool) -> SourceError:
        kinds = [settled(self.bindings, kind) for kind in arguments]
        receiver = f"{kinds.pop(0)}." if is_method else ""
        problem = f"found no matching overload for '{function}' applied to '{receiver}({', '.join(map(str, kinds))})'"
        plural = next((_COMPARED_BY_METHOD[kind] for kind in kinds if kind in _COMPARED_BY_METHOD), None)
        if function in _COMPARISONS and plural:
            problem += f"; compare {plural} with compareTo, isLessThan or isGreaterThan"
        return SourceError(problem, node.position)

    def _list(self, node: ListLiteral) -> Kind:
        element: Kind | None = None
        for index, child in enumerate(node.elements):
            kind = self.check(child)
            if index in node.optional:
                kind = self._inside_optional(child, kind)
            element = self._joined(child, element, kind)
        return list_of(element or self._new_variable())

    def _map(self, node: MapLiteral) -> Kind:
        keys: Kind | None = None
        values: Kind | None = None
        for entry in node.entries:
            keys = self._joined(entry.key, keys, self._key(entry.key))
            kind = self.check(entry.value)
            if entry.optional:
                kind = self._inside_optional(entry.value, kind)
            values = self._joined(entry.value, values, kind)
        return map_of(keys or self._new_variable(), values or self._new_variable())

    def _key(self, node: SyntaxNode) -> Kind:
        """Return the type of a map key, which must be a scalar: no lookup finds others, and types could explode."""
        kind = substituted(self.bindings, self.check(node))
        if kind.parameters:
            raise SourceError(f"unsupported key type '{kind}'", node.position)
        return kind

    def _inside_optional(self, node: SyntaxNode, kind: Kind) -> Kind:
        kind = substituted(self.bindings, kind)
        if kind.name == OPTIONAL:
            return kind.parameters[0]
        if is_any(kind):
            return kind
        raise self._mismatch(node, optional_of(kind), kind)

    def _joined(self, node: SyntaxNode, previous: Kind | None, current: Kind) -> Kind:
        if previous is None:
            return current
        if not self._fits([(previous, current)]):
            raise self._mismatch(node, previous, current)
        return most_general(previous, current)

    def _comprehension(self, node: Comprehension) -> Kind:
        source = substituted(self.bindings, self.check(node.source))
        accumulated = self.check(node.initial)
        first, second = self._iterated(node, source)
        self.scopes.append({node.accumulator: accumulated})
        self.scopes.append({node.variable: first} | ({node.second_variable: second} if node.second_variable else {}))
        self._must_be(node.condition, BOOL)
        self._must_be(node.step, accumulated)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return substituted(self.bindings, result)

    def _iterated(self, node: Comprehension, source: Kind) -> tuple[Kind, Kind]:
        if source.name == LIST:
            element = source.parameters[0]
            return (INT, element) if node.second_variable else (element, element)
        if source.name == MAP:
            return source.parameters[0], source.parameters[1]
        if source.is_parameter or is_unknown(source):
            self._fits([(ANY, source)])
            return ANY, ANY
        raise SourceError(
            f"expression of type '{source}' cannot be range of a comprehension (must be list, map, or dynamic)",
            node.source.position,
        )

    def _must_be(self, node: SyntaxNode, wanted: Kind) -> None:
        kind = self.check(node)
        if not self._fits([(wanted, kind)]):
            raise self._mismatch(node, wanted, kind)

    def _mismatch(self, node: SyntaxNode, wanted: Kind, found: Kind) -> SourceError:
        wanted, found = settled(self.bindings, wanted), settled(self.bindings, found)
        return SourceError(f"expected type '{wanted}' but found '{found}'", node.position)

    def _fits(self, pairs: list[tuple[Kind, Kind]]) -> bool:
        trial = assigned(self.bindings, pairs)
        if trial is None:
            return False
        self.bindings = trial
        return True

    def _new_variable(self) -> Kind:
        self.variables_made += 1
        return parameter(f"#{self.variables_made}")


def qualified_name(node: SyntaxNode) -> str | None:
    """Return `a.b.c` if the node is an identifier with fields selected from it, else None."""
    if isinstance(node, Select) and not node.tests_presence:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return node.name if isinstance(node, Ident) else None


def _type_identifier(name: str) -> Kind | None:
    kind = TYPE_IDENTIFIERS.get(name.removeprefix("."))
    return None if kind is None else type_of(kind)


def _undeclared(name: str, position: int) -> SourceError:
    return SourceError(f"undeclared reference to '{name}'", position)
