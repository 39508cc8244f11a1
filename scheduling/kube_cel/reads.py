"""Which parts of a device an expression can look at."""

from kube_cel.tree import (
    IN,
    INDEX,
    OPTIONAL_INDEX,
    OPTIONAL_SELECT,
    Call,
    Comprehension,
    Ident,
    Literal,
    Macro,
    Select,
    SyntaxNode,
    children,
)

Read = tuple[str, str, str]
"""A field of the device, then the domain and the name inside it, both empty for driver and allowMultipleAllocations."""

_Place = tuple[str, ...]
"""The device (), a map of domains such as (attributes,), or one domain such as (attributes, gpu.example.com)."""
_Places = dict[str, _Place]

_SCALARS = frozenset({"driver", "allowMultipleAllocations"})
_STEPS = frozenset({INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT})
_DOMAIN = 2


def reads(root: SyntaxNode) -> frozenset[Read] | None:
    """Return everything that the expression can read, or None if what it reads depends on the device."""
    found: set[Read] = set()
    return frozenset(found) if _visit(root, {"device": (), ".device": ()}, found) else None


def _visit(node: SyntaxNode, places: _Places, found: set[Read]) -> bool:
    """Note what is read under `node`; return whether that is known completely."""
    read = _read(node, places)
    if read is not None:
        found.add(read)
        return True
    if _place(node, places) is not None:
        return False
    if isinstance(node, Comprehension):
        return _visit_loop(node, places, found)
    return all(_visit(child, places, found) for child in children(node))


def _visit_loop(node: Comprehension, places: _Places, found: set[Read]) -> bool:
    place = _place(node.initial, places) if node.macro is Macro.BIND else None
    if place is not None:
        return _visit(node.result, places | {node.accumulator: place}, found)
    hidden = {node.accumulator, node.variable, node.second_variable}
    inside = {name: place for name, place in places.items() if name not in hidden}
    outside = _visit(node.source, places, found) and _visit(node.initial, places, found)
    return outside and all(_visit(part, inside, found) for part in (node.condition, node.step, node.result))


def _read(node: SyntaxNode, places: _Places) -> Read | None:
    if isinstance(node, Call) and node.function == IN:
        key, container = node.arguments
        step = (container, key.value) if isinstance(key, Literal) and isinstance(key.value, str) else None
    else:
        step = _step(node)
    place = _place(step[0], places) if step else None
    if step is None or place is None:
        return None
    if place == () and step[1] in _SCALARS:
        return step[1], "", ""
    return (*place, step[1]) if len(place) == _DOMAIN else None  # type: ignore[return-value]


def _place(node: SyntaxNode, places: _Places) -> _Place | None:
    if isinstance(node, Ident):
        return places.get(node.name)
    step = None if isinstance(node, Select) and node.tests_presence else _step(node)
    place = _place(step[0], places) if step else None
    if step is None or place is None or len(place) == _DOMAIN or step[1] in _SCALARS:
        return None
    return (*place, step[1])


def _step(node: SyntaxNode) -> tuple[SyntaxNode, str] | None:
    """Return the container and the key of a selection whose key is written in the expression."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function in _STEPS and isinstance(node.arguments[1], Literal):
        key = node.arguments[1].value
        return (node.arguments[0], key) if isinstance(key, str) else None
    return None
