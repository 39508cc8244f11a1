"""Mistakes in literals that the API server reports at compile time, beyond what the types show."""

from collections.abc import Iterator

from kube_cel.errors import EvaluationError
from kube_cel.functions_format import KNOWN_CLAUSES, format_clauses
from kube_cel.functions_text import compiled
from kube_cel.library import FUNCTIONS
from kube_cel.tree import Call, ListLiteral, Literal, MapLiteral, SourceError, SyntaxNode, walk
from kube_cel.typecheck import Typed
from kube_cel.types import Kind

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_PATTERN_FUNCTIONS = frozenset({"matches", "find", "findAll"})


def check_literals(root: SyntaxNode, typed: Typed) -> None:
    """Raise SourceError for the first literal that can never work: a time, pattern, conversion, format, list or map."""
    formats = [node for node in walk(root) if isinstance(node, Call) and node.function == "format"]
    may_mix_types = {inner for node in formats for inner in walk(node)}
    for node in walk(root):
        if isinstance(node, Call):
            _check_call(node)
        elif node not in may_mix_types:
            _check_container(node, typed)
    for node in formats:
        _check_format(node)


def _check_container(node: SyntaxNode, typed: Typed) -> None:
    match node:
        case ListLiteral():
            _check_uniform(node.elements, node.optional, typed)
        case MapLiteral():
            optional = frozenset(at for at, entry in enumerate(node.entries) if entry.optional)
            _check_uniform(tuple(entry.key for entry in node.entries), frozenset(), typed)
            _check_uniform(tuple(entry.value for entry in node.entries), optional, typed)
        case _:
            pass


def _check_call(node: Call) -> None:
    first = node.arguments[0] if node.arguments else None
    if not isinstance(first, Literal):
        return
    if node.function in _PATTERN_FUNCTIONS and node.target is not None and isinstance(first.value, str):
        try:
            compiled(first.value)
        except ValueError as problem:
            raise SourceError(f"invalid {node.function} argument: {problem}", first.position) from None
    elif node.function in _CONVERSIONS and node.target is None:
        try:
            FUNCTIONS[node.function](first.value)
        except EvaluationError as problem:
            raise SourceError(f"invalid {node.function} argument: {problem}", first.position) from None


def _check_uniform(nodes: tuple[SyntaxNode, ...], optional: frozenset[int], typed: Typed) -> None:
    kinds = list(_kinds(nodes, optional, typed))
    for node, kind in zip(nodes, kinds, strict=True):
        if kind != kinds[0]:
            raise SourceError(f"expected type '{kinds[0]}' but found '{kind}'", node.position)


def _kinds(nodes: tuple[SyntaxNode, ...], optional: frozenset[int], typed: Typed) -> Iterator[Kind]:
    for at, node in enumerate(nodes):
        kind = typed.kinds[node]
        yield kind.parameters[0] if at in optional and kind.parameters else kind


def _check_format(node: Call) -> None:
    template, arguments = node.target, node.arguments[0]
    if (
        not isinstance(template, Literal)
        or not isinstance(template.value, str)
        or not isinstance(arguments, ListLiteral)
    ):
        return
    clauses = format_clauses(template.value)
    unknown = next((clause for clause in clauses if clause[-1:] not in KNOWN_CLAUSES), None)
    if unknown is not None:
        raise SourceError(f'unrecognized formatting clause "%{unknown}"', node.position)
    if len(clauses) != len(arguments.elements):
        found = f"expected {len(clauses)}, got {len(arguments.elements)}"
        raise SourceError(f"wrong number of arguments supplied to string.format ({found})", node.position)
