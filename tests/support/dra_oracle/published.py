"""Which published devices a node may use, worked out from the JSON by the rules that our allocator promises.

A pool counts by its newest generation in the whole cluster, and is judged as a whole before any node is looked at.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from dra_oracle.world import Json, World

Key = tuple[str, str, str]
"""Driver, pool and device."""
PoolKey = tuple[str, str]
Counter = tuple[str, str]
"""A counter set and a counter of it."""
UNITS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class Spot(NamedTuple):
    """A device, the slice that has it, and the position of that slice in the world and of the device in it."""

    key: Key
    device: Json
    piece: Json
    place: tuple[int, int]


class Published(NamedTuple):
    """The devices that a node may use, in the order of preference, and the pools that nobody may use, with the reason.

    `hidden` are the devices in reach whose pool is one of these, `partial` those of them of which slices are missing.
    `totals` are the counters of usable pools.
    """

    usable: dict[Key, Spot]
    broken: dict[PoolKey, str]
    hidden: dict[PoolKey, list[Spot]]
    partial: set[PoolKey]
    reached: frozenset[PoolKey]
    totals: dict[PoolKey, dict[Counter, Fraction]]
    charges: dict[Key, list[tuple[Counter, Fraction]]]


def amount(text: object) -> Fraction:
    """The value of a Kubernetes quantity."""
    raw = str(text)
    if raw[-2:] in BINARY:
        return Fraction(raw[:-2]) * (1 << BINARY[raw[-2:]])
    if raw[-1] in UNITS:
        return Fraction(f"{raw[:-1]}e{UNITS[raw[-1]]}")
    return Fraction(raw)


def pool_key(piece: Json) -> PoolKey:
    """The pool of a slice."""
    return piece["spec"]["driver"], piece["spec"]["pool"]["name"]


def result_key(result: Json) -> Key:
    """The device of a result."""
    return result["driver"], result["pool"], result["device"]


def current_pieces(world: World) -> dict[PoolKey, list[tuple[int, Json]]]:
    """The slices of every pool's newest generation, by name, each with its position in the world."""
    pools: dict[PoolKey, list[tuple[int, Json]]] = {}
    for number, piece in enumerate(world.slices):
        pools.setdefault(pool_key(piece), []).append((number, piece))
    for key, pieces in pools.items():
        newest = max(piece["spec"]["pool"]["generation"] for _, piece in pieces)
        current = [pair for pair in pieces if pair[1]["spec"]["pool"]["generation"] == newest]
        pools[key] = sorted(current, key=lambda pair: pair[1]["metadata"]["name"])
    return pools


def published(world: World) -> Published:
    """What the world's node may use."""
    pools = current_pieces(world)
    found = Published({}, {}, {}, set(), frozenset(_reached_pools(world)), {}, {})
    shown: list[tuple[bool, Spot]] = []
    for key, pieces in sorted(pools.items()):
        problem = _problem([piece for _, piece in pieces], world.features)
        spots = [spot for number, piece in pieces for spot in _spots(world, number, piece)]
        if problem:
            found.broken[key] = problem
            found.hidden[key] = spots
            if len(pieces) < max(piece["spec"]["pool"]["resourceSliceCount"] for _, piece in pieces):
                found.partial.add(key)
            continue
        found.totals[key] = _totals(piece for _, piece in pieces)
        found.charges.update(_charges(key, (piece for _, piece in pieces)))
        shown += [(_has_conditions(world, spots), spot) for spot in spots]
    # Devices that must be attached first come after all others (KEP-5007); the sort is stable.
    found.usable.update((spot.key, spot) for _, spot in sorted(shown, key=lambda pair: pair[0]))
    return found


def _has_conditions(world: World, spots: list[Spot]) -> bool:
    """Whether a device of the slices in reach has binding conditions, be it in reach itself or not."""
    devices = (device for spot in spots for device in spot.piece["spec"]["devices"])
    return "DeviceBindingAndStatus" in world.features and any(device.get("bindingConditions") for device in devices)


