"""Whether allocations carry the right configuration and can be used on the right nodes."""

from collections.abc import Iterator

from dra_oracle.taking import Fault, Taken
from dra_oracle.world import Json, World


def config_faults(world: World, taken: list[Taken], allocations: tuple[Json, ...]) -> Iterator[Fault]:
    """Claims whose allocation has other configuration than their classes and they themselves say."""
    for number, claim in enumerate(world.claims):
        expected = _expected_config(world, claim, [each for each in taken if each.claim == number])
        found = [_plain(entry) for entry in allocations[number]["devices"].get("config", ())]
        if found != expected:
            yield Fault("config", f"claim {number} has configuration {found}, expected {expected}")


def _expected_config(world: World, claim: Json, taken: list[Taken]) -> list[Json]:
    classes = {each["metadata"]["name"]: each for each in world.classes}
    requests = [request["name"] for request in claim["spec"]["devices"]["requests"]]
    served = {each.wish.request: each.wish for each in taken}
    users: dict[str, list[str]] = {}
    for name in requests:
        users.setdefault(served[name].content["deviceClassName"], []).append(served[name].name)
    of_classes = [
        {"source": "FromClass", "requests": names, "opaque": entry["opaque"]}
        for name, names in users.items()
        for entry in classes[name]["spec"].get("config", ())
    ]
    chosen = {name: {name, served[name].name} for name in requests}
    of_claim = [
        {"source": "FromClaim", "requests": entry.get("requests", []), "opaque": entry["opaque"]}
        for entry in claim["spec"]["devices"].get("config", ())
        if not entry.get("requests") or any(names & set(entry["requests"]) for names in chosen.values())
    ]
    entries = [*of_classes, *of_claim]
    for entry in entries:
        if all(names & set(entry["requests"]) for names in chosen.values()):
            entry["requests"] = []
    return entries


def _plain(entry: Json) -> Json:
    return {"source": entry["source"], "requests": list(entry.get("requests", ())), "opaque": entry["opaque"]}


def selector_faults(world: World, taken: list[Taken], allocations: tuple[Json, ...]) -> Iterator[Fault]:
    """Claims whose allocation can be used on other nodes than their devices."""
    for number, allocation in enumerate(allocations):
        expected = _expected_selector(world, [each for each in taken if each.claim == number])
        found = allocation.get("nodeSelector")
        if plain_selector(found) != plain_selector(expected):
            yield Fault("node-selector", f"claim {number} has node selector {found}, expected {expected}")


def _expected_selector(world: World, taken: list[Taken]) -> Json | None:
    term: dict[str, list[Json]] = {"matchExpressions": [], "matchFields": []}
    for each in taken:
        spec = each.spot.piece["spec"]
        place = each.spot.device if spec.get("perDeviceNodeSelection") else spec
        if place.get("nodeName") or each.spot.device.get("bindsToNode"):
            name = world.node["metadata"]["name"]
            pin = {"key": "metadata.name", "operator": "In", "values": [name]}
            return {"nodeSelectorTerms": [{"matchFields": [pin]}]}
        published = place.get("nodeSelector", {}).get("nodeSelectorTerms", [{}])[0]
        for kind in term:
            term[kind] += published.get(kind, [])
    return {"nodeSelectorTerms": [term]} if any(term.values()) else None


def plain_selector(selector: Json | None) -> object:
    """A selector of one term with its requirements in no order."""
    if selector is None:
        return None
    return [
        {
            kind: {(each["key"], each["operator"], frozenset(each.get("values", ()))) for each in term.get(kind, ())}
            for kind in ("matchExpressions", "matchFields")
        }
        for term in selector["nodeSelectorTerms"]
    ]
