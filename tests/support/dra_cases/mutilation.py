"""Manifests in which something is wrong: values replaced, removed, repeated or exchanged, wherever they stand."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

Json = Any
CEL_BOMB = "[1,2,3,4,5,6,7,8,9].all(a, " * 8 + "true" + ")" * 8
ODDITIES: list[Json] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, -(2**63), 10**40, "", " ", "x", "A B", "a/b", "a/b/c", "x" * 300, "\x00", "ü",
    "-1", "0", "500m", "1n", "9E", "99999999999999999999Ei", "1e99", "4GGi", "v1.2", "2026-13-99", "All", "None", "In",
    [], {}, [None], [[]], [{}], {"": ""}, {"a": None}, {"value": "-1"}, {"value": "1e99"}, {"int": 1, "bool": True},
    "true", "false", "device.", "(" * 500, "x" * 10_240, "true || " * 1_280 + "true", CEL_BOMB, "1 / 0 == 1",
]  # fmt: skip


def places(value: Json, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all parts of a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in pairs for place in places(item, (*path, key)))]


@st.composite
def mutilated(draw: st.DrawFn, whole: Sequence[Json]) -> list[Json]:
    """The objects, of which up to four values have been replaced, removed, repeated or exchanged for another."""
    objects = deepcopy(list(whole))
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from([place for place in places(objects) if len(place) > 1]))
        parent = objects
        for key in way:
            parent = parent[key]
        match draw(st.sampled_from(["replace", "replace", "remove", "repeat", "exchange"])):
            case "remove":
                del parent[last]
            case "repeat" if isinstance(parent, list):
                parent.extend(deepcopy([parent[last]] * draw(st.sampled_from([1, 2, 40]))))
            case "exchange":
                *other, end = draw(st.sampled_from([place for place in places(list(whole)) if len(place) > 1]))
                source: Json = whole
                for key in (*other, end):
                    source = source[key]
                parent[last] = deepcopy(source)
            case _:
                parent[last] = deepcopy(draw(st.sampled_from(ODDITIES)))
    return objects
