"""Source text to syntax tree."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from kube_cel.errors import CompileError
from kube_cel.grammar import grammar_text
from kube_cel.literals import read_bytes, read_double, read_int, read_string, read_uint
from kube_cel.macros import call, expand, ident, literal
from kube_cel.tree import (
    ADD,
    AND,
    CONDITIONAL,
    IN,
    INDEX,
    NEGATE,
    NOT,
    OPTIONAL_INDEX,
    OPTIONAL_SELECT,
    OR,
    Call,
    Entry,
    Ident,
    ListLiteral,
    LiteralValue,
    MapLiteral,
    MessageLiteral,
    Select,
    SourceError,
    SyntaxNode,
    depth_over,
)

MAX_SOURCE_BYTES = 10 * 1024
"""CELSelectorExpressionMaxLength of the resource API."""
MAX_DEPTH = 100
"""Deepest nesting taken; cel-go allows 250 levels of its own parser, both far beyond what a person writes."""

_RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()  # noqa: SIM905
)
_CONSTANTS: dict[str, LiteralValue] = {"true": True, "false": False, "null": None}
_KEYWORDS = frozenset({*_CONSTANTS, "in"})
_OPERATORS = {"==": "_==_", "!=": "_!=_", "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "in": IN}
_OPERATORS |= {"+": ADD, "-": "_-_", "*": "_*_", "/": "_/_", "%": "_%_"}
_READERS: dict[str, Callable[[str], LiteralValue]] = {
    "INT_LIT": read_int,
    "UINT_LIT": read_uint,
    "FLOAT_LIT": read_double,
    "STRING_LIT": read_string,
    "MLSTRING_LIT": read_string,
    "BYTES_LIT": read_bytes,
}

Children = list[Any]
"""What Lark hands to a rule: tokens and what the rules below have returned."""


def parse(source: str) -> SyntaxNode:
    """Return the syntax tree of an expression, or raise CompileError for the first problem."""
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE_BYTES:
        raise CompileError(f"expression is longer than {MAX_SOURCE_BYTES} bytes", source[:80].split("\n", 1)[0], 0)
    try:
        tree: Any = _parser().parse(source)
    except SourceError as problem:
        raise CompileError(problem.problem, source, problem.position) from None
    except UnexpectedInput as problem:
        raise _syntax_error(problem, source) from None
    assert isinstance(tree, SyntaxNode)  # noqa: S101  the start rule builds a node
    return tree


def _syntax_error(problem: UnexpectedInput, source: str) -> CompileError:
    if isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        return CompileError(f"Syntax error: unexpected '{problem.token}'", source, _start(problem.token))
    if not isinstance(problem, UnexpectedCharacters):
        return CompileError("Syntax error: unexpected end of expression", source, len(source))
    position = cast("int", problem.pos_in_stream)
    character = source[position]
    complaint = f"unexpected character {character!r}"
    if character in "'\"":
        complaint = f"the string that starts with {character} is not closed or has an unknown escape"
    return CompileError(f"Syntax error: {complaint}", source, position)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(
        grammar_text(),
        parser="lalr",
        start="expr",
        maybe_placeholders=False,
        keep_all_tokens=True,
        transformer=_Builder(),
    )


class _Builder(Transformer[Token, SyntaxNode]):
    """Builds nodes bottom up while Lark parses, so that nothing recurses over the source; one method a grammar rule."""

    def expr(self, children: Children) -> SyntaxNode:
        return _only(children) or _call(_start(children[1]), CONDITIONAL, None, _nodes(children))

    def conditionalor(self, children: Children) -> SyntaxNode:
        return _only(children) or _chain(children, OR)

    def conditionaland(self, children: Children) -> SyntaxNode:
        return _only(children) or _chain(children, AND)

    def _binary(self, children: Children) -> SyntaxNode:
        return _only(children) or _operation(*children)

    relation = addition = multiplication = _binary

    def _left(self, children: Children) -> tuple[SyntaxNode, Token]:
        return children[0], children[1]

    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = _left
    addition_add = addition_sub = multiplication_mul = multiplication_div = multiplication_mod = _left

    def unary(self, children: Children) -> SyntaxNode:
        if len(children) == 1:
            return _first(children)
        operator, operand = children
        return _call(_start(operator), NOT if operator == "!" else NEGATE, None, [operand])

    def _pass(self, children: Children) -> Any:  # noqa: ANN401  a node or a token
        return children[0]

    unary_not = unary_neg = member = primary = _pass

    def member_dot(self, children: Children) -> SyntaxNode:
        operand, dot, field = children
        return _limited(Select(_start(dot), depth_over(operand), operand, _unescaped(field), tests_presence=False))

    def member_optional_dot(self, children: Children) -> SyntaxNode:
        operand, dot, _, field = children
        return _limited(call(_start(dot), OPTIONAL_SELECT, operand, literal(_start(field), _unescaped(field))))

    def member_dot_arg(self, children: Children) -> SyntaxNode:
        target, _, name, opening, *rest = children
        return _call(_start(opening), _field(name), target, _flat(rest))

    def member_index(self, children: Children) -> SyntaxNode:
        return _call(_start(children[1]), INDEX, None, _nodes(children))

    def member_optional_index(self, children: Children) -> SyntaxNode:
        return _call(_start(children[1]), OPTIONAL_INDEX, None, _nodes(children))

    def member_object(self, children: Children) -> SyntaxNode:
        return MessageLiteral(_start(children[1]), 1, _qualified_name(children[0]))

    def ident(self, children: Children) -> SyntaxNode:
        token = children[0]
        if token in _CONSTANTS:
            return literal(_start(token), _CONSTANTS[token])
        return ident(_start(token), _name(token))

    def dot_ident(self, children: Children) -> SyntaxNode:
        return ident(_start(children[1]), "." + _name(children[1]))

    def ident_arg(self, children: Children) -> SyntaxNode:
        name, opening, *rest = children
        return _call(_start(opening), _name(name), None, _flat(rest))

    def dot_ident_arg(self, children: Children) -> SyntaxNode:
        return self.ident_arg(children[1:])

    def paren_expr(self, children: Children) -> SyntaxNode:
        return _first(children[1:])

    def literal(self, children: Children) -> SyntaxNode:
        token = children[0]
        try:
            return literal(_start(token), _READERS[token.type](token))
        except ValueError as problem:
            raise SourceError(str(problem), _start(token)) from None

    def exprlist(self, children: Children) -> list[SyntaxNode]:
        return _nodes(children)

    def _collected(self, children: Children) -> Children:
        return [*children[0], children[2]] if len(children) > 1 else children

    listinits = mapinits = _collected

    def listinit(self, children: Children) -> tuple[SyntaxNode, bool]:
        return children[-1], len(children) > 1

    def mapinit(self, children: Children) -> Entry:
        key, value = _nodes(children)
        return Entry(key, value, optional=isinstance(children[0], Token))

    def list_lit(self, children: Children) -> SyntaxNode:
        items = _flat(children)
        elements = tuple(element for element, _ in items)
        optional = frozenset(index for index, (_, is_optional) in enumerate(items) if is_optional)
        return _limited(ListLiteral(_start(children[0]), depth_over(*elements), elements, optional))

    def map_lit(self, children: Children) -> SyntaxNode:
        entries: list[Entry] = _flat(children)
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        return _limited(MapLiteral(_start(children[0]), depth_over(*parts), tuple(entries)))


def _start(token: Token) -> int:
    return token.start_pos or 0


def _first(children: Children) -> SyntaxNode:
    node: SyntaxNode = children[0]
    return node


def _only(children: Children) -> SyntaxNode | None:
    return _first(children) if len(children) == 1 else None


def _nodes(children: Children) -> list[SyntaxNode]:
    return [child for child in children if isinstance(child, SyntaxNode)]


def _flat(children: Children) -> list[Any]:
    return next((child for child in children if isinstance(child, list)), [])


def _limited(node: SyntaxNode) -> SyntaxNode:
    if node.depth > MAX_DEPTH:
        raise SourceError(f"expression is nested too deeply (more than {MAX_DEPTH} levels)", node.position)
    return node


def _call(position: int, function: str, target: SyntaxNode | None, arguments: list[SyntaxNode]) -> SyntaxNode:
    expanded = expand(position, function, target, tuple(arguments))
    return _limited(expanded or call(position, function, *arguments, target=target))


def _operation(left_and_operator: tuple[SyntaxNode, Token], right: SyntaxNode) -> SyntaxNode:
    left, operator = left_and_operator
    return _call(_start(operator), _OPERATORS[operator], None, [left, right])


def _chain(children: Children, function: str) -> SyntaxNode:
    left, operator, right = children
    operands = left.arguments if isinstance(left, Call) and left.function == function else (left,)
    return _limited(call(_start(operator), function, *operands, right))


def _field(token: Token) -> str:
    if token in _KEYWORDS:
        raise SourceError(f"Syntax error: unexpected keyword '{token}'", _start(token))
    return str(token)


def _unescaped(token: Token) -> str:
    return token[1:-1] if token.startswith("`") else _field(token)


def _name(token: Token) -> str:
    if token in _RESERVED:
        raise SourceError(f"reserved identifier: {token}", _start(token))
    return _field(token)


def _qualified_name(node: SyntaxNode) -> str:
    if isinstance(node, Select):
        return f"{_qualified_name(node.operand)}.{node.field}"
    return node.name if isinstance(node, Ident) else "?"
