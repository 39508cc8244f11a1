"""What is wrong with JSON that cannot be read: in words, with the whole path, keys of mappings included."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

UNNAMED = "[...]"
ProblemPath = Callable[[object], str]

_STEP = re.compile(r'\.([^.\[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def with_keys(path: str, raw: object, first_problem: ProblemPath) -> str:
    """Return the path of the first problem of `raw` with its keys in the place of every `[...]`.

    `first_problem` tells where the first problem of such an object is, or nothing where there is none.
    """
    found = path
    while UNNAMED in found:
        before, _, after = found.partition(UNNAMED)
        steps = _steps(before)
        mapping = _at(raw, steps)
        if not isinstance(mapping, Mapping) or not mapping:
            break
        key = _guilty(mapping, partial(_is_wrong, path, raw, steps, first_problem))
        found = f"{before}[{json.dumps(key, ensure_ascii=False)}]{after}"
    return found


def _guilty(mapping: Mapping[object, object], is_wrong: Callable[[Mapping[object, object]], bool]) -> object:
    """Return the key of the first entry that is wrong, by halves."""
    entries = list(mapping.items())
    while len(entries) > 1:
        middle = len(entries) // 2
        entries = entries[:middle] if is_wrong(dict(entries[:middle])) else entries[middle:]
    return entries[0][0]


def _is_wrong(
    path: str, raw: object, steps: list[object], first_problem: ProblemPath, part: Mapping[object, object]
) -> bool:
    return first_problem(_with(raw, steps, part)) == path


def _steps(path: str) -> list[object]:
    return [
        name or (int(number) if number else json.loads(key))
        for name, number, key in _STEP.findall(path.removeprefix("$"))
    ]


def _at(value: object, steps: list[object]) -> object:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _with(value: object, steps: list[object], part: object) -> object:
    """Return a copy of the value that holds `part` at the end of these steps."""
    if not steps:
        return part
    step, *rest = steps
    if isinstance(value, Mapping):
        return {**value, step: _with(value.get(step), rest, part)}
    if isinstance(value, list) and isinstance(step, int):
        return [_with(item, rest, part) if number == step else item for number, item in enumerate(value)]
    return value


_PLACE = re.compile(r"(?P<problem>.*) - at `(?P<key>key` in `)?(?P<path>\$.*)`", re.DOTALL)
_OTHER_TYPE = re.compile(r"Expected `(?P<expected>[^`]+)`(?:, got `(?P<got>[^`]+)`)?")
_MISSING_FIELD = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_TYPES = {
    "array": "a list",
    "bool": "a boolean",
    "bytes": "bytes",
    "float": "a decimal number",
    "int": "a whole number",
    "object": "an object",
    "str": "a string",
}


class WireFault(NamedTuple):
    """One thing that is wrong: a JSON path, and what was expected there."""

    path: str
    problem: str


def fault_of(error: msgspec.ValidationError) -> WireFault:
    """Return what is wrong and where; keys of mappings are `[...]` in the path."""
    place = _PLACE.fullmatch(str(error))
    if place is None:
        return WireFault("$", _in_words(str(error)))
    problem = _in_words(place["problem"])
    return WireFault(place["path"], f"a key is wrong: {problem}" if place["key"] else problem)


def missing_field(name: str) -> str:
    """Return what is wrong with an object without this field."""
    return f"missing required field {name}"


def _in_words(problem: str) -> str:
    """Return the problem in our words; what a type of the model has refused is in them already."""
    missing = _MISSING_FIELD.fullmatch(problem)
    if missing is not None:
        return missing_field(missing["name"])
    other = _OTHER_TYPE.fullmatch(problem)
    if other is None:
        return problem
    expected = f"expected {_types(other['expected'])}"
    return f"{expected}, got {_types(other['got'])}" if other["got"] else expected


def _types(names: str) -> str:
    """Return types in words. That null would do as well helps nobody: a field may be left out instead."""
    every = names.split(" | ")
    return " or ".join(_TYPES.get(name, name) for name in every if name != "null" or len(every) == 1)
