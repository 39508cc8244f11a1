"""Whether shared counters and capacities are enough for what allocations take of them."""

from collections.abc import Iterator
from fractions import Fraction

from dra_oracle.published import Key, Published, amount
from dra_oracle.taking import Fault, Taken
from dra_oracle.wishes import consumption, is_shareable
from dra_oracle.world import Json, World


def counter_faults(world: World, published: Published, taken: list[Taken]) -> Iterator[Fault]:
    """Counters that the new devices overdraw; a device is charged once, whatever the number of its shares."""
    held = {_key(each) for each in world.held if not each.get("adminAccess")}
    new = {each.key for each in taken if not each.wish.is_admin} - held
    for pool, totals in published.totals.items():
        drawn: dict[tuple[str, str], Fraction] = {}
        for key in (held | new) & published.charges.keys():
            if key[:2] == pool:
                for counter, value in published.charges[key]:
                    drawn[counter] = drawn.get(counter, Fraction(0)) + value
        touched = {counter for key in new if key[:2] == pool for counter, _ in published.charges[key]}
        for counter in touched:
            if drawn[counter] > totals[counter]:
                yield Fault("counters", f"counter {counter} of pool {pool} is overdrawn: {drawn[counter]}")


def capacity_faults(world: World, taken: list[Taken]) -> Iterator[Fault]:
    """Wrong amounts in results, and capacities of shareable devices that are overdrawn."""
    drawn: dict[Key, dict[str, Fraction]] = {}
    for share in world.held:
        if "shareID" in share and not share.get("adminAccess"):
            _add(drawn.setdefault(_key(share), {}), share.get("consumedCapacity", {}))
    for each in taken:
        is_share = is_shareable(each.spot.device) and not each.wish.is_admin
        if is_share != bool(each.result.get("shareID")) and not each.wish.is_admin:
            yield Fault("share", f"{each} has a share ID or lacks one")
        if is_share:
            expected = consumption(each.spot.device, each.wish.amounts)
            consumed = {name: amount(value) for name, value in each.result.get("consumedCapacity", {}).items()}
            if consumed != expected:
                yield Fault("share", f"{each} consumes {consumed}, expected {expected}")
            _add(drawn.setdefault(each.key, {}), each.result.get("consumedCapacity", {}))
            for name, capacity in each.spot.device.get("capacity", {}).items():
                if drawn[each.key].get(name, Fraction(0)) > amount(capacity["value"]):
                    yield Fault("capacity", f"capacity {name} of {each} is overdrawn")
    ids = [each.result["shareID"] for each in taken if each.result.get("shareID")]
    if len(set(ids)) < len(ids):
        yield Fault("share", "two shares have one ID")


def _add(total: dict[str, Fraction], consumed: Json) -> None:
    for name, value in consumed.items():
        total[name] = total.get(name, Fraction(0)) + amount(value)


def _key(result: Json) -> Key:
    return result["driver"], result["pool"], result["device"]
