"""Macros: calls that the parser rewrites before anything else sees them.

The rewritten forms are those of cel-go, because both the type rules and the static cost follow from them. One differs:
`optMap` holds its target in a hidden variable, where cel-go repeats it and doubles the tree with each link of a chain.
"""

from collections.abc import Callable

from kube_cel.tree import (
    ACCUMULATOR,
    ADD,
    AND,
    CONDITIONAL,
    EQUALS,
    MAP_INSERT,
    NOT,
    NOT_STRICTLY_FALSE,
    OR,
    SORT_BY_KEYS,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    LiteralValue,
    Macro,
    MapLiteral,
    Select,
    SourceError,
    SyntaxNode,
    depth_over,
)

UNUSED_VARIABLE = "#unused"
SORT_INPUT = "@sortByInput"
OPTIONAL_INPUT = "@optionalInput"
_RESERVED_VARIABLES = (ACCUMULATOR, "__result__")

Arguments = tuple[SyntaxNode, ...]
Variables = tuple[str, str | None]
Forms = tuple[SyntaxNode, SyntaxNode, SyntaxNode, SyntaxNode]
"""Initial value of the accumulator, condition to go on, step, result."""


def expand(position: int, function: str, target: SyntaxNode | None, arguments: Arguments) -> SyntaxNode | None:
    """Return what a call stands for, or None if it is not a macro; raise SourceError for unusable arguments."""
    expander = _EXPANDERS.get((function, len(arguments), target is not None))
    return expander(position, target or literal(position, None), arguments) if expander else None


def call(position: int, function: str, *arguments: SyntaxNode, target: SyntaxNode | None = None) -> Call:
    """Return a call node."""
    children = arguments if target is None else (target, *arguments)
    return Call(position, depth_over(*children), function, target, arguments)


def literal(position: int, value: LiteralValue) -> Literal:
    """Return a literal node."""
    return Literal(position, 1, value)


def ident(position: int, name: str) -> Ident:
    """Return an identifier node."""
    return Ident(position, 1, name)


def _has(_position: int, _target: SyntaxNode, arguments: Arguments) -> SyntaxNode:
    selected = arguments[0]
    if not isinstance(selected, Select) or selected.tests_presence:
        raise SourceError("invalid argument to has() macro", selected.position)
    return Select(selected.position, selected.depth, selected.operand, selected.field, tests_presence=True)


