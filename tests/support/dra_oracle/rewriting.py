"""The same question put to Kubernetes in other words, so that one of its peculiarities has no hold on it.

Each function takes a world apart and returns another that means the same by our rules, or None where it has nothing to
say. A difference is explained only if the reworded question gets our answer.
"""

from collections.abc import Callable
from fractions import Fraction

import msgspec

from dra_oracle.check import Checked, all_of
from dra_oracle.published import amount, current_pieces, pool_key, result_key
from dra_oracle.stock import drawn_by, held_keys
from dra_oracle.wishes import Wish, doubtful, is_shareable, wishes_of
from dra_oracle.world import Json, World

MARK_DOMAIN, MARK = "oracle.example.com", "mark"
TWIN = f"{MARK_DOMAIN}/twin"
"""What devices and their copies have in common: see `copies`."""
FRACTIONS = "FractionalCapacityRange"
LISTS = frozenset({"ints", "bools", "strings", "versions"})
NOTHING: Json = {"cel": {"expression": "false"}}

Place = tuple[int, int]


class Reworded(msgspec.Struct, frozen=True, kw_only=True):
    """Another world, and how to read an allocation in it as one in the world before."""

    world: World
    restored: Callable[[Json], Json] = lambda allocation: allocation


Rewording = Callable[[Checked, tuple[Json, ...]], Reworded | None]
"""Takes the world and our allocations."""


