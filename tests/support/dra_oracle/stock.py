"""Whether shared counters and capacities are enough for what allocations take of them."""

from collections.abc import Iterator
from fractions import Fraction

from dra_oracle.published import Counter, Key, PoolKey, Published, amount, current_pieces, pool_key, result_key
from dra_oracle.taking import Fault, Taken
from dra_oracle.wishes import consumption, is_shareable
from dra_oracle.world import Json, World


def held_keys(world: World) -> set[Key]:
    """The devices that somebody holds, or holds shares of."""
    return {result_key(each) for each in world.held if not each.get("adminAccess")}


def drawn_by(keys: set[Key], published: Published) -> dict[PoolKey, dict[Counter, Fraction]]:
    """What these devices draw from the counters of each pool; a device is charged once, whatever its shares."""
    drawn: dict[PoolKey, dict[Counter, Fraction]] = {}
    for key in keys & published.charges.keys():
        of_pool = drawn.setdefault(key[:2], {})
        for counter, value in published.charges[key]:
            of_pool[counter] = of_pool.get(counter, Fraction(0)) + value
    return drawn


def counter_faults(world: World, published: Published, taken: list[Taken]) -> Iterator[Fault]:
    """Counters that the new devices overdraw."""
    held = held_keys(world)
    new = {each.key for each in taken if not each.wish.is_admin} - held
    drawn = drawn_by(held | new, published)
    for pool, counter in {(key[:2], counter) for key in new for counter, value in published.charges[key] if value}:
        if drawn[pool][counter] > published.totals[pool][counter]:
            yield Fault("counters", f"counter {counter} of pool {pool} is overdrawn: {drawn[pool][counter]}")


def group_faults(world: World, published: Published, taken: list[Taken]) -> Iterator[Fault]:
    """Counter sets whose devices have no compatibility group in common, though one of them is new (KEP-5963)."""
    held = held_keys(world)
    new = {each.key for each in taken if not each.wish.is_admin} - held
    groups: dict[tuple[PoolKey, str], list[frozenset[str]]] = {}
    touched: set[tuple[PoolKey, str]] = set()
    for piece in (piece for pieces in current_pieces(world).values() for _, piece in pieces):
        for device in piece["spec"].get("devices", ()):
            key = (*pool_key(piece), device["name"])
            for use in device.get("consumesCounters", ()) if key in held | new else ():
                counter_set = pool_key(piece), use["counterSet"]
                groups.setdefault(counter_set, []).append(frozenset(use.get("compatibilityGroups", ())))
                touched |= {counter_set} if key in new else set()
    for counter_set in touched:
        if any(groups[counter_set]) and not frozenset.intersection(*groups[counter_set]):
            yield Fault("groups", f"devices on {counter_set} have no compatibility group in common")


def capacity_faults(world: World, taken: list[Taken]) -> Iterator[Fault]:
    """Wrong amounts in results, and capacities of shareable devices that are overdrawn."""
    for each in taken:
        if is_shareable(each.spot.device) != bool(each.result.get("shareID")):
            yield Fault("share", f"{each} has a share ID or lacks one")
        elif is_shareable(each.spot.device):
            yield from _share_faults(each)
    ids = [each.result["shareID"] for each in taken if each.result.get("shareID")]
    if len(set(ids)) < len(ids):
        yield Fault("share", "two shares have one ID")
    new = [each for each in taken if not each.wish.is_admin]
    drawn: dict[Key, dict[str, Fraction]] = {}
    for result in (*world.held, *(each.result for each in new)):
        if "shareID" in result and not result.get("adminAccess"):
            _add(drawn.setdefault(result_key(result), {}), result.get("consumedCapacity", {}))
    for each in {each.key: each for each in new}.values():
        for name, capacity in each.spot.device.get("capacity", {}).items():
            if drawn.get(each.key, {}).get(name, Fraction(0)) > amount(capacity["value"]):
                yield Fault("capacity", f"capacity {name} of {each} is overdrawn")


def _share_faults(each: Taken) -> Iterator[Fault]:
    expected = consumption(each.spot.device, each.wish.amounts)
    consumed = {name: amount(value) for name, value in each.result.get("consumedCapacity", {}).items()}
    if consumed != expected:
        yield Fault("share", f"{each} consumes {consumed}, expected {expected}")


def _add(total: dict[str, Fraction], consumed: Json) -> None:
    for name, value in consumed.items():
        total[name] = total.get(name, Fraction(0)) + amount(value)
