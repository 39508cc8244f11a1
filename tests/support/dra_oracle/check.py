"""Whether allocations keep every rule, checked result by result from the JSON with nothing of our library."""

from collections.abc import Iterator
from typing import NamedTuple

from dra_oracle.kubernetes import Selected
from dra_oracle.published import Key, Published, Spot, published, result_key
from dra_oracle.scopes import config_faults, selector_faults
from dra_oracle.stock import capacity_faults, counter_faults, group_faults
from dra_oracle.taking import Fault, Taken, plain_tolerations
from dra_oracle.wishes import Choices, Wish, choices, consumption, doubtful, is_shareable, wishes_of
from dra_oracle.world import Json, World

MOST = 32


class Checked(NamedTuple):
    """A world with what is worked out about it once."""

    world: World
    published: Published
    choices: Choices
    selections: tuple[Selected, ...]


def prepared(world: World, selections: tuple[Selected, ...]) -> Checked:
    """The world ready to check allocations; `selections` are what Kubernetes' CEL says of each device."""
    seen = published(world)
    return Checked(world, seen, choices(seen, selections), selections)


def faults(checked: Checked, allocations: tuple[Json, ...]) -> list[Fault]:
    """Everything that is wrong with the allocations, one for each claim; nothing for good ones."""
    if len(allocations) != len(checked.world.claims):
        return [Fault("claims", f"{len(allocations)} allocations for {len(checked.world.claims)} claims")]
    taken: list[Taken] = []
    found: list[Fault] = []
    for each in _taken(checked, allocations):
        if isinstance(each, Fault):
            found.append(each)
        else:
            taken.append(each)
            found += _device_faults(checked, each)
    found = found or list(_count_faults(checked, taken))
    if found:
        # The other rules are about requests that are served, with devices that are there.
        return found
    return [
        *_possession_faults(checked, taken),
        *_constraint_faults(checked, taken),
        *counter_faults(checked.world, checked.published, taken),
        *group_faults(checked.world, checked.published, taken),
        *capacity_faults(checked.world, taken),
        *_field_faults(taken),
        *config_faults(checked.world, taken, allocations),
        *selector_faults(checked.world, taken, allocations),
    ]


def _taken(checked: Checked, allocations: tuple[Json, ...]) -> Iterator[Taken | Fault]:
    wishes = {(wish.claim, wish.name): wish for wish in wishes_of(checked.world)}
    for claim, allocation in enumerate(allocations):
        for result in allocation["devices"].get("results", ()):
            key = result_key(result)
            wish, spot = wishes.get((claim, result["request"])), checked.published.usable.get(key)
            problem = checked.published.broken.get(key[:2])
            if wish is None:
                yield Fault("unknown", f"claim {claim} has no request {result['request']}")
            elif problem:
                yield Fault(f"pool-{problem}", f"{'/'.join(key)} is of a pool that is {problem}")
            elif spot is None:
                yield Fault("unpublished", f"the newest generation publishes no {'/'.join(key)} for this node")
            else:
                yield Taken(claim, result, key, wish, spot)


def _device_faults(checked: Checked, each: Taken) -> Iterator[Fault]:
    if each.spot.place in checked.choices.failing[each.claim, each.wish.name]:
        yield Fault("selector-failed", f"the selectors of {each.wish.name} fail on {each}")
    elif each.key not in checked.choices.of(each.wish):
        yield Fault("not-selected", f"{each} is not selected by {each.wish.name}")
    elif "DeviceTaints" in checked.world.features and _blocking(each):
        yield Fault("taint", f"{each} has a taint that {each.wish.name} does not tolerate")
    elif not set(_needs(each.spot.device)).issubset(checked.world.features):
        yield Fault("feature", f"{each} needs one of {[*_needs(each.spot.device)]}, which is off")
    elif consumption(each.spot.device, each.wish.amounts) is None:
        yield Fault("capacity", f"{each} cannot give {each.wish.name} what it asks for")


def _needs(device: Json) -> Iterator[str]:
    if device.get("consumesCounters"):
        yield "PartitionableDevices"
    if device.get("bindingConditions"):
        yield "DeviceBindingAndStatus"
    if any(each.get("compatibilityGroups") for each in device.get("consumesCounters", ())):
        yield "CompatibilityGroups"


def _blocking(each: Taken) -> list[Json]:
    return [
        taint
        for taint in each.spot.device.get("taints", ())
        if taint["effect"] in {"NoSchedule", "NoExecute"}
        and not any(_tolerates(toleration, taint) for toleration in each.wish.content.get("tolerations", ()))
    ]


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("key") not in {None, "", taint["key"]}:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _count_faults(checked: Checked, taken: list[Taken]) -> Iterator[Fault]:
    position = {key: number for number, key in enumerate(checked.published.usable)}
    order = {(wish.claim, wish.name): number for number, wish in enumerate(wishes_of(checked.world))}
    sequence = [(order[each.claim, each.result["request"]], position[each.key]) for each in taken]
    if sequence != sorted(sequence):
        yield Fault("order", "the results are not in the order of requests and devices")
    served: dict[tuple[int, str], set[str]] = {}
    for each in taken:
        served.setdefault((each.claim, each.wish.request), set()).add(each.wish.name)
    for wish in wishes_of(checked.world):
        chosen = served.get((wish.claim, wish.request), set())
        if len(chosen) != 1:
            yield Fault("count", f"request {wish.request} is served by {sorted(chosen) or 'nothing'}")
        if wish.name in chosen:
            yield from _wish_faults(checked, wish, [each.key for each in taken if each.wish == wish])
    for claim in range(len(checked.world.claims)):
        if sum(each.claim == claim for each in taken) > MOST:
            yield Fault("limit", f"claim {claim} holds more than {MOST} devices")


