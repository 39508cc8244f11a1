"""Which types fit where, with type parameters: the unification of cel-go's checker."""

from kube_cel.types import ANY, COMPOSITE, NULL, NULLABLE, OPTIONAL, TYPE, Kind, is_any, is_unknown

Bindings = dict[str, Kind]
"""What each type parameter stands for so far."""


def assigned(bindings: Bindings, pairs: list[tuple[Kind, Kind]]) -> Bindings | None:
    """Return the bindings under which every first type can be used as its second, or None if there are none."""
    trial = dict(bindings)
    return trial if all(_assign(trial, given, wanted) for given, wanted in pairs) else None


def substituted(bindings: Bindings, kind: Kind) -> Kind:
    """Return the type with bound parameters replaced."""
    while kind.is_parameter and kind.name in bindings:
        kind = bindings[kind.name]
    if not kind.parameters:
        return kind
    return Kind(kind.name, tuple(substituted(bindings, parameter) for parameter in kind.parameters))


def settled(bindings: Bindings, kind: Kind) -> Kind:
    """Return the type with bound parameters replaced and free ones turned into dyn."""
    kind = substituted(bindings, kind)
    if kind.is_parameter:
        return ANY
    if not kind.parameters:
        return kind
    return Kind(kind.name, tuple(settled(bindings, parameter) for parameter in kind.parameters))


def most_general(first: Kind, second: Kind) -> Kind:
    """Return the wider of two types that fit each other."""
    return first if _is_at_most_as_specific(first, second) else second


def _is_at_most_as_specific(first: Kind, second: Kind) -> bool:
    if is_any(first) or first.is_parameter:
        return True
    if is_any(second) or second.is_parameter or first.name != second.name:
        return False
    if first.name == TYPE:
        return True
    return all(map(_is_at_most_as_specific, first.parameters, second.parameters))


def _assign(bindings: Bindings, given: Kind, wanted: Kind) -> bool:
    if wanted.is_parameter:
        fits, is_bound = _bind(bindings, given, wanted)
        if fits or is_bound:
            return fits
    if given.is_parameter:
        return _bind(bindings, wanted, given)[0]
    if is_unknown(given) or is_unknown(wanted):
        return True
    if NULL in (given, wanted):
        other = wanted if given == NULL else given
        return other in NULLABLE or other.name in (NULL.name, OPTIONAL)
    if given.name in COMPOSITE:
        return given.name == wanted.name and all(
            _assign(bindings, *pair) for pair in zip(given.parameters, wanted.parameters, strict=True)
        )
    return given.name == wanted.name


def _bind(bindings: Bindings, kind: Kind, parameter: Kind) -> tuple[bool, bool]:
    """Return whether `parameter` can stand for `kind`, and whether it already stood for something."""
    if kind == parameter:
        return True, True
    bound = bindings.get(parameter.name)
    if bound is None:
        is_free = _is_absent(bindings, parameter, kind)
        if is_free:
            bindings[parameter.name] = kind
        return is_free, False
    if kind == bound:
        return True, True
    if not _assign(bindings, kind, bound):
        return False, True
    wider = most_general(kind, bound)
    if _is_absent(bindings, parameter, wider):
        bindings[parameter.name] = wider
    return True, True


def _is_absent(bindings: Bindings, parameter: Kind, within: Kind) -> bool:
    """Return whether `parameter` does not occur in `within`, so that no type contains itself."""
    if within == parameter:
        return False
    if within.is_parameter:
        bound = bindings.get(within.name)
        return bound is None or _is_absent(bindings, parameter, bound)
    return all(_is_absent(bindings, parameter, inner) for inner in within.parameters)
