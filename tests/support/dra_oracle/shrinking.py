"""Smaller worlds with the same difference."""

import copy
from collections.abc import Callable, Iterator

import msgspec

from dra_oracle.published import pool_key
from dra_oracle.world import Json, World

OPTIONAL = frozenset(
    {
        "adminAccess",
        "allowMultipleAllocations",
        "attributes",
        "bindingConditions",
        "bindingFailureConditions",
        "bindsToNode",
        "capacity",
        "config",
        "constraints",
        "consumedCapacity",
        "consumesCounters",
        "extendedResourceName",
        "labels",
        "matchExpressions",
        "matchFields",
        "requestPolicy",
        "requests",
        "selectors",
        "sharedCounters",
        "step",
        "taints",
        "timeAdded",
        "tolerations",
        "uid",
        "value",
    }
)
NAMED = frozenset({"attributes", "capacity", "counters", "consumedCapacity", "requests"})
MOST_TRIES = 4_000


def smallest(world: World, is_still_wrong: Callable[[World], bool]) -> World:
    """A world from which nothing can be left out any more without losing the difference (within `MOST_TRIES`)."""
    tries = 0
    was_found = True
    while was_found:
        was_found = False
        for smaller in _smaller(world):
            tries += 1
            if tries > MOST_TRIES:
                return world
            if _is_wrong(smaller, is_still_wrong):
                world, was_found = smaller, True
                break
    return world


def _is_wrong(world: World, is_still_wrong: Callable[[World], bool]) -> bool:
    try:
        return is_still_wrong(world)
    except Exception:  # noqa: BLE001  whatever became of the world, it is not the difference that was looked for
        return False


def _smaller(world: World) -> Iterator[World]:
    yield from _without_slices(world)
    plain = msgspec.json.decode(msgspec.json.encode(world))
    for path in list(_droppable(plain)):
        other = copy.deepcopy(plain)
        _drop(other, path)
        yield msgspec.convert(other, World)
    for path in list(_counts(plain)):
        other = copy.deepcopy(plain)
        _at(other, path[:-1])["count"] -= 1
        yield msgspec.convert(other, World)


def _without_slices(world: World) -> Iterator[World]:
    """Worlds with one slice less of which the other slices of the pool know."""
    for number, piece in enumerate(world.slices):
        rest = [_one_less(other) if pool_key(other) == pool_key(piece) else other for other in world.slices]
        yield msgspec.structs.replace(world, slices=tuple(rest[:number] + rest[number + 1 :]))


def _one_less(piece: Json) -> Json:
    pool = piece["spec"]["pool"]
    fewer = {**pool, "resourceSliceCount": max(1, pool["resourceSliceCount"] - 1)}
    return {**piece, "spec": {**piece["spec"], "pool": fewer}}


def _droppable(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Paths of what can be left out, the largest things first."""
    if isinstance(value, dict):
        is_named = bool(path) and path[-1] in NAMED
        yield from ((*path, key) for key in value if key in OPTIONAL or is_named)
        for key, item in value.items():
            yield from _droppable(item, (*path, key))
    elif isinstance(value, list) and path != ("features",):
        yield from ((*path, number) for number in range(len(value)))
        for number, item in enumerate(value):
            yield from _droppable(item, (*path, number))


def _counts(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    if isinstance(value, dict):
        if value.get("count", 0) > 1:
            yield (*path, "count")
        for key, item in value.items():
            yield from _counts(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _counts(item, (*path, number))


def _at(value: object, path: tuple[object, ...]) -> Json:
    for step in path:
        value = value[step]  # type: ignore[index]  # steps fit the values that they were found in
    return value  # type: ignore[return-value]


def _drop(value: object, path: tuple[object, ...]) -> None:
    holder = _at(value, path[:-1])
    del holder[path[-1]]  # type: ignore[arg-type]
