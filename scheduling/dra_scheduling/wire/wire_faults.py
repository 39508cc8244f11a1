"""All that is wrong with an object, where reading it ends at the first problem; and fields that nobody knows."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, TypeGuard, Union, get_args, get_origin

import msgspec

from dra_scheduling.basics.reasons import in_short
from dra_scheduling.wire.decode_errors import WireFault, fault_of, missing_field

MOST_NAMED = 4
READ_FOR_ALL = frozenset({"apiVersion", "kind"})

Convert = Callable[[Any, object], object]
"""Returns a value as one of the given type, or raises `msgspec.ValidationError`."""


def faults(kind: object, raw: object, convert: Convert, path: str = "$") -> Iterator[WireFault]:
    """Yield what keeps `raw` from being a value of the kind, part by part; nulls are taken for absent."""
    kind = _present(kind)
    origin = get_origin(kind)
    if _is_struct(kind) and isinstance(raw, Mapping):
        for field in msgspec.structs.fields(kind):
            if raw.get(field.encode_name) is not None:
                yield from faults(field.type, raw[field.encode_name], convert, f"{path}.{field.encode_name}")
            elif field.required:
                yield WireFault(path, missing_field(field.encode_name))
    elif origin is tuple and isinstance(raw, list):
        for number, item in _there(enumerate(raw)):
            yield from faults(get_args(kind)[0], item, convert, f"{path}[{number}]")
    elif origin is dict and isinstance(raw, Mapping) and all(isinstance(key, str) for key in raw):
        for key, value in _there(raw.items()):
            yield from faults(get_args(kind)[1], value, convert, f"{path}[{json.dumps(key, ensure_ascii=False)}]")
    else:
        yield from _of_leaf(kind, raw, convert, path)


def unknown_fields(kind: object, raw: object, path: str = "$") -> Iterator[WireFault]:
    """Yield the fields that the kind does not have, each with the nearest one or those that are not there yet."""
    kind = _present(kind)
    origin = get_origin(kind)
    if _is_struct(kind) and isinstance(raw, Mapping):
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        missing = sorted((not field.required, name) for name, field in fields.items() if name not in raw)
        for name, value in raw.items():
            if name in fields:
                yield from unknown_fields(fields[name].type, value, f"{path}.{name}")
            elif name not in READ_FOR_ALL or path != "$":
                wanted = _expected(str(name), sorted(fields), [other for _, other in missing])
                yield WireFault(f"{path}.{name}", f"unknown field, {wanted}")
    elif origin is tuple and isinstance(raw, list):
        for number, item in enumerate(raw):
            yield from unknown_fields(get_args(kind)[0], item, f"{path}[{number}]")
    elif origin is dict and isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from unknown_fields(get_args(kind)[1], value, f"{path}[{json.dumps(str(key), ensure_ascii=False)}]")


def _of_leaf(kind: object, raw: object, convert: Convert, path: str) -> Iterator[WireFault]:
    try:
        convert(kind, raw)
    except msgspec.ValidationError as error:
        below, problem = fault_of(error)
        yield WireFault(f"{path}{below.removeprefix('$')}", problem)


def _there(items: Iterable[tuple[Any, object]]) -> Iterator[tuple[Any, object]]:
    return (item for item in items if item[1] is not None)


def _expected(name: str, every: Sequence[str], others: Sequence[str]) -> str:
    """Return which field may be meant: the nearest of all, or the first ones of those that are not there."""
    nearest = get_close_matches(name, every, n=1)
    if nearest:
        return f"expected {nearest[0]}"
    return f"expected one of {in_short(others, MOST_NAMED)}" if others else "expected none here"


def _present(kind: object) -> object:
    """Return the type of a value that is there."""
    if get_origin(kind) in {Union, UnionType}:
        return next(one for one in get_args(kind) if one is not type(None))
    return kind


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
