"""Fast code for comparisons, where static types or literals allow more than a call."""

from kube_cel.emit_base import EmitterBase
from kube_cel.evaluation import refuse
from kube_cel.operators import STRICT
from kube_cel.quantity import Quantity
from kube_cel.semver import Version
from kube_cel.tree import EQUALS, IN, NOT_EQUALS, Call, ListLiteral, Literal, SyntaxNode
from kube_cel.types import BOOL, BYTES, DOUBLE, INT, MAP, QUANTITY, STRING, UINT, is_any

_PYTHON_OPERATORS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", EQUALS: "==", NOT_EQUALS: "!="}
_METHODS = {"isGreaterThan": ">", "isLessThan": "<"}
_NUMBERS = frozenset({INT, UINT, DOUBLE})


def comparison(emitter: EmitterBase, node: Call) -> str | None:
    """Return fast code for a comparison, or None if only a call can tell."""
    if node.function in (EQUALS, NOT_EQUALS):
        left, right = node.arguments
        return (
            _quantities(emitter, node)
            or _same_types(emitter, node.function, left, right)
            or _with_literal(emitter, node.function, left, right)
        )
    if node.function in _PYTHON_OPERATORS:
        return _quantities(emitter, node) or _ordered(emitter, node)
    if node.function in _METHODS and node.target is not None:
        return _amounts(emitter, _METHODS[node.function], node.target, node.arguments[0])
    return _membership(emitter, *node.arguments) if node.function == IN else None


def _quantities(emitter: EmitterBase, node: Call) -> str | None:
    """Return code for `a.compareTo(b) >= 0` on quantities, which compares the amounts themselves."""
    left, right = node.arguments
    is_method = isinstance(left, Call) and left.function == "compareTo" and left.target is not None
    if not is_method or not isinstance(right, Literal) or right.value != 0 or emitter.kind(right) != INT:
        return None
    assert isinstance(left, Call) and left.target is not None  # noqa: S101, PT018  as just tested
    return _amounts(emitter, _PYTHON_OPERATORS[node.function], left.target, left.arguments[0])


def _amounts(emitter: EmitterBase, operator: str, left: SyntaxNode, right: SyntaxNode) -> str | None:
    if emitter.kind(left) != QUANTITY or emitter.kind(right) != QUANTITY:
        return None
    return f"({_amount(emitter, left)} {operator} {_amount(emitter, right)})"


def _amount(emitter: EmitterBase, node: SyntaxNode) -> str:
    text = emitter.emit(node)
    known = emitter.constants.get(text)
    return emitter.constant(known.nano) if isinstance(known, Quantity) else f"{text}.nano"


def _same_types(emitter: EmitterBase, function: str, left: SyntaxNode, right: SyntaxNode) -> str | None:
    kinds = {emitter.kind(left), emitter.kind(right)}
    operator = _PYTHON_OPERATORS[function]
    if kinds == {QUANTITY}:
        return _amounts(emitter, operator, left, right)
    if kinds <= _NUMBERS or kinds in ({STRING}, {BOOL}, {BYTES}):
        return f"({emitter.emit(left)} {operator} {emitter.emit(right)})"
    return None


def _ordered(emitter: EmitterBase, node: Call) -> str | None:
    left, right = node.arguments
    kinds = {emitter.kind(left), emitter.kind(right)}
    if kinds <= {INT, UINT} or kinds == {STRING}:
        return f"({emitter.emit(left)} {_PYTHON_OPERATORS[node.function]} {emitter.emit(right)})"
    return None


def _with_literal(emitter: EmitterBase, function: str, left: SyntaxNode, right: SyntaxNode) -> str | None:
    """Return code for comparing a dyn value with a string, int or bool written in the expression.

    Python takes True for 1, CEL does not; and a version or quantity on the left of == is an error with anything else.
    """
    is_left = isinstance(right, Literal)
    value, literal = (left, right) if is_left else (right, left)
    if not is_any(emitter.kind(value)) or not isinstance(literal, Literal):
        return None
    if literal.value.__class__ not in (str, int, bool):
        return None
    name = emitter.new_name("t")
    text = f"({name} := {emitter.emit(value)})"
    written = emitter.constant(literal.value)
    if literal.value.__class__ is bool:
        test = f"{text} is {written}"
    elif literal.value.__class__ is int and literal.value in (0, 1):
        test = f"{text} == {written} and {name} is not {bool(literal.value)}"
    else:
        test = f"{text} == {written}"
    if function == NOT_EQUALS:
        return f"(not ({test}))"
    if not is_left:
        return f"({test})"
    is_strict = f"{name}.__class__ in {emitter.named('STRICT', STRICT)}"
    return f"({test} or {is_strict} and {emitter.helper(refuse)}())"


def _membership(emitter: EmitterBase, element: SyntaxNode, container: SyntaxNode) -> str | None:
    kind = emitter.kind(element)
    if emitter.kind(container).name == MAP and kind == STRING:
        return f"({emitter.emit(element)} in {emitter.emit(container)})"
    if not isinstance(container, ListLiteral) or not container.elements or container.optional:
        return None
    if not all(isinstance(item, Literal) and item.value.__class__ is str for item in container.elements):
        return None
    listed = f"({', '.join(map(emitter.emit, container.elements))},)"
    if kind == STRING:
        return f"({emitter.emit(element)} in {listed})"
    if not is_any(kind):
        return None
    name = emitter.new_name("t")
    is_version = f"{name}.__class__ is {emitter.named('Version', Version)}"
    return f"(({name} := {emitter.emit(element)}) in {listed} or {is_version} and {emitter.helper(refuse)}())"