def _variable(node: SyntaxNode, problem: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise SourceError(problem, node.position)
    if node.name in _RESERVED_VARIABLES:
        raise SourceError("iteration variable overwrites accumulator variable", node.position)
    return node.name


def _variables(arguments: Arguments, wanted: int) -> Variables:
    first = _variable(arguments[0])
    if wanted == 1:
        return first, None
    second = _variable(arguments[1])
    if first == second:
        raise SourceError(f"duplicate variable name: {first}", arguments[1].position)
    return first, second


def _accumulated(position: int) -> Ident:
    return ident(position, ACCUMULATOR)


def _loop(macro: Macro, source: SyntaxNode, variables: Variables, forms: Forms, parts: Arguments) -> Comprehension:
    initial, condition, step, result = forms
    predicate = parts[0] if macro in _TESTS or len(parts) > 1 else None
    return Comprehension(
        position=source.position,
        depth=depth_over(source, initial, condition, step, result),
        macro=macro,
        source=source,
        variable=variables[0],
        second_variable=variables[1],
        accumulator=ACCUMULATOR,
        initial=initial,
        condition=condition,
        step=step,
        result=result,
        predicate=predicate,
        transform=None if macro in _TESTS else parts[-1],
    )


_TESTS = frozenset({Macro.ALL, Macro.EXISTS, Macro.EXISTS_ONE})


def _all(variables: int) -> Callable[[int, SyntaxNode, Arguments], SyntaxNode]:
    def expander(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
        test = arguments[-1]
        forms = (
            literal(at, value=True),
            call(at, NOT_STRICTLY_FALSE, _accumulated(at)),
            call(at, AND, _accumulated(at), test),
            _accumulated(at),
        )
        return _loop(Macro.ALL, source, _variables(arguments, variables), forms, (test,))

    return expander


def _exists(variables: int) -> Callable[[int, SyntaxNode, Arguments], SyntaxNode]:
    def expander(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
        test = arguments[-1]
        forms = (
            literal(at, value=False),
            call(at, NOT_STRICTLY_FALSE, call(at, NOT, _accumulated(at))),
            call(at, OR, _accumulated(at), test),
            _accumulated(at),
        )
        return _loop(Macro.EXISTS, source, _variables(arguments, variables), forms, (test,))

    return expander


def _exists_one(variables: int) -> Callable[[int, SyntaxNode, Arguments], SyntaxNode]:
    def expander(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
        test = arguments[-1]
        counted = call(at, ADD, _accumulated(at), literal(at, 1))
        forms = (
            literal(at, 0),
            literal(at, value=True),
            call(at, CONDITIONAL, test, counted, _accumulated(at)),
            call(at, EQUALS, _accumulated(at), literal(at, 1)),
        )
        return _loop(Macro.EXISTS_ONE, source, _variables(arguments, variables), forms, (test,))

    return expander


def _list(variables: int) -> Callable[[int, SyntaxNode, Arguments], SyntaxNode]:
    def expander(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
        return _list_loop(at, source, _variables(arguments, variables), arguments[variables:])

    return expander


def _filter(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
    return _list_loop(at, source, _variables(arguments, 1), (arguments[1], arguments[0]))


def _list_loop(at: int, source: SyntaxNode, variables: Variables, parts: Arguments) -> SyntaxNode:
    added = ListLiteral(at, depth_over(parts[-1]), (parts[-1],), frozenset())
    step = _when(at, parts, call(at, ADD, _accumulated(at), added))
    forms = (ListLiteral(at, 1, (), frozenset()), literal(at, value=True), step, _accumulated(at))
    return _loop(Macro.LIST, source, variables, forms, parts)


def _map(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
    variables = _variables(arguments, 2)
    parts = arguments[2:]
    insert = call(at, MAP_INSERT, _accumulated(at), ident(at, variables[0]), parts[-1])
    return _loop(Macro.MAP, source, variables, _map_forms(at, parts, insert), parts)


def _map_entry(at: int, source: SyntaxNode, arguments: Arguments) -> SyntaxNode:
    parts = arguments[2:]
    insert = call(at, MAP_INSERT, _accumulated(at), parts[-1])
    return _loop(Macro.MAP_ENTRY, source, _variables(arguments, 2), _map_forms(at, parts, insert), parts)


def _map_forms(at: int, parts: Arguments, insert: SyntaxNode) -> Forms:
    empty: tuple[Entry, ...] = ()
    return MapLiteral(at, 1, empty), literal(at, value=True), _when(at, parts, insert), _accumulated(at)


def _when(at: int, parts: Arguments, step: SyntaxNode) -> SyntaxNode:
    return step if len(parts) == 1 else call(at, CONDITIONAL, parts[0], step, _accumulated(at))


def bind(at: int, name: str, value: SyntaxNode, body: SyntaxNode) -> Comprehension:
    """Return `body` with `name` standing for `value`: a loop over nothing, whose accumulator is the name."""
    return Comprehension(
        position=at,
        depth=depth_over(value, body),
        macro=Macro.BIND,
        source=ListLiteral(at, 1, (), frozenset()),
        variable=UNUSED_VARIABLE,
        second_variable=None,
        accumulator=name,
        initial=value,
        condition=literal(at, value=False),
        step=ident(at, name),
        result=body,
        predicate=None,
        transform=None,
    )


def _bind(at: int, target: SyntaxNode, arguments: Arguments) -> SyntaxNode | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name = _variable(arguments[0], "cel.bind() variable names must be simple identifiers")
    return bind(at, name, arguments[1], arguments[2])


def _optional(function: str) -> Callable[[int, SyntaxNode, Arguments], SyntaxNode]:
    def expander(at: int, target: SyntaxNode, arguments: Arguments) -> SyntaxNode:
        name = _variable(arguments[0], f"{function}() variable name must be a simple identifier")
        held = ident(at, OPTIONAL_INPUT)
        body: SyntaxNode = bind(at, name, call(at, "value", target=held), arguments[1])
        if function == "optMap":
            body = call(at, "optional.of", body)
        chosen = call(at, CONDITIONAL, call(at, "hasValue", target=held), body, call(at, "optional.none"))
        return bind(at, OPTIONAL_INPUT, target, chosen)

    return expander


def _sort_by(at: int, target: SyntaxNode, arguments: Arguments) -> SyntaxNode:
    keys = _list_loop(at, ident(at, SORT_INPUT), _variables(arguments, 1), arguments[1:])
    return bind(at, SORT_INPUT, target, call(at, SORT_BY_KEYS, keys, target=ident(at, SORT_INPUT)))


_EXPANDERS: dict[tuple[str, int, bool], Callable[[int, SyntaxNode, Arguments], SyntaxNode | None]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("all", 3, True): _all(2),
    ("exists", 2, True): _exists(1),
    ("exists", 3, True): _exists(2),
    ("exists_one", 2, True): _exists_one(1),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 3, True): _exists_one(2),
    ("map", 2, True): _list(1),
    ("map", 3, True): _list(1),
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _list(2),
    ("transformList", 4, True): _list(2),
    ("transformMap", 3, True): _map,
    ("transformMap", 4, True): _map,
    ("transformMapEntry", 3, True): _map_entry,
    ("transformMapEntry", 4, True): _map_entry,
    ("bind", 3, True): _bind,
    ("optMap", 2, True): _optional("optMap"),
    ("optFlatMap", 2, True): _optional("optFlatMap"),
    ("sortBy", 2, True): _sort_by,
}
