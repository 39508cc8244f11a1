"""Any mutilation of any case is used or refused, and never a traceback."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_cases import cases
from dra_cases.command import dra

ODDITIES: list[Any] = [
    None,
    0,
    -1,
    2**70,
    1.5,
    True,
    "",
    "x",
    "a/b",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    "9" * 400,
    "2026-13-99",
]
ALL = cases()


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in pairs for place in places(item, (*path, key)))]


@st.composite
def mutilated(draw: st.DrawFn) -> list[Any]:
    """The objects of a case, of which up to three values have been replaced or removed."""
    objects: list[Any] = json.loads(json.dumps(draw(st.sampled_from(ALL)).objects))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(objects) if place] or [(0,)]))
        parent = objects
        for key in way:
            parent = parent[key]
        if draw(st.booleans()):
            # A copy: what was put in may be mutilated further.
            parent[last] = deepcopy(draw(st.sampled_from(ODDITIES)))
        elif len(objects) > 1 or way:
            del parent[last]
    return objects


@settings(max_examples=300)
@given(mutilated())
def test_whatever_is_wrong_is_said_in_whole_lines(objects: list[Any]) -> None:
    text = "\n".join(map(json.dumps, objects))
    simulated, checked = dra("simulate", "-", "--all-pods", text=text), dra("check", "-", text=text)
    assert (simulated.code, checked.code) in {(0, 0), (0, 1), (2, 2)}
    if simulated.code == 2:
        assert all(len(line.split(": ", 3)) == 4 for line in simulated.problems)
    else:
        assert all("\n" not in entry["message"] for entry in json.loads(simulated.out)["pending"])
