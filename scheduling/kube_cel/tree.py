"""The syntax tree of an expression, with macros already expanded.

Nodes are compared by identity, so that a checker can keep what it learns about each of them in a dict.
`position` is the offset in the source that an error about the node points at.
"""

from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct

from kube_cel.values import UInt

LiteralValue = None | bool | int | UInt | float | str | bytes

AND = "_&&_"
OR = "_||_"
NOT = "!_"
CONDITIONAL = "_?_:_"
NEGATE = "-_"
ADD = "_+_"
EQUALS = "_==_"
NOT_EQUALS = "_!=_"
IN = "@in"
INDEX = "_[_]"
OPTIONAL_INDEX = "_[?_]"
OPTIONAL_SELECT = "_?._"
NOT_STRICTLY_FALSE = "@not_strictly_false"
MAP_INSERT = "cel.@mapInsert"
SORT_BY_KEYS = "@sortByAssociatedKeys"
ACCUMULATOR = "@result"


class SourceError(Exception):
    """A problem at one place of the source, before the source itself is at hand."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position


class SyntaxNode(Struct, frozen=True, eq=False):
    """Any node; `depth` is the number of levels below and including it."""

    position: int
    depth: int


class Literal(SyntaxNode, frozen=True, eq=False):
    """A scalar written in the source."""

    value: LiteralValue


class Ident(SyntaxNode, frozen=True, eq=False):
    """A variable, a type name, or the accumulator of a loop."""

    name: str


class Select(SyntaxNode, frozen=True, eq=False):
    """`operand.field`, or `has(operand.field)` when it only tests presence."""

    operand: SyntaxNode
    field: str
    tests_presence: bool


class Call(SyntaxNode, frozen=True, eq=False):
    """A function, method or operator; `&&` and `||` take all operands of a chain at once."""

    function: str
    target: SyntaxNode | None
    arguments: tuple[SyntaxNode, ...]


class ListLiteral(SyntaxNode, frozen=True, eq=False):
    """`[a, ?b]`; `optional` holds the indices of elements that may be absent."""

    elements: tuple[SyntaxNode, ...]
    optional: frozenset[int]


class Entry(Struct, frozen=True, eq=False):
    """One `key: value` of a map."""

    key: SyntaxNode
    value: SyntaxNode
    optional: bool


class MapLiteral(SyntaxNode, frozen=True, eq=False):
    """`{key: value, ?key: value}`."""

    entries: tuple[Entry, ...]


class MessageLiteral(SyntaxNode, frozen=True, eq=False):
    """`Type{...}`, of which selectors have none to build."""

    type_name: str


class Macro(Enum):
    """What a loop was written as."""

    ALL = auto()
    EXISTS = auto()
    EXISTS_ONE = auto()
    LIST = auto()
    MAP = auto()
    MAP_ENTRY = auto()
    BIND = auto()


class Comprehension(SyntaxNode, frozen=True, eq=False, kw_only=True):
    """A loop in the form that checking and costing need, together with the parts that it was written with.

    A bind loops over nothing: `initial` is the bound value, `accumulator` its name and `result` the body.
    """

    macro: Macro
    source: SyntaxNode
    variable: str
    second_variable: str | None
    accumulator: str
    initial: SyntaxNode
    condition: SyntaxNode
    step: SyntaxNode
    result: SyntaxNode
    predicate: SyntaxNode | None
    transform: SyntaxNode | None


def walk(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the node and everything below it, in the order of the source."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def children(node: SyntaxNode) -> tuple[SyntaxNode, ...]:
    """Return the nodes directly below."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Comprehension():
            return (node.source, node.initial, node.condition, node.step, node.result)
        case _:
            return ()


def depth_over(*nodes: SyntaxNode) -> int:
    """Return the depth of a node above `nodes`."""
    return 1 + max((node.depth for node in nodes), default=0)
