"""Whole paths of problems: msgspec says that something in `attributes[...]` is wrong, people want to know in which."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial

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
