"""The same question in other words, where requests for admin access choose from copies of the devices."""

from collections.abc import Iterator

import msgspec

from dra_oracle.check import Checked
from dra_oracle.published import pool_key
from dra_oracle.rewriting import TWIN, Reworded, devices_of, matching_of, spelled_out, with_devices
from dra_oracle.wishes import is_shareable, wishes_of
from dra_oracle.world import Json, World

SHADOW = "shadow"


def with_admin_access_to_copies(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Requests with admin access choose from devices of their own, like the real ones but nobody else's."""
    admins = [wish for wish in wishes_of(checked.world) if wish.is_admin]
    if not admins or any(pool_key(piece)[1].startswith(SHADOW) for piece in checked.world.slices):
        return None
    matching = matching_of(checked)
    slices = [_twins(piece, number) for number, piece in enumerate(checked.world.slices)]
    # The requests of one claim still get different devices.
    for claim in sorted({wish.claim for wish in admins}):
        copies = {}
        for number, piece in enumerate(checked.world.slices):
            # Without its counters a broken pool could become a good one.
            if pool_key(piece) not in checked.published.broken:
                copies[number] = len(slices)
                copied = _shadow(piece, f"{SHADOW}-{claim}-", checked.world.features)
                shareable = frozenset(each["name"] for each in devices_of(piece) if is_shareable(each))
                slices.append(_twins(copied, number, alone=shareable))
        for where in {(wish.claim, wish.name) for wish in admins if wish.claim == claim}:
            matching[where] = {(copies[piece], position) for piece, position in matching[where] if piece in copies}
    world = msgspec.structs.replace(checked.world, slices=tuple(slices))
    return Reworded(world=_kept_apart(spelled_out(world, matching), checked), restored=_without_shadows)


def _twins(piece: Json, number: int, alone: frozenset[str] = frozenset()) -> Json:
    """The slice with a value at each device that its copies have, too, but for those `alone`, which have their own."""

    def twin(position: int, device: Json) -> Json:
        own = f" of {pool_key(piece)[1]}" if device["name"] in alone else ""
        value = {TWIN: {"string": f"{number}/{position}{own}"}}
        return {**device, "attributes": {**device.get("attributes", {}), **value}}

    return with_devices(piece, [twin(position, each) for position, each in enumerate(devices_of(piece))])


def _kept_apart(world: World, checked: Checked) -> World:
    """The world in which no claim gets a device together with its copy, unless the device is shareable."""
    claims = []
    for number, claim in enumerate(world.claims):
        asked = claim["spec"]["devices"]
        rules = [*asked.get("constraints", ()), *_distinctions(checked, number)]
        claims.append({**claim, "spec": {**claim["spec"], "devices": {**asked, "constraints": rules}}})
    return msgspec.structs.replace(world, claims=tuple(claims))


def _distinctions(checked: Checked, claim: int) -> Iterator[Json]:
    """Yield a constraint for each request for admin access with each normal one.

    A request for several shares is left out: two of them may be of one device, which is not distinct from itself.
    """
    shared = {spot.place for spot in checked.published.usable.values() if is_shareable(spot.device)}
    matching = matching_of(checked)
    mine = [wish for wish in wishes_of(checked.world) if wish.claim == claim]
    several = {
        wish.request for wish in mine if wish.content.get("count", 1) > 1 and matching[claim, wish.name] & shared
    }
    normal = {wish.request: None for wish in mine if not wish.is_admin and wish.request not in several}
    for admin in (wish.request for wish in mine if wish.is_admin):
        for other in normal:
            yield {"distinctAttribute": TWIN, "requests": [admin, other]}


def _shadow(piece: Json, prefix: str, features: tuple[str, ...]) -> Json:
    """A slice like this of another pool, with devices that nobody has to share and that draw from no counters.

    With partitions off, those that draw stay as they are, since nobody can have them.
    """
    spec = piece["spec"]
    dropped = {"allowMultipleAllocations", *(["consumesCounters"] if "PartitionableDevices" in features else [])}
    devices = [{key: value for key, value in each.items() if key not in dropped} for each in devices_of(piece)]
    renamed = {**spec, "pool": {**spec["pool"], "name": prefix + spec["pool"]["name"]}}
    return with_devices({**piece, "metadata": {"name": prefix + piece["metadata"]["name"]}, "spec": renamed}, devices)


def _without_shadows(allocation: Json) -> Json:
    results = [
        {**each, "pool": each["pool"].split("-", 2)[2] if each["pool"].startswith(f"{SHADOW}-") else each["pool"]}
        for each in allocation["devices"].get("results") or ()
    ]
    return {**allocation, "devices": {**allocation["devices"], "results": results}}