def _problem(pieces: list[Json], features: tuple[str, ...]) -> str:
    counts = {piece["spec"]["pool"]["resourceSliceCount"] for piece in pieces}
    if len(counts) > 1:
        return "disagreeing"
    names = [device["name"] for piece in pieces for device in piece["spec"].get("devices", ())]
    if len(set(names)) < len(names):
        return "duplicates"
    unseen = "CompatibilityGroups" not in features and any(
        use.get("compatibilityGroups")
        for piece in pieces
        for device in piece["spec"].get("devices", ())
        for use in device.get("consumesCounters", ())
    )
    if unseen:
        return "grouped"
    if len(pieces) != counts.pop():
        return "incomplete"
    return "" if "PartitionableDevices" not in features or _are_counters_known(pieces) else "counters"


def _are_counters_known(pieces: list[Json]) -> bool:
    sets = [each["name"] for piece in pieces for each in piece["spec"].get("sharedCounters", ())]
    uses = [
        use
        for piece in pieces
        for device in piece["spec"].get("devices", ())
        for use in device.get("consumesCounters", ())
    ]
    known = _totals(iter(pieces))
    return (
        len(set(sets)) == len(sets)
        and {use["counterSet"] for use in uses} <= set(sets)
        and all((use["counterSet"], name) in known for use in uses for name in use["counters"])
    )


def _totals(pieces: Iterator[Json]) -> dict[Counter, Fraction]:
    return {
        (each["name"], name): amount(counter["value"])
        for piece in pieces
        for each in piece["spec"].get("sharedCounters", ())
        for name, counter in each["counters"].items()
    }


def _charges(key: PoolKey, pieces: Iterator[Json]) -> dict[Key, list[tuple[Counter, Fraction]]]:
    return {
        (*key, device["name"]): [
            ((each["counterSet"], name), amount(counter["value"]))
            for each in device.get("consumesCounters", ())
            for name, counter in each["counters"].items()
        ]
        for piece in pieces
        for device in piece["spec"].get("devices", ())
    }


def _is_closed(world: World, piece: Json) -> bool:
    """Whether the devices of the slice are nowhere: selection by device came with partitions and goes with them."""
    return bool(piece["spec"].get("perDeviceNodeSelection")) and "PartitionableDevices" not in world.features


def _reached_pools(world: World) -> Iterator[PoolKey]:
    """Pools of which the node reaches something of any generation."""
    for piece in world.slices:
        spec = piece["spec"]
        places = spec.get("devices", ()) if spec.get("perDeviceNodeSelection") else (spec,)
        if not _is_closed(world, piece) and any(is_reached(world.node, place) for place in places):
            yield pool_key(piece)


def _spots(world: World, number: int, piece: Json) -> Iterator[Spot]:
    spec = piece["spec"]
    if _is_closed(world, piece):
        return
    for position, device in enumerate(spec.get("devices", ())):
        if is_reached(world.node, device if spec.get("perDeviceNodeSelection") else spec):
            yield Spot((*pool_key(piece), device["name"]), device, piece, (number, position))


def is_reached(node: Json, place: Json) -> bool:
    """Whether the node reaches what is published with these node fields."""
    name = node["metadata"]["name"]
    if place.get("nodeName"):
        return bool(place["nodeName"] == name)
    if place.get("nodeSelector"):
        terms = place["nodeSelector"]["nodeSelectorTerms"]
        labels = node["metadata"].get("labels", {})
        return len(terms) == 1 and bool(terms[0]) and _fits(terms[0], name, labels)
    return bool(place.get("allNodes"))


def _fits(term: Json, name: str, labels: Mapping[str, str]) -> bool:
    fields = {"metadata.name": name}
    return all(_holds(each, labels) for each in term.get("matchExpressions", ())) and all(
        _holds(each, fields) for each in term.get("matchFields", ())
    )


def _holds(requirement: Json, values: Mapping[str, str]) -> bool:
    value, wanted = values.get(requirement["key"]), requirement.get("values", ())
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(wanted[0])
        case "Lt":
            return value is not None and int(value) < int(wanted[0])
        case unknown:
            raise ValueError(f"unknown operator {unknown}")
