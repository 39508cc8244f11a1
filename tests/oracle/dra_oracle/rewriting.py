"""The same question put to Kubernetes in other words, so that one of its peculiarities has no hold on it.

Each function takes a world apart and returns another that means the same by our rules, or None where it has nothing to
say. A difference is explained only if the reworded question gets our answer.
"""

from collections.abc import Callable

import msgspec

from dra_oracle.check import Checked, all_of
from dra_oracle.published import current_pieces, pool_key
from dra_oracle.wishes import Wish, doubtful, wishes_of
from dra_oracle.world import Json, World

MARK = "oracle.example.com/place"
NOTHING: Json = {"cel": {"expression": "false"}}

Rewording = Callable[[Checked], World | None]


def with_selections_spelled_out(checked: Checked) -> World | None:
    """Every request lists the devices that its selectors take without failing."""
    if not any(checked.choices.failing.values()):
        return None
    matching = {(each.claim, each.request): set(each.matching) for each in checked.selections}
    numbers: dict[tuple[int, int], int] = {}
    slices = []
    for number, piece in enumerate(checked.world.slices):
        devices = []
        for position, device in enumerate(piece["spec"].get("devices", ())):
            mark = numbers.setdefault((number, position), len(numbers))
            devices.append({**device, "attributes": {**device.get("attributes", {}), MARK: {"int": mark}}})
        slices.append({**piece, "spec": {**piece["spec"], **({"devices": devices} if devices else {})}})

    def spelled(wish: Wish) -> Json:
        listed = sorted(numbers[place] for place in matching[wish.claim, wish.name])
        domain, _, name = MARK.partition("/")
        text = f'device.attributes["{domain}"].{name} in {listed}' if listed else "false"
        return {**wish.content, "selectors": [{"cel": {"expression": text}}]}

    classes = [{**each, "spec": {**each["spec"], "selectors": []}} for each in checked.world.classes]
    world = msgspec.structs.replace(checked.world, slices=tuple(slices), classes=tuple(classes))
    return reworded(world, spelled)


def without_former_generations(checked: Checked) -> World | None:
    """Only slices of the newest generation of each pool."""
    current = {number for pieces in current_pieces(checked.world).values() for number, _ in pieces}
    return _with_slices(
        checked.world, [piece for number, piece in enumerate(checked.world.slices) if number in current]
    )


def without_broken_pools(problem: str) -> Rewording:
    """No slices of pools with this problem."""

    def reword(checked: Checked) -> World | None:
        broken = {key for key, found in checked.published.broken.items() if found == problem}
        return _with_slices(checked.world, [piece for piece in checked.world.slices if pool_key(piece) not in broken])

    return reword


def with_all_judged_by_its_own_pools(checked: Checked) -> World | None:
    """Requests for all devices that a broken pool keeps from being served select nothing; other broken pools go."""
    if not any(wish.wants_all for wish in wishes_of(checked.world)):
        return None

    def judged(wish: Wish) -> Json:
        if wish.wants_all and doubtful(checked.published, checked.selections, wish):
            return {**wish.content, "allocationMode": "ExactCount", "count": 1, "selectors": [NOTHING]}
        return wish.content

    broken = checked.published.broken
    slices = [piece for piece in checked.world.slices if pool_key(piece) not in broken]
    world = msgspec.structs.replace(checked.world, slices=tuple(slices))
    return _if_changed(checked.world, reworded(world, judged))


def with_all_counted(checked: Checked) -> World | None:
    """Requests for all devices ask for exactly as many as there are."""

    def counted(wish: Wish) -> Json:
        if not wish.wants_all:
            return wish.content
        there = all_of(checked.choices, wish)
        if not there:
            return {**wish.content, "allocationMode": "ExactCount", "count": 1, "selectors": [NOTHING]}
        return {**wish.content, "allocationMode": "ExactCount", "count": len(there)}

    return _if_changed(checked.world, reworded(checked.world, counted))


def with_what_does_not_compile_found_at_once(checked: Checked) -> World | None:
    """Requests with an expression that does not compile name a class that does not exist."""
    broken = {(each.claim, each.request) for each in checked.selections if each.broken}

    def found(wish: Wish) -> Json:
        return {**wish.content, "deviceClassName": "missing"} if (wish.claim, wish.name) in broken else wish.content

    return _if_changed(checked.world, reworded(checked.world, found))


def reworded(world: World, of_wish: Callable[[Wish], Json]) -> World:
    """The world with another content of each request and alternative."""
    contents = {(wish.claim, wish.name): of_wish(wish) for wish in wishes_of(world)}
    claims = []
    for number, claim in enumerate(world.claims):
        requests = []
        for request in claim["spec"]["devices"].get("requests", ()):
            name = request["name"]
            if "exactly" in request:
                requests.append({**request, "exactly": contents[number, name]})
            else:
                subs = [contents[number, f"{name}/{sub['name']}"] for sub in request["firstAvailable"]]
                requests.append({**request, "firstAvailable": subs})
        devices = {**claim["spec"]["devices"], "requests": requests}
        claims.append({**claim, "spec": {**claim["spec"], "devices": devices}})
    return msgspec.structs.replace(world, claims=tuple(claims))


def _with_slices(world: World, slices: list[Json]) -> World | None:
    return _if_changed(world, msgspec.structs.replace(world, slices=tuple(slices)))


def _if_changed(before: World, after: World) -> World | None:
    return after if after != before else None
