"""What msgspec finds wrong, in words for people who know JSON: they need not know how objects are read here."""

import re
from typing import NamedTuple

import msgspec

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
