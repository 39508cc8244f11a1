"""Every feature mixed in tiny worlds, against trying everything.

Worlds are written down in plain numbers. The oracle works on those numbers alone; only the allocator is given the API
objects that say the same.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from dra_builders.values import GPU_DRIVER, cel, claim_spec, device, device_class, pool, resource_slice
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.allocation.allocator import allocate, fulfil
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.features import COMPATIBILITY_GROUPS, DERIVED_ATTRIBUTES, LIST_ATTRIBUTES, Features
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Share, Source
from dra_scheduling.model.claims import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import Taint, Toleration
from dra_scheduling.model.slices import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    ResourceSlice,
)
from kube_cel.quantity import NANO_PER_UNIT, Quantity

FEATURES = Features.of(dict.fromkeys((LIST_ATTRIBUTES, DERIVED_ATTRIBUTES, COMPATIBILITY_GROUPS), True))
CLASSES = {"any": device_class("any")}
ATTRIBUTE = f"{GPU_DRIVER}/x"
TOTAL = 4
"""What every counter set and every shareable device has."""


class Thing(Struct, frozen=True, kw_only=True):
    """A device: its values of one attribute, what it draws from two counters, and what is peculiar about it.

    `groups` are its compatibility groups in the counter sets that it draws from.
    `used` is what others have: None for nothing, 0 for the device itself, more for a share of that size.
    """

    values: tuple[str, ...]
    drawn: tuple[int, int]
    groups: tuple[str, ...]
    is_shared: bool
    is_tainted: bool
    is_big: bool
    used: int | None


class Wanted(Struct, frozen=True, kw_only=True):
    """An alternative; a count of 0 stands for all, a size of 0 for no capacity request.

    Where it `derives`, the value of a device is `a` if it is big, else `b`.
    """

    count: int
    size: int
    wants_big: bool
    derives: bool
    tolerates: bool


class Asked(Struct, frozen=True):
    """A request: its alternatives, or one wish with or without admin access."""

    alternatives: tuple[Wanted, ...]
    is_admin: bool


class Claimed(Struct, frozen=True):
    """A claim: requests, and which of them must match or be distinct (None: no such rule)."""

    requests: tuple[Asked, ...]
    match: tuple[int, ...] | None
    distinct: tuple[int, ...] | None


class World(Struct, frozen=True):
    """The devices of one pool, and the claims of one pod."""

    things: tuple[Thing, ...]
    claims: tuple[Claimed, ...]


Choice = tuple[tuple[int, ...], ...]


def taken_by(thing: Thing, size: int) -> int | None:
    """What a request takes of a shareable device, None where it never can."""
    amount = size or TOTAL
    return amount if amount <= TOTAL else None


def meant(world: World, wish: Wanted) -> list[int]:
    """The devices that a wish is about, whoever has them."""
    return [
        number
        for number, thing in enumerate(world.things)
        if (thing.is_big or not wish.wants_big) and wish.size <= TOTAL
    ]


def options(world: World, wish: Wanted, *, is_admin: bool) -> list[tuple[int, ...]]:
    """The sets of devices that one wish could get if it were alone."""
    wanted = meant(world, wish)
    usable = [number for number in wanted if wish.tolerates or not world.things[number].is_tainted]
    if not is_admin:
        usable = [number for number in usable if _has_room(world.things[number], wish)]
    if wish.count:
        return list(itertools.combinations(usable, wish.count))
    return [tuple(wanted)] if wanted and usable == wanted else []


def _has_room(thing: Thing, wish: Wanted) -> bool:
    if thing.used is None:
        return True
    amount = taken_by(thing, wish.size)
    return thing.is_shared and thing.used > 0 and amount is not None and thing.used + amount <= TOTAL


def solutions(world: World) -> Iterator[tuple[tuple[int, ...], Choice]]:
    """Every choice of alternatives and devices that keeps all rules, the preferred one first."""
    asked = [request for claim in world.claims for request in claim.requests]
    for alternatives in itertools.product(*(range(len(request.alternatives)) for request in asked)):
        wishes = [request.alternatives[number] for request, number in zip(asked, alternatives, strict=True)]
        sets = [options(world, wish, is_admin=request.is_admin) for wish, request in zip(wishes, asked, strict=True)]
        order = sorted(range(len(asked)), key=lambda place: bool(wishes[place].count))
        for picked in itertools.product(*(sets[place] for place in order)):
            choice: list[tuple[int, ...]] = [()] * len(asked)
            for place, devices in zip(order, picked, strict=True):
                choice[place] = devices
            if is_possible(world, wishes, tuple(choice)):
                yield alternatives, tuple(choice)


def is_possible(world: World, wishes: list[Wanted], choice: Choice) -> bool:
    return (
        _fits_together(world, wishes, choice)
        and _draws_little_enough(world, choice)
        and _goes_together(world, choice)
        and _keeps_rules(world, wishes, choice)
    )


def _fits_together(world: World, wishes: list[Wanted], choice: Choice) -> bool:
    used = {number: thing.used or 0 for number, thing in enumerate(world.things) if thing.is_shared}
    dedicated: list[int] = []
    watched: list[tuple[int, int]] = []
    for (claim, request), wish, devices in zip(_asked(world), wishes, choice, strict=True):
        for number in devices:
            if request.is_admin:
                watched.append((claim, number))
            elif world.things[number].is_shared:
                used[number] += taken_by(world.things[number], wish.size) or 0
            else:
                dedicated.append(number)
    is_once = len(set(dedicated)) == len(dedicated) and len(set(watched)) == len(watched)
    return is_once and all(amount <= TOTAL for amount in used.values())


def _draws_little_enough(world: World, choice: Choice) -> bool:
    drawing = {number for number, thing in enumerate(world.things) if thing.used is not None}
    before = [sum(world.things[number].drawn[counter] for number in drawing) for counter in (0, 1)]
    for (_, request), devices in zip(_asked(world), choice, strict=True):
        drawing |= set() if request.is_admin else set(devices)
    after = [sum(world.things[number].drawn[counter] for number in drawing) for counter in (0, 1)]
    return all(now <= TOTAL or now == then for now, then in zip(after, before, strict=True))


def _goes_together(world: World, choice: Choice) -> bool:
    used = {number for number, thing in enumerate(world.things) if thing.used is not None}
    new: set[int] = set()
    for (_, request), devices in zip(_asked(world), choice, strict=True):
        new |= set() if request.is_admin else set(devices) - used
    for counter in (0, 1):
        drawing = [number for number in used | new if world.things[number].drawn[counter]]
        groups = [set(world.things[number].groups or ("none",)) for number in drawing]
        if new.intersection(drawing) and not set.intersection(*groups):
            return False
    return True


def _keeps_rules(world: World, wishes: list[Wanted], choice: Choice) -> bool:
    place = 0
    for claim in world.claims:
        found = [
            [_values(world.things[number], wish) for number in devices]
            for wish, devices in zip(wishes[place:], choice[place : place + len(claim.requests)], strict=False)
        ]
        place += len(claim.requests)
        if claim.match is not None:
            values = [each for index in claim.match for each in found[index]]
            if not set.intersection(*values):
                return False
        if claim.distinct is not None:
            values = [each for index in claim.distinct for each in found[index]]
            if not all(values) or any(one & other for one, other in itertools.combinations(values, 2)):
                return False
    return True


def _values(thing: Thing, wish: Wanted) -> set[str]:
    return {"a" if thing.is_big else "b"} if wish.derives else set(thing.values)


def _asked(world: World) -> list[tuple[int, Asked]]:
    return [(number, request) for number, claim in enumerate(world.claims) for request in claim.requests]


def device_of(number: int, thing: Thing) -> Device:
    plain = device(f"d{number}", capacity={"m": str(TOTAL)})
    attributes = {"x": DeviceAttribute(strings=thing.values)} if thing.values else {}
    attributes["big"] = DeviceAttribute(bool_=thing.is_big)
    drawn = tuple(
        DeviceCounterConsumption(
            counter_set=f"s{counter}",
            counters={"c": Counter(Quantity.from_int(amount))},
            compatibility_groups=thing.groups,
        )
        for counter, amount in enumerate(thing.drawn)
        if amount
    )
    return replace(
        plain,
        attributes=attributes,
        consumes_counters=drawn,
        allow_multiple_allocations=thing.is_shared,
        taints=(Taint(key="k", effect="NoSchedule"),) if thing.is_tainted else (),
    )


def slices_of(world: World) -> list[ResourceSlice]:
    home = pool("p", slices=2)
    counters = resource_slice("counters", node="n1", pool=home)
    sets = tuple(CounterSet(name=f"s{n}", counters={"c": Counter(Quantity.from_int(TOTAL))}) for n in (0, 1))
    content = [device_of(number, thing) for number, thing in enumerate(world.things)]
    return [
        replace(counters, spec=replace(counters.spec, shared_counters=sets)),
        resource_slice("devices", content, node="n1", pool=home),
    ]


def spec_of(claim: Claimed) -> ResourceClaimSpec:
    constraints = [
        DeviceConstraint(requests=tuple(f"r{index}" for index in scope), **{kind: ATTRIBUTE})
        for kind, scope in (("match_attribute", claim.match), ("distinct_attribute", claim.distinct))
        if scope is not None
    ]
    requests = [request_of(f"r{index}", asked) for index, asked in enumerate(claim.requests)]
    return claim_spec(*requests, constraints=constraints)


def request_of(name: str, asked: Asked) -> DeviceRequest:
    fields = [fields_of(wish) for wish in asked.alternatives]
    if len(fields) == 1:
        return DeviceRequest(name=name, exactly=ExactDeviceRequest(admin_access=asked.is_admin, **fields[0]))
    listed = tuple(DeviceSubRequest(name=f"s{number}", **each) for number, each in enumerate(fields))
    return DeviceRequest(name=name, first_available=listed)


def fields_of(wish: Wanted) -> dict[str, Any]:
    expression = f'device.attributes["{GPU_DRIVER}"].big'
    return {
        "device_class_name": "any",
        "selectors": cel(expression) if wish.wants_big else (),
        "allocation_mode": "ExactCount" if wish.count else "All",
        "count": wish.count,
        "tolerations": (Toleration(key="k", operator="Exists"),) if wish.tolerates else (),
        "derived_attributes": (DeviceDerivedAttribute(ATTRIBUTE, f'{expression} ? "a" : "b"'),) if wish.derives else (),
        "capacity": CapacityRequirements(requests={"m": Quantity.from_int(wish.size)}) if wish.size else None,
    }


def solved(world: World, warm: frozenset[DeviceID] = frozenset()) -> Allocated | Impossible | Exhausted:
    index, ledger = PoolIndex(FEATURES), Ledger(CoolingDown(warm))
    for piece in slices_of(world):
        index.apply(piece)
    for number, thing in enumerate(world.things):
        id_ = DeviceID(GPU_DRIVER, "p", f"d{number}")
        if thing.used is not None:
            shares = [Share(id_, "s", ((f"{GPU_DRIVER}/m", thing.used * NANO_PER_UNIT),))] if thing.used else []
            ledger.hold(Source("claim", f"d{number}"), f"d{number}", [] if thing.used else [id_], shares)
    claims = [parse_claim(f"c{number}", spec_of(claim), CLASSES, FEATURES) for number, claim in enumerate(world.claims)]
    parsed = [claim for claim in claims if isinstance(claim, ParsedClaim)]
    assert len(parsed) == len(claims)
    if warm:
        return fulfil(ClaimQuery(parsed), NodePlace("n1", {}), index, ledger)
    return allocate(parsed, NodePlace("n1", {}), index, ledger)


class CoolingDown(frozenset[DeviceID]):
    """Devices that somebody had a moment ago."""

    def start(self, device: DeviceID) -> None:
        raise AssertionError(f"{device} was let go")


THINGS = st.builds(
    Thing,
    values=st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("b", "c")]),
    drawn=st.sampled_from([(0, 0), (0, 0), (1, 0), (2, 0), (4, 0), (0, 2), (2, 2)]),
    groups=st.sampled_from([(), (), ("g",), ("h",), ("g", "h")]),
    is_shared=st.booleans(),
    is_tainted=st.sampled_from([False, False, True]),
    is_big=st.booleans(),
    used=st.sampled_from([None, None, None, 0, 1, 3]),
)
WISHES = st.builds(
    Wanted,
    count=st.sampled_from([1, 1, 1, 2, 2, 3, 0]),
    size=st.sampled_from([0, 0, 1, 2, 5]),
    wants_big=st.sampled_from([False, False, True]),
    derives=st.sampled_from([False, False, True]),
    tolerates=st.booleans(),
)
REQUESTS = st.one_of(
    st.builds(lambda wish, admin: Asked((wish,), admin), WISHES, st.sampled_from([False, False, False, True])),
    st.builds(lambda wishes: Asked(tuple(wishes), is_admin=False), st.lists(WISHES, min_size=2, max_size=2)),
)


@st.composite
def claims(draw: st.DrawFn) -> Claimed:
    """One or two requests, and rules over some of them."""
    requests = draw(st.lists(REQUESTS, min_size=1, max_size=2))
    scopes = st.none() | st.lists(st.sampled_from(range(len(requests))), min_size=1, unique=True).map(tuple)
    return Claimed(tuple(requests), draw(scopes), draw(scopes))


WORLDS = st.builds(
    World, st.lists(THINGS, max_size=4).map(tuple), st.lists(claims(), min_size=1, max_size=2).map(tuple)
)


@given(WORLDS)
def test_the_allocator_finds_the_preferred_choice_of_all_or_there_is_none(world: World) -> None:
    best = next(solutions(world), None)
    match solved(world):
        case Allocated(allocations=allocations):
            assert best is not None
            results = [result for allocation in allocations for result in allocation.devices.results]
            assert [(result.request, result.device) for result in results] == _results(world, *best)
        case Impossible():
            assert best is None
        case Exhausted():
            raise AssertionError("a tiny world used up the budget")


@given(WORLDS, st.sets(st.integers(0, 3), min_size=1))
def test_leaving_warm_devices_alone_keeps_every_rule_and_every_preference(world: World, warm: set[int]) -> None:
    best = next(solutions(world), None)
    found = solved(world, frozenset(DeviceID(GPU_DRIVER, "p", f"d{number}") for number in warm))
    if not isinstance(found, Allocated):
        assert best is None
        return
    assert best is not None
    results = [result for allocation in found.allocations for result in allocation.devices.results]
    given = [(result.request, result.device) for result in results]
    equals = (choice for alternatives, choice in solutions(world) if alternatives == best[0])
    assert given in [_results(world, best[0], choice) for choice in equals]


def _results(world: World, alternatives: tuple[int, ...], choice: Choice) -> list[tuple[str, str]]:
    return [
        (_name(request, alternative, index), f"d{number}")
        for (index, request), alternative, devices in zip(_named(world), alternatives, choice, strict=True)
        for number in devices
    ]


def _named(world: World) -> list[tuple[int, Asked]]:
    return [(index, request) for claim in world.claims for index, request in enumerate(claim.requests)]


def _name(request: Asked, alternative: int, index: int) -> str:
    return f"r{index}/s{alternative}" if len(request.alternatives) > 1 else f"r{index}"
