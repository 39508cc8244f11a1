"""A second opinion on plans of tiny worlds, by trying everything: it shares no code with the planner.

It reads the words of the world itself. Types have plain devices of the drivers `a` and `b`, and perhaps a device
plugin; requests are a class and a count; pods have a zone, cpu, tolerations, host ports, and ask for the resource
`PLUGGED`, which is devices of driver `a` where no plugin serves it. DaemonSets have cpu and tolerations; where some
want devices they run everywhere, and no devices are on the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from dra_cases.planning import Json

PLUGGED = "example.com/dev"
Asked = tuple[str, int]
Choice = Mapping[int, tuple[str, str]]
"""The type and the zone of every NodeClaim by its number."""


def flaws(world: Json, makes: Sequence[Json]) -> Iterator[str]:
    """Yield what is wrong with the NodeClaims of a plan, as `dra_cases.turns.told` tells them."""
    for number, made in enumerate(makes):
        least = world["pools"][made["pool"]].get("needs", {}).get("type", {}).get("minValues", 1)
        if len(made["types"]) < least:
            yield f"NodeClaim {number} has {len(made['types'])} types, at least {least} have to be left"
        for name in made["types"]:
            yield from (f"NodeClaim {number} as {name}: {flaw}" for flaw in _flaws_of(world, made, name))
    yield from _beyond_limits(world, makes)
    for choice in _choices(world, makes):
        if not has_devices(world, [(one["pods"], *choice[number]) for number, one in enumerate(makes)]):
            yield f"as {dict(choice)} the devices do not suffice"


def can_be_served(world: Json, pod: str) -> bool:
    """Whether some type of some pool could serve the pod alone."""
    for pool, name in product(world["pools"], world["types"]):
        alone: Json = {"pods": [pod], "pool": pool, "types": [name], "needs": {}}
        if any(_beyond_limits(world, [alone])) or any(_flaws_of(world, alone, name, is_whole=False)):
            continue
        wanted = world["pods"][pod].get("selector", {}).get("zone")
        for zone in zones_of(world, alone, name):
            if wanted in {None, zone} and has_devices(world, [([pod], name, zone)]):
                return True
    return False


def zones_of(world: Json, made: Json, name: str) -> list[str]:
    """Return the zones in which a NodeClaim may become a type."""
    allowed = made["needs"].get("zone")
    of_pool = world["pools"][made["pool"]].get("needs", {}).get("zone")
    return [
        zone
        for zone in world["types"][name]["zones"]
        if (allowed is None or zone in allowed) and (of_pool is None or zone in of_pool)
    ]


def has_devices(world: Json, nodes: Sequence[tuple[Sequence[str], str, str]]) -> bool:
    """Whether devices can be found for all claims of these pods on nodes of these types and zones, none twice."""
    claims: dict[str, tuple[list[Asked], set[int]]] = {}
    for number, (pods, kind, _) in enumerate(nodes):
        for pod in pods:
            for claim, asked in claims_of(world, pod, kind):
                claims.setdefault(claim, (asked, set()))[1].add(number)
        if any(_asks_for_devices(world["pods"][pod]) for pod in pods):
            claims |= {f"{name} on {number}": (asked, {number}) for name, asked in _of_daemons(world, kind)}
    requests = [(asked, homes) for wanted, homes in claims.values() for asked in wanted]
    return _serve(requests, 0, list(_devices(world, nodes)))


def claims_of(world: Json, pod: str, kind: str) -> Iterator[tuple[str, list[Asked]]]:
    """Yield the claims that a pod has on a type with what they ask for."""
    said = world["pods"][pod]
    if PLUGGED in said.get("asks", {}) and not world["types"][kind].get("has"):
        yield f"resources of {pod}", [("a", said["asks"][PLUGGED])]
    if "wants" in said:
        yield f"of {pod}", [(one["class"], one["count"]) for one in said["wants"]]
    for name in said.get("claims", []):
        yield name, [(one["class"], one["count"]) for one in world["claims"][name]]


def _asks_for_devices(pod: Json) -> bool:
    return bool(pod.keys() & {"wants", "claims", "asks"})


def _of_daemons(world: Json, kind: str) -> Iterator[tuple[str, list[Asked]]]:
    """Yield what DaemonSets ask for on a type that could serve each of them alone."""
    for name, said in world.get("daemons", {}).items():
        asked = [(one["class"], one["count"]) for one in said.get("wants", [])]
        alone = [(wanted, {0}) for wanted in asked]
        if asked and _serve(alone, 0, list(_devices(world, [((), kind, "")]))):
            yield name, asked


def _flaws_of(world: Json, made: Json, name: str, *, is_whole: bool = True) -> Iterator[str]:
    said, pool = world["types"][name], world["pools"][made["pool"]]
    pods = [world["pods"][pod] for pod in made["pods"]]
    taints = pool.get("taints", [])
    daemons = (one for one in world.get("daemons", {}).values() if set(taints) <= set(one.get("tolerates", [])))
    if sum(one["cpu"] for one in (*pods, *daemons)) > said["cpu"]:
        yield "no room"
    if said.get("has") and sum(pod.get("asks", {}).get(PLUGGED, 0) for pod in pods) > said["has"][PLUGGED]:
        yield "the plugin has too few"
    ports = [port for pod in pods for port in pod.get("ports", [])]
    if len(set(ports)) < len(ports):
        yield "a host port twice"
    for taint in taints:
        if not all(taint in pod.get("tolerates", []) for pod in pods):
            yield "an untolerated taint"
    zones = zones_of(world, made, name)
    if not zones:
        yield "it cannot be had"
    wanted = {zone for pod in pods if (zone := pod.get("selector", {}).get("zone")) is not None}
    if is_whole and wanted and set(zones) != wanted:
        yield f"it may be in {zones}, pods want {wanted}"


def _beyond_limits(world: Json, makes: Sequence[Json]) -> Iterator[str]:
    for pool, said in world["pools"].items():
        mine = [one for one in makes if one["pool"] == pool]
        for resource, most in said.get("limits", {}).items():
            total = sum(max(_amount(world["types"][name], resource) for name in one["types"]) for one in mine)
            if total > most:
                yield f"{pool} has {total} {resource}, its limit is {most}"


def _amount(said: Json, resource: str) -> int:
    if resource == "nodes":
        return 1
    found: int = said["cpu"] if resource == "cpu" else said["devices"].get(resource, 0)
    return found


def _choices(world: Json, makes: Sequence[Json]) -> Iterator[Choice]:
    options = [[(name, zone) for name in one["types"] for zone in zones_of(world, one, name)] for one in makes]
    yield from (dict(enumerate(one)) for one in product(*options))


def _devices(world: Json, nodes: Sequence[tuple[Sequence[str], str, str]]) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the driver of each device, and which of the nodes reach it."""
    for number, (_, name, _) in enumerate(nodes):
        for driver, count in world["types"][name]["devices"].items():
            yield from [(driver, frozenset((number,)))] * count
    for one in world.get("slices", []):
        zone = one["node"]["zone"] if isinstance(one["node"], dict) else None
        reached = frozenset(number for number, (_, _, where) in enumerate(nodes) if zone in {None, where})
        yield from [(one["driver"], reached)] * len(one["devices"])


def _serve(requests: list[tuple[Asked, set[int]]], first: int, left: list[tuple[str, frozenset[int]]]) -> bool:
    if first == len(requests):
        return True
    (kind, count), homes = requests[first]
    if not count:
        return _serve(requests, first + 1, left)
    rest = [*requests[:first], ((kind, count - 1), homes), *requests[first + 1 :]]
    return any(
        _serve(rest, first, [*left[:number], *left[number + 1 :]])
        for number, (driver, reached) in enumerate(left)
        if kind in {driver, "any"} and homes <= reached and left.index((driver, reached)) == number
    )