def _wish_faults(checked: Checked, wish: Wish, keys: list[Key]) -> Iterator[Fault]:
    if len(set(keys)) < len(keys):
        yield Fault("twice", f"{wish.name} got a device twice")
    if not wish.wants_all:
        if len(keys) != wish.content.get("count", 1):
            yield Fault("count", f"{wish.name} got {len(keys)} devices")
        return
    if doubt := doubtful(checked.published, checked.selections, wish):
        yield Fault("all-in-doubt", f"{wish.name} wants all devices while {doubt} cannot be used")
    everything = all_of(checked.choices, wish)
    if set(keys) != set(everything) or not keys:
        yield Fault("all", f"{wish.name} got {len(keys)} of {len(everything)} devices")


def all_of(choices: Choices, wish: Wish) -> dict[Key, Spot]:
    """What a wish for all devices has to take: what it selects, without devices that could never give what it asks."""
    return {key: spot for key, spot in choices.of(wish).items() if consumption(spot.device, wish.amounts) is not None}


def _possession_faults(checked: Checked, taken: list[Taken]) -> Iterator[Fault]:
    held = [each for each in checked.world.held if not each.get("adminAccess")]
    dedicated = {result_key(each) for each in held if "shareID" not in each}
    owners: set[Key] = set()
    watched: set[tuple[int, Key]] = set()
    used = {(each.claim, each.key) for each in taken if not each.wish.is_admin and not is_shareable(each.spot.device)}
    for each in taken:
        if each.wish.is_admin:
            if (each.claim, each.key) in watched | used:
                yield Fault("twice", f"claim {each.claim} has admin access to {each} twice")
            watched.add((each.claim, each.key))
            continue
        if each.key in dedicated:
            yield Fault("taken", f"{each} is somebody else's")
        if each.key in owners and not is_shareable(each.spot.device):
            yield Fault("taken-twice", f"{each} is given twice")
        owners.add(each.key)


def _constraint_faults(checked: Checked, taken: list[Taken]) -> Iterator[Fault]:
    for number, claim in enumerate(checked.world.claims):
        for rule in claim["spec"]["devices"].get("constraints", ()):
            bound = [each for each in taken if each.claim == number and _is_bound(each, rule.get("requests"))]
            name = rule.get("matchAttribute") or rule["distinctAttribute"]
            values = [_values(checked.choices, each, name) for each in bound]
            if not all(values):
                yield Fault("constraint", f"a device of claim {number} lacks {name}")
            elif "matchAttribute" in rule and values and not frozenset.intersection(*values):
                yield Fault("constraint", f"{name} differs in claim {number}")
            elif "distinctAttribute" in rule and sum(map(len, values)) > len(frozenset().union(*values)):
                yield Fault("constraint", f"{name} is not distinct in claim {number}")


def _is_bound(each: Taken, names: list[str] | None) -> bool:
    return not names or each.wish.request in names or each.wish.name in names


def _values(choices: Choices, each: Taken, name: str) -> frozenset[tuple[str, object]]:
    """The values of an attribute with their kind, since 1, true and "1" differ; a single value is a list of one.

    What the request derives under that name comes first.
    """
    attributes = each.spot.device.get("attributes", {})
    domain, _, short = name.partition("/")
    derived = choices.derived[each.claim, each.wish.name].get(name)
    if derived is not None:
        value = derived.get(each.spot.place)
    else:
        value = attributes.get(name) or (attributes.get(short) if domain == each.key[0] else None)
    if value is None:
        return frozenset()
    ((kind, content),) = value.items()
    return frozenset((kind.removesuffix("s"), item) for item in (content if isinstance(content, list) else [content]))


def _field_faults(taken: list[Taken]) -> Iterator[Fault]:
    for each in taken:
        asked = plain_tolerations(each.wish.content.get("tolerations"))
        if plain_tolerations(each.result.get("tolerations")) != asked:
            yield Fault("field", f"tolerations of {each} are {each.result.get('tolerations')}, expected {asked}")
        expected = {
            "bindingConditions": each.spot.device.get("bindingConditions", []),
            "bindingFailureConditions": each.spot.device.get("bindingFailureConditions", []),
        }
        for field, value in expected.items():
            if each.result.get(field, []) != value:
                yield Fault("field", f"{field} of {each} is {each.result.get(field)}, expected {value}")
        if bool(each.result.get("adminAccess")) != each.wish.is_admin:
            yield Fault("field", f"adminAccess of {each} is wrong")
