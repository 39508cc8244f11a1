"""Python source for an expression.

The text holds nothing of the expression but literals written out by `ascii`: variables are numbered, functions come
from our own table, and there are no builtins. Subtrees become functions of their own every few levels, because Python
takes no more than 200 nested parentheses.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from kube_cel import evaluation
from kube_cel.device import FIELDS
from kube_cel.emit_base import EmitterBase, Mode, Variable
from kube_cel.emit_comparisons import comparison
from kube_cel.errors import EvaluationError
from kube_cel.functions_text import compiled
from kube_cel.library import FUNCTIONS
from kube_cel.runtime_cost import CALL_COSTS
from kube_cel.tree import (
    AND,
    CONDITIONAL,
    IN,
    INDEX,
    NOT,
    OPTIONAL_INDEX,
    OPTIONAL_SELECT,
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
from kube_cel.types import BOOL, DEVICE, INT, LIST, MAP, OPTIONAL, STRING, is_any
from kube_cel.values import TypeName, Value

HOIST_EVERY: Final = 16
LIST_COST: Final = 10
MAP_COST: Final = 30

T = TypeVar("T")
Ending = Callable[[Value], T]
"""Turns the value of the whole expression into what it is asked for, or refuses it."""

_FOLDED: Final = frozenset({"quantity", "semver", "duration", "timestamp", "url", "ip", "cidr"})
_ROUND_COSTS: Final = {
    Macro.ALL: 3,
    Macro.EXISTS: 4,
    Macro.EXISTS_ONE: 3,
    Macro.LIST: 12,
    Macro.MAP: 3,
    Macro.MAP_ENTRY: 2,
}
"""Cost of a round apart from what the expression itself computes: the condition and the accumulator."""
_LOOPS_FAST: Final[dict[Macro, Callable[..., Value]]] = {
    Macro.ALL: evaluation.all_fast,
    Macro.EXISTS: evaluation.any_fast,
    Macro.EXISTS_ONE: evaluation.exactly_one,
    Macro.LIST: evaluation.collected,
    Macro.MAP: evaluation.mapped,
    Macro.MAP_ENTRY: evaluation.merged,
}
_LOOPS_CAREFUL: Final = _LOOPS_FAST | {Macro.ALL: evaluation.all_careful, Macro.EXISTS: evaluation.any_careful}
_ATTRIBUTE_FUNCTIONS: Final = frozenset({INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT, CONDITIONAL})


def generate(
    root: SyntaxNode, typed: Typed, mode: Mode, ending: Ending[Any] = evaluation.verdict
) -> tuple[str, dict[str, Value]]:
    """Return the source of functions that end in `run`, and what the names in it stand for."""
    emitter = _Emitter(typed, mode)
    body = emitter.stretch(root)
    if ending is not evaluation.verdict or typed.kinds[root] != BOOL:
        body = f"{emitter.helper(ending)}({body})"
    run = f"def run({emitter.parameters()}):\n    return {body}\n"
    return "\n".join([*emitter.functions, run]), emitter.constants


def assemble(root: SyntaxNode, typed: Typed, mode: Mode, ending: Ending[T]) -> Callable[..., T]:
    """Return the function that computes the tree for a device, and in counted mode within a budget."""
    source, constants = generate(root, typed, mode, ending)
    namespace: dict[str, Value] = {"__builtins__": {}, **constants}
    exec(compile(source, "<selector>", "exec"), namespace)  # noqa: S102  the text is our own, see above
    run: Callable[..., T] = namespace["run"]
    return run


class _Emitter(EmitterBase):
    __slots__ = ()

    def emit(self, node: SyntaxNode) -> str:
        text = self._emit(node)
        return self.moved_out(text) if node.depth % HOIST_EVERY == 0 else text

    def _emit(self, node: SyntaxNode) -> str:
        match node:
            case Literal():
                text = self.constant(node.value)
            case Ident():
                text = self._ident(node)
            case Select():
                text = self._select(node)
            case Call():
                text = self._call(node)
            case ListLiteral():
                text = self._list(node)
            case MapLiteral():
                text = self._map(node)
            case Comprehension():
                text = self._bind(node) if node.macro is Macro.BIND else self._loop(node)
            case _:
                raise AssertionError(node)
        return text

    def _ident(self, node: Ident) -> str:
        self.spend(1)
        variable = self.variable(node.name)
        if variable is not None:
            return f"{variable.name}()" if variable.is_lazy else variable.name
        name = node.name.removeprefix(".")
        return "D" if name == "device" else self.constant(TypeName(name))

    def _select(self, node: Select) -> str:
        if node in self.typed.namespaced:
            self.spend(1)
            return self.constant(TypeName(self.typed.namespaced[node]))
        operand = self.emit(node.operand)
        kind = self.kind(node.operand)
        field = self.constant(node.field)
        if node.tests_presence:
            is_plain = kind.name == MAP and kind.parameters[1].name != MAP
            if is_plain and self.mode is Mode.FAST:
                return f"({field} in {operand})"
            return self._helped(evaluation.has, operand, field)
        self.spend(1 if _is_attribute(node.operand) else 2)
        if kind == DEVICE:
            return f"{operand}.{FIELDS[node.field]}"
        if self.mode is Mode.FAST and kind.name != OPTIONAL:
            return f"{operand}[{field}]"
        return self._helped(evaluation.select, operand, field)

    def _call(self, node: Call) -> str:
        if node.function in (AND, OR):
            return self._logic(node)
        if node.function == CONDITIONAL:
            return self._conditional(node)
        if node.function == OPTIONAL_SELECT:
            self.spend(1)
            return self._helped(evaluation.optional_select, *map(self.emit, node.arguments))
        if node.function in ("or", "orValue"):
            assert node.target is not None  # noqa: S101  both are methods
            helper = evaluation.or_else if node.function == "or" else evaluation.or_value
            return self._helped(helper, self.emit(node.target), f"lambda: {self.stretch(node.arguments[0])}")
        if node.function in (INDEX, OPTIONAL_INDEX):
            return self._index(node)
        return self._fast_call(node) or self._folded(node) or self._plain_call(node)

    def _logic(self, node: Call) -> str:
        if self.mode is Mode.FAST:
            return f"({(' and ' if node.function == AND else ' or ').join(map(self._boolean, node.arguments))})"
        thunks = [f"lambda: {self.stretch(argument)}" for argument in node.arguments]
        return self._helped(evaluation.both if node.function == AND else evaluation.either, *thunks)

    def _boolean(self, node: SyntaxNode) -> str:
        return self.emit(node) if self.kind(node) == BOOL else self._helped(evaluation.boolean, self.emit(node))

    def _conditional(self, node: Call) -> str:
        condition, first, second = node.arguments
        test = self._boolean(condition)
        return f"({self.stretch(first)} if {test} else {self.stretch(second)})"

    def _index(self, node: Call) -> str:
        container, key = node.arguments
        texts = self.emit(container), self.emit(key)
        self.spend(1 if _is_attribute(container) else 2)
        if self.mode is Mode.FAST and node.function == INDEX and self._is_direct(container, key):
            return f"{texts[0]}[{texts[1]}]"
        return f"{self.function(node.function)}({texts[0]}, {texts[1]})"

    def _is_direct(self, container: SyntaxNode, key: SyntaxNode) -> bool:
        """Return whether Python's own index does the same, or raises where ours would."""
        kind = self.kind(container)
        if kind.name == LIST:
            return isinstance(key, Literal) and self.kind(key) == INT and isinstance(key.value, int) and key.value >= 0
        return self.kind(key) == STRING and (kind.name == MAP or is_any(kind))

    def _fast_call(self, node: Call) -> str | None:
        if self.mode is not Mode.FAST:
            return None
        if node.function == NOT and self.kind(node.arguments[0]) == BOOL:
            return f"(not {self.emit(node.arguments[0])})"
        return comparison(self, node)

    def _folded(self, node: Call) -> str | None:
        """Return code for a call of which a part is known now, or None."""
        if node.function == IN:
            return self._in_literals(*node.arguments)
        if self.mode is Mode.COUNTED:
            return None
        return self._search(node) if node.function == "matches" else self._known_result(node)

    def _in_literals(self, element: SyntaxNode, container: SyntaxNode) -> str | None:
        if not isinstance(container, ListLiteral) or not all(isinstance(item, Literal) for item in container.elements):
            return None
        if not container.elements:
            return self.constant(value=False)
        return self._helped(evaluation.contained_in_literals, self.emit(element), self.emit(container))

    def _known_result(self, node: Call) -> str | None:
        """Return what a call with literal arguments yields; a failing one is left to fail at run time."""
        literals = [argument for argument in node.arguments if isinstance(argument, Literal)]
        if node.function not in _FOLDED or node.target is not None or len(literals) < len(node.arguments):
            return None
        try:
            return self.constant(FUNCTIONS[node.function](*(literal.value for literal in literals)))
        except EvaluationError:
            return None

    def _search(self, node: Call) -> str | None:
        *texts, pattern = (node.target, *node.arguments) if node.target is not None else node.arguments
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str) or texts[0] is None:
            return None
        try:
            regex = self.constant(compiled(pattern.value))
        except ValueError:
            return None
        return self._helped(evaluation.search, regex, self.emit(texts[0]))

    def _plain_call(self, node: Call) -> str:
        name = self.typed.namespaced.get(node, node.function)
        target = None if node in self.typed.namespaced else node.target
        arguments = [self.emit(argument) for argument in ((target,) if target else ()) + node.arguments]
        if self.mode is Mode.COUNTED and name in CALL_COSTS:
            return f"B.call({', '.join([ascii(name), self.function(name), *arguments])})"
        self.spend(1)
        return f"{self.function(name)}({', '.join(arguments)})"

    def _list(self, node: ListLiteral) -> str:
        self.spend(LIST_COST)
        items = f"({''.join(f'{self.emit(element)}, ' for element in node.elements)})"
        return self._helped(evaluation.listed, items, self.constant(node.optional)) if node.optional else items

    def _map(self, node: MapLiteral) -> str:
        self.spend(MAP_COST)
        texts = [(self.emit(entry.key), self.emit(entry.value), entry.optional) for entry in node.entries]
        if self.kind(node).parameters[0] == STRING and not any(entry.optional for entry in node.entries):
            return f"{{{', '.join(f'{key}: {value}' for key, value, _ in texts)}}}"
        return self._helped(evaluation.entries, *(f"({', '.join(map(str, text))})" for text in texts))

    def _bind(self, node: Comprehension) -> str:
        name = self.new_name("v")
        if self.mode is Mode.FAST:
            value = self.emit(node.initial)
            body = self._inside(node.accumulator, Variable(name, is_lazy=False), node.result)
            return f"(({name} := {value}), {body})[1]"
        value = self.stretch(node.initial)
        body = self._inside(node.accumulator, Variable(name, is_lazy=True), node.result)
        thunk = self._helped(evaluation.lazily, f"lambda: {value}")
        return f"(({name} := {thunk}), {body})[1]"

    def _inside(self, known: str, variable: Variable, body: SyntaxNode) -> str:
        self.scope.append((known, variable))
        text = self.emit(body)
        self.scope.pop()
        return text

    def _loop(self, node: Comprehension) -> str:
        iterate = evaluation.iterated_pairs if node.second_variable else evaluation.iterated
        rounds = self._helped(iterate, self.emit(node.source))
        variables = [node.variable] + ([node.second_variable] if node.second_variable else [])
        names = [self.new_name("v") for _ in variables]
        self.scope += [(known, Variable(name, is_lazy=False)) for known, name in zip(variables, names, strict=True)]
        parts = [part for part in (node.transform, node.predicate) if part is not None]
        cost = _ROUND_COSTS[node.macro]
        bodies = [f"lambda {', '.join(names)}: {self.stretch(part, cost)}" for part in parts]
        del self.scope[-len(names) :]
        self.spend(1)
        helper = _LOOPS_FAST[node.macro] if self.mode is Mode.FAST else _LOOPS_CAREFUL[node.macro]
        return self._helped(helper, rounds, *bodies)

    def _helped(self, helper: Callable[..., Value], *arguments: str) -> str:
        return f"{self.helper(helper)}({', '.join(arguments)})"


def _is_attribute(node: SyntaxNode) -> bool:
    """Return whether cel-go sees the node as part of one attribute, so that a step further costs one unit, not two."""
    return isinstance(node, Ident | Select) or (isinstance(node, Call) and node.function in _ATTRIBUTE_FUNCTIONS)
