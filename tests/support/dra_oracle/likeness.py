"""Whether two allocations are the same, whatever they call amounts and share IDs."""

from dra_oracle.published import amount
from dra_oracle.scopes import plain_selector
from dra_oracle.taking import plain_tolerations
from dra_oracle.world import Json


def unlikeness(first: tuple[Json, ...], second: tuple[Json, ...]) -> str:
    """The first part in which the allocations differ, or nothing."""
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        for part, plain in (("devices", _devices), ("config", _config), ("nodeSelector", _selector)):
            if plain(one) != plain(other):
                return f"{part} of claim {number}: {plain(one)} and {plain(other)}"
    return ""


def chosen(allocation: Json) -> list[str]:
    """The devices with their requests, for people."""
    results = allocation["devices"].get("results", ())
    return [f"{each['request']}: {each['driver']}/{each['pool']}/{each['device']}" for each in results]


def _devices(allocation: Json) -> list[object]:
    return [
        (
            each["request"],
            (each["driver"], each["pool"], each["device"]),
            bool(each.get("adminAccess")),
            plain_tolerations(each.get("tolerations")),
            each.get("bindingConditions", []),
            each.get("bindingFailureConditions", []),
            # What admin access says of its share counts for nobody.
            None if each.get("adminAccess") else _share(each),
        )
        for each in allocation["devices"].get("results", ())
    ]


def _share(result: Json) -> object:
    consumed = {name: amount(value) for name, value in result.get("consumedCapacity", {}).items()}
    return bool(result.get("shareID")), consumed


def _config(allocation: Json) -> list[object]:
    return [
        (each["source"], list(each.get("requests") or ()), each["opaque"])
        for each in allocation["devices"].get("config", ())
    ]


def _selector(allocation: Json) -> object:
    return plain_selector(allocation.get("nodeSelector"))
