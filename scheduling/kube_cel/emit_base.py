"""The parts of code generation that every kind of node needs: names, constants, scopes, costs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum, auto

from msgspec import Struct

from kube_cel.library import FUNCTIONS
from kube_cel.tree import SyntaxNode
from kube_cel.typecheck import Typed
from kube_cel.types import Kind
from kube_cel.values import Value

_FUNCTION_NAMES = {
    name: f"f{at}_{''.join(letter for letter in name if letter.isalnum())}" for at, name in enumerate(FUNCTIONS)
}
_WRITTEN_OUT = frozenset({bool, int, float, str, bytes, type(None)})


class Mode(Enum):
    """What the code is for."""

    FAST = auto()
    """Lets the first error out."""
    CAREFUL = auto()
    """Lets a deciding operand win over errors."""
    COUNTED = auto()
    """Careful, and counts what it costs."""


class Variable(Struct, frozen=True):
    """A variable of the expression: its name in the code, and whether that is a function to call."""

    name: str
    is_lazy: bool


class EmitterBase(ABC):
    """State while the code of one expression is written."""

    __slots__ = ("constants", "cost", "counter", "functions", "mode", "scope", "typed")

    def __init__(self, typed: Typed, mode: Mode) -> None:
        self.typed = typed
        self.mode = mode
        self.constants: dict[str, Value] = {}
        self.functions: list[str] = []
        self.scope: list[tuple[str, Variable]] = []
        self.counter = 0
        self.cost = 0

    @abstractmethod
    def emit(self, node: SyntaxNode) -> str:
        """Return an expression in Python that computes the node."""

    def kind(self, node: SyntaxNode) -> Kind:
        """Return the static type of a node."""
        return self.typed.kinds[node]

    def new_name(self, letter: str) -> str:
        """Return a name that the code does not use yet."""
        self.counter += 1
        return f"{letter}{self.counter}"

    def constant(self, value: Value) -> str:
        """Return code for a value that is known now."""
        if value.__class__ in _WRITTEN_OUT:
            return f"({value!a})" if value.__class__ in (int, float) else ascii(value)
        return self.named(self.new_name("k"), value)

    def function(self, name: str) -> str:
        """Return the name in the code of a function that expressions can call."""
        return self.named(_FUNCTION_NAMES[name], FUNCTIONS[name])

    def helper(self, function: Callable[..., Value]) -> str:
        """Return the name in the code of a function that only generated code calls."""
        return self.named(function.__name__, function)

    def named(self, name: str, value: Value) -> str:
        """Return a name after making the code know it."""
        self.constants[name] = value
        return name

    def variable(self, name: str) -> Variable | None:
        """Return the innermost variable of that name."""
        return next((variable for known, variable in reversed(self.scope) if known == name), None)

    def spend(self, cost: int) -> None:
        """Note what the stretch of code that is being written costs."""
        self.cost += cost

    def stretch(self, node: SyntaxNode, extra: int = 0) -> str:
        """Return code for a node that runs only sometimes or many times, and so pays for itself."""
        outer, self.cost = self.cost, extra
        text = self.emit(node)
        own, self.cost = self.cost, outer
        return f"(B.spend({own}) or {text})" if self.mode is Mode.COUNTED and own else text

    def parameters(self) -> str:
        """Return what a function moved out of line must be handed."""
        names = ["D"] + (["B"] if self.mode is Mode.COUNTED else [])
        return ", ".join(dict.fromkeys(names + [variable.name for _, variable in self.scope]))

    def moved_out(self, text: str) -> str:
        """Return a call of a new function that computes the text, so that parentheses do not pile up."""
        name = self.new_name("h")
        self.functions.append(f"def {name}({self.parameters()}):\n    return {text}\n")
        return f"{name}({self.parameters()})"