def with_selections_spelled_out(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Every request lists the devices that its selectors take without failing."""
    if not any(checked.choices.failing.values()):
        return None
    return Reworded(world=spelled_out(checked.world, matching_of(checked)))


def without_former_generations(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Only slices of the newest generation of each pool."""
    current = {number for pieces in current_pieces(checked.world).values() for number, _ in pieces}
    kept = tuple(piece for number, piece in enumerate(checked.world.slices) if number in current)
    return _if_changed(checked.world, msgspec.structs.replace(checked.world, slices=kept))


def without_broken_pools(*problems: str) -> Rewording:
    """No slices of pools with these problems (any, if none is given).

    Requests for all devices that such a pool keeps from being served select nothing.
    """

    def reword(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
        found = checked.published.broken.items()
        broken = {key for key, problem in found if not problems or problem in problems}

        def judged(wish: Wish) -> Json:
            doubt = doubtful(checked.published, checked.selections, wish) if wish.wants_all else []
            return for_nothing(wish) if broken.intersection(doubt) else wish.content

        kept = tuple(piece for piece in checked.world.slices if pool_key(piece) not in broken)
        return _if_changed(checked.world, reworded(msgspec.structs.replace(checked.world, slices=kept), judged))

    return reword


def with_exact_ranges(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Ranges of capacity with fractions are exact, as they will be from a later release on."""
    features = checked.world.features
    if FRACTIONS in features:
        return None
    return Reworded(world=msgspec.structs.replace(checked.world, features=(*features, FRACTIONS)))


def without_lists(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """With lists of values off, no device has an attribute that is a list."""
    if "ListTypeAttributes" in checked.world.features:
        return None

    def plain(device: Json) -> Json:
        kept = {name: each for name, each in device.get("attributes", {}).items() if not LISTS & each.keys()}
        return {**device, "attributes": kept} if kept != device.get("attributes", {}) else device

    slices = tuple(with_devices(piece, [plain(each) for each in devices_of(piece)]) for piece in checked.world.slices)
    return _if_changed(checked.world, msgspec.structs.replace(checked.world, slices=slices))


def without_devices_of(feature: str, *fields: str) -> Rewording:
    """With this feature off, nobody selects devices with any of its fields, which they are plain without.

    Requests for all devices that select one of them select nothing.
    """

    def reword(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
        lost = {
            (n, position)
            for n, piece in enumerate(checked.world.slices)
            for position, device in enumerate(devices_of(piece))
            if any(device.get(field) or _uses(device, field) for field in fields)
        }
        if feature in checked.world.features or not lost:
            return None

        def judged(wish: Wish) -> Json:
            fails = wish.wants_all and any(spot.place in lost for spot in all_of(checked.choices, wish).values())
            return for_nothing(wish) if fails else wish.content

        slices = [
            with_devices(piece, [_plain(each, fields) for each in devices_of(piece)]) for piece in checked.world.slices
        ]
        world = msgspec.structs.replace(checked.world, slices=tuple(slices))
        matching = {where: places - lost for where, places in matching_of(checked).items()}
        return Reworded(world=reworded(spelled_out(world, matching), judged))

    return reword


def with_counters_closed(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Whatever would draw from counters that somebody draws from unseen is taken, unless it has drawn already."""
    held = {result_key(each): each for each in checked.world.held if not each.get("adminAccess")}
    closed = {key[:2] for key in held if key not in checked.published.charges}
    taken = [
        {"request": "r", "driver": key[0], "pool": key[1], "device": key[2]}
        for key, charge in checked.published.charges.items()
        if key[:2] in closed and any(value for _, value in charge) and key not in held
    ]
    return _if_changed(checked.world, msgspec.structs.replace(checked.world, held=(*checked.world.held, *taken)))


def with_shares_of_whole_devices_taken(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """A share of a device that is not shareable (any more) takes the device."""
    usable = checked.published.usable

    def whole(each: Json) -> Json:
        spot = usable.get(result_key(each))
        if spot is None or is_shareable(spot.device):
            return each
        return {key: value for key, value in each.items() if key not in {"shareID", "consumedCapacity"}}

    held = tuple(whole(each) for each in checked.world.held)
    return _if_changed(checked.world, msgspec.structs.replace(checked.world, held=held))


def without_overdrafts(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Counters that are overdrawn already have just what is drawn, so that nothing is left of them."""
    drawn = drawn_by(held_keys(checked.world), checked.published)

    def covered(piece: Json, each: Json) -> Json:
        used = drawn.get(pool_key(piece), {})
        counters = {
            name: {"value": _larger(counter["value"], used.get((each["name"], name), Fraction(0)))}
            for name, counter in each["counters"].items()
        }
        return {**each, "counters": counters}

    slices = []
    for piece in checked.world.slices:
        sets = [covered(piece, each) for each in piece["spec"].get("sharedCounters", ())]
        slices.append({**piece, "spec": {**piece["spec"], **({"sharedCounters": sets} if sets else {})}})
    return _if_changed(checked.world, msgspec.structs.replace(checked.world, slices=tuple(slices)))


def with_all_counted(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Requests for all devices ask for exactly as many as there are."""

    def counted(wish: Wish) -> Json:
        if not wish.wants_all:
            return wish.content
        there = len(all_of(checked.choices, wish))
        return {**wish.content, "allocationMode": "ExactCount", "count": there} if there else for_nothing(wish)

    return _if_changed(checked.world, reworded(checked.world, counted))


def with_distinction_refused(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """With consumable capacity off, claims with `distinctAttribute`, which came with it, name a missing class."""
    if "ConsumableCapacity" in checked.world.features:
        return None
    refused = {
        number
        for number, claim in enumerate(checked.world.claims)
        if any(rule.get("distinctAttribute", TWIN) != TWIN for rule in claim["spec"]["devices"].get("constraints", ()))
    }

    def found(wish: Wish) -> Json:
        return {**wish.content, "deviceClassName": "missing"} if wish.claim in refused else wish.content

    return _if_changed(checked.world, reworded(checked.world, found))


def with_what_does_not_compile_found_at_once(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Requests with an expression that does not compile name a class that does not exist."""
    broken = _broken(checked)

    def found(wish: Wish) -> Json:
        return {**wish.content, "deviceClassName": "missing"} if (wish.claim, wish.name) in broken else wish.content

    return _if_changed(checked.world, reworded(checked.world, found))


def without_broken_alternatives(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Alternatives whose class is missing or does not compile are left out, unless no other is left."""
    broken = _broken(checked)

    def kept(claim: int, name: str, sub: Json) -> bool:
        return (claim, f"{name}/{sub['name']}") not in broken

    return _with_alternatives(checked.world, kept)


def with_our_alternatives(checked: Checked, mine: tuple[Json, ...]) -> Reworded | None:
    """Only the alternatives that we chose."""
    chosen = {(claim, each["request"]) for claim, one in enumerate(mine) for each in one["devices"].get("results", ())}

    def kept(claim: int, name: str, sub: Json) -> bool:
        return (claim, f"{name}/{sub['name']}") in chosen

    return _with_alternatives(checked.world, kept) if mine else None


def matching_of(checked: Checked) -> dict[tuple[int, str], set[Place]]:
    """Which devices each wish selects."""
    return {(each.claim, each.request): set(each.matching) for each in checked.selections}


def _broken(checked: Checked) -> set[tuple[int, str]]:
    return {(each.claim, each.request) for each in checked.selections if each.broken}


def spelled_out(world: World, matching: dict[tuple[int, str], set[Place]]) -> World:
    """The world with a number at each device, and the numbers to choose from in each request that has any."""
    numbers: dict[Place, int] = {}

    def marked(place: Place, device: Json) -> Json:
        mark = {f"{MARK_DOMAIN}/{MARK}": {"int": numbers.setdefault(place, len(numbers))}}
        return {**device, "attributes": {**device.get("attributes", {}), **mark}}

    slices = [
        with_devices(piece, [marked((n, position), each) for position, each in enumerate(devices_of(piece))])
        for n, piece in enumerate(world.slices)
    ]

    def spelled(wish: Wish) -> Json:
        listed = sorted(numbers[place] for place in matching[wish.claim, wish.name])
        text = f'device.attributes["{MARK_DOMAIN}"].{MARK} in {listed}' if listed else "false"
        return {**wish.content, "selectors": [{"cel": {"expression": text}}]}

    classes = [{**each, "spec": {**each["spec"], "selectors": []}} for each in world.classes]
    return reworded(msgspec.structs.replace(world, slices=tuple(slices), classes=tuple(classes)), spelled)


def devices_of(piece: Json) -> list[Json]:
    """The devices of a slice."""
    return list(piece["spec"].get("devices", ()))


def with_devices(piece: Json, devices: list[Json]) -> Json:
    """The slice with other devices, if there are any."""
    return {**piece, "spec": {**piece["spec"], "devices": devices}} if devices else piece


def _uses(device: Json, field: str) -> bool:
    return any(use.get(field) for use in device.get("consumesCounters", ()))


def _plain(device: Json, fields: tuple[str, ...]) -> Json:
    """The device without these fields, in its use of counters as well."""
    plain = {key: value for key, value in device.items() if key not in fields}
    if "consumesCounters" in plain:
        uses = plain["consumesCounters"]
        plain["consumesCounters"] = [{key: use[key] for key in use if key not in fields} for use in uses]
    return plain


def _larger(value: str, other: Fraction) -> str:
    """The larger amount as a quantity; the other one is a whole number of thousandths."""
    return value if amount(value) >= other else f"{int(other * 1000)}m"


def for_nothing(wish: Wish) -> Json:
    """The wish for one device that there is not."""
    return {**wish.content, "allocationMode": "ExactCount", "count": 1, "selectors": [NOTHING]}


def reworded(world: World, of_wish: Callable[[Wish], Json]) -> World:
    """The world with another content of each request and alternative."""
    contents = {(wish.claim, wish.name): of_wish(wish) for wish in wishes_of(world)}

    def worded(claim: int, request: Json) -> Json:
        name = request["name"]
        if "exactly" in request:
            return {**request, "exactly": contents[claim, name]}
        return {
            **request,
            "firstAvailable": [contents[claim, f"{name}/{s['name']}"] for s in request["firstAvailable"]],
        }

    return _with_requests(world, worded)


def _with_alternatives(world: World, is_kept: Callable[[int, str, Json], bool]) -> Reworded | None:
    def fewer(claim: int, request: Json) -> Json:
        kept = [sub for sub in request.get("firstAvailable", ()) if is_kept(claim, request["name"], sub)]
        return {**request, "firstAvailable": kept} if kept else request

    return _if_changed(world, _with_requests(world, fewer))


def _with_requests(world: World, worded: Callable[[int, Json], Json]) -> World:
    claims = []
    for number, claim in enumerate(world.claims):
        requests = [worded(number, request) for request in claim["spec"]["devices"].get("requests", ())]
        claims.append(
            {**claim, "spec": {**claim["spec"], "devices": {**claim["spec"]["devices"], "requests": requests}}}
        )
    return msgspec.structs.replace(world, claims=tuple(claims))


def _if_changed(before: World, after: World) -> Reworded | None:
    return Reworded(world=after) if after != before else None
