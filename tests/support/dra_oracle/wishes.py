"""What the claims of a world ask for, request by request, and which devices each may take at all."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from dra_oracle.kubernetes import Selected
from dra_oracle.published import Key, Published, Spot, amount
from dra_oracle.world import Json, World


class Wish(NamedTuple):
    """One request, or one alternative of a request (`name` is then `request/alternative`)."""

    claim: int
    request: str
    name: str
    content: Json

    @property
    def wants_all(self) -> bool:
        """Whether it takes all devices that there are."""
        return bool(self.content.get("allocationMode") == "All")

    @property
    def is_admin(self) -> bool:
        """Whether it takes nothing away from anybody."""
        return bool(self.content.get("adminAccess"))

    @property
    def amounts(self) -> dict[str, Fraction]:
        """How much of each capacity is asked for."""
        return {name: amount(value) for name, value in self.content.get("capacity", {}).get("requests", {}).items()}


def wishes_of(world: World) -> Iterator[Wish]:
    """All requests and alternatives in order."""
    for number, claim in enumerate(world.claims):
        for request in claim["spec"]["devices"].get("requests", ()):
            if "exactly" in request:
                yield Wish(number, request["name"], request["name"], request["exactly"])
            for sub in request.get("firstAvailable", ()):
                yield Wish(number, request["name"], f"{request['name']}/{sub['name']}", sub)


def is_shareable(device: Json) -> bool:
    """Whether several claims can have shares of the device."""
    return bool(device.get("allowMultipleAllocations"))


def consumption(device: Json, amounts: dict[str, Fraction]) -> dict[str, Fraction] | None:
    """How much of each capacity a request takes; None where the device's policies or its size forbid it (KEP-5075)."""
    capacities = device.get("capacity", {})
    if not set(amounts) <= set(capacities):
        return None
    taken = {}
    for name, capacity in capacities.items():
        rounded = _rounded(capacity, amounts.get(name))
        if rounded is None or rounded > amount(capacity["value"]):
            return None
        taken[name] = rounded
    return taken


def _rounded(capacity: Json, asked: Fraction | None) -> Fraction | None:
    policy = capacity.get("requestPolicy", {})
    if asked is None:
        return amount(policy.get("default", capacity["value"]))
    if policy.get("validValues"):
        return min((value for value in map(amount, policy["validValues"]) if value >= asked), default=None)
    if policy.get("validRange"):
        return _in_range(policy["validRange"], asked)
    return asked


def _in_range(limits: Json, asked: Fraction) -> Fraction | None:
    least = amount(limits["min"])
    rounded = max(asked, least)
    if "step" in limits:
        step = amount(limits["step"])
        rounded = least + -((least - rounded) // step) * step
    return None if "max" in limits and rounded > amount(limits["max"]) else rounded


class Choices(NamedTuple):
    """Which devices each wish selects, those whose selectors fail on them, and values that wishes derive by name."""

    matching: dict[tuple[int, str], dict[Key, Spot]]
    failing: dict[tuple[int, str], frozenset[tuple[int, int]]]
    derived: dict[tuple[int, str], dict[str, dict[tuple[int, int], Json]]]

    def of(self, wish: Wish) -> dict[Key, Spot]:
        """The usable devices that the wish selects, taken ones included, in the order of preference."""
        return self.matching[wish.claim, wish.name]


def choices(published: Published, selections: tuple[Selected, ...]) -> Choices:
    """The choices of every wish, from what Kubernetes' CEL says of each device."""
    found = Choices({}, {}, {})
    for each in selections:
        selected = set(each.matching)
        where = each.claim, each.request
        found.matching[where] = {key: spot for key, spot in published.usable.items() if spot.place in selected}
        found.failing[where] = frozenset(each.failing)
        found.derived[where] = {one.name: {value.place: value.value for value in one.values} for one in each.derived}
    return found


def doubtful(published: Published, selections: tuple[Selected, ...], wish: Wish) -> list[tuple[str, str]]:
    """Pools that nobody may use now but which could belong to what a wish for all devices takes."""
    each = next(each for each in selections if (each.claim, each.request) == (wish.claim, wish.name))
    selected = set(each.matching)
    return [
        key
        for key, spots in published.hidden.items()
        if any(spot.place in selected and consumption(spot.device, wish.amounts) is not None for spot in spots)
        or ((not spots or key in published.partial) and key in published.reached and key[0] in each.possible)
    ]
