"""The allocator against trying everything in tiny worlds: same verdict, the preferred choice, nothing left behind.

The oracle and the checker read the same API objects as the allocator and share no code with it beyond them.
"""

import itertools
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    all_request,
    claim_spec,
    device,
    device_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.model.claims import AllocationResult, ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import Device, ResourceSlice

ROOT = "resource.kubernetes.io/root"
NODE = "n1"
CLASSES = {
    "gpu": device_class("gpu", f'device.driver == "{GPU_DRIVER}"'),
    "nic": device_class("nic", f'device.driver == "{NIC_DRIVER}"'),
    "any": device_class("any"),
}
EXPRESSION = f'device.attributes["{GPU_DRIVER}"].model == "big"'
"""Fails at run time on devices without the attribute, which then do not match."""


class World(Struct, frozen=True):
    """Slices in reach of one node, devices that somebody has, and the claims of one pod."""

    slices: tuple[ResourceSlice, ...]
    taken: frozenset[DeviceID]
    claims: tuple[ResourceClaimSpec, ...]


Published = dict[DeviceID, Device]
Choice = tuple[tuple[DeviceID, ...], ...]
"""The devices of every request, claim after claim."""


def published(world: World) -> Published:
    """Every device in the order in which it is to be considered."""
    ordered = sorted(world.slices, key=lambda piece: (piece.spec.driver, piece.spec.pool.name, piece.metadata.name))
    return {
        DeviceID(piece.spec.driver, piece.spec.pool.name, content.name): content
        for piece in ordered
        for content in piece.spec.devices
    }


def matching(world: World, claim: int, number: int) -> list[DeviceID]:
    """The devices that a request selects, taken ones included."""
    exactly = world.claims[claim].devices.requests[number].exactly
    assert exactly is not None
    drivers = {"gpu": {GPU_DRIVER}, "nic": {NIC_DRIVER}, "any": {GPU_DRIVER, NIC_DRIVER}}[exactly.device_class_name]
    found = [(id_, content) for id_, content in published(world).items() if id_.driver in drivers]
    if exactly.selectors:
        found = [(id_, content) for id_, content in found if text(content, id_.driver, "model") == "big"]
    return [id_ for id_, _ in found]


def text(content: Device, driver: str, short: str) -> str | None:
    """A string attribute of the GPU driver's domain."""
    value = content.attributes.get(f"{GPU_DRIVER}/{short}")
    if value is None and driver == GPU_DRIVER:
        value = content.attributes.get(short)
    return value.string if value is not None else None


def choices(world: World) -> Iterator[Choice]:
    """Every way to serve all claims, the preferred one first."""
    options = []
    for index, claim in enumerate(world.claims):
        for number, asked in enumerate(claim.devices.requests):
            assert asked.exactly is not None
            selected = matching(world, index, number)
            free = [id_ for id_ in selected if id_ not in world.taken]
            if asked.exactly.mode == "All":
                options.append([tuple(selected)] if selected and free == selected else [])
            else:
                options.append(list(itertools.combinations(free, asked.exactly.wanted)))
    return (choice for choice in itertools.product(*options) if problem(world, choice) is None)


def problem(world: World, choice: Choice) -> str | None:
    """What is wrong with a choice, checked request by request and rule by rule."""
    devices = published(world)
    used = list(itertools.chain.from_iterable(choice))
    if len(set(used)) < len(used) or set(used) & world.taken:
        return "a device is used twice"
    remaining = iter(choice)
    for index, claim in enumerate(world.claims):
        given = {}
        for number, asked in enumerate(claim.devices.requests):
            mine = given[asked.name] = next(remaining)
            allowed = matching(world, index, number)
            assert asked.exactly is not None
            expected = len(allowed) if asked.exactly.mode == "All" else asked.exactly.wanted
            if not mine or len(mine) != expected or not set(mine) <= set(allowed):
                return f"request {asked.name} got {mine}"
        for rule in claim.devices.constraints:
            bound = itertools.chain.from_iterable(given[name] for name in rule.requests or given)
            values = {devices[id_].attributes.get(ROOT) for id_ in bound}
            if len(values) != 1 or None in values:
                return f"{ROOT} differs: {values}"
    return None


def choice_of(world: World, allocations: tuple[AllocationResult, ...]) -> Choice:
    """The choice that allocations describe."""
    return tuple(
        tuple(result.device_id for result in allocation.devices.results if result.request == asked.name)
        for claim, allocation in zip(world.claims, allocations, strict=True)
        for asked in claim.devices.requests
    )


DEVICES = st.builds(
    lambda root, model: {**({ROOT: root} if root is not None else {}), **({"model": model} if model else {})},
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from(["", "big", "small"]),
)
REQUESTS = st.builds(
    lambda class_name, expressions, count: (class_name, expressions, count),
    st.sampled_from(["gpu", "nic", "any"]),
    st.sampled_from([(), (), (EXPRESSION,)]),
    st.sampled_from([1, 1, 1, 2, 3, 0]),
)


@st.composite
def claim_specs(draw: st.DrawFn) -> ResourceClaimSpec:
    """One to three requests, and up to two rules over all or some of them."""
    asked = draw(st.lists(REQUESTS, min_size=1, max_size=3))
    names = [f"r{number}" for number in range(len(asked))]
    requests = [
        request(name, class_name, *expressions, count=count) if count else all_request(name, class_name, *expressions)
        for name, (class_name, expressions, count) in zip(names, asked, strict=True)
    ]
    scopes = draw(st.lists(st.lists(st.sampled_from(names), max_size=2, unique=True), max_size=2))
    return claim_spec(*requests, constraints=[match_attribute(ROOT, *scope) for scope in scopes])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to seven devices in up to three pools, and one or two claims."""
    slices = []
    for driver, pool, most in ((GPU_DRIVER, "a", 3), (GPU_DRIVER, "b", 2), (NIC_DRIVER, "a", 2)):
        attributes = draw(st.lists(DEVICES, max_size=most))
        content = [device(f"d{number}", attributes=each) for number, each in enumerate(attributes)]
        slices.append(resource_slice(f"{driver}-{pool}", content, driver=driver, pool=pool, node=NODE))
    everything = [
        DeviceID(piece.spec.driver, piece.spec.pool.name, content.name)
        for piece in slices
        for content in piece.spec.devices
    ]
    taken = draw(st.sets(st.sampled_from(everything), max_size=2)) if everything else set()
    claims = draw(st.lists(claim_specs(), min_size=1, max_size=2))
    return World(tuple(draw(st.permutations(slices))), frozenset(taken), tuple(claims))


def solved(world: World) -> Allocated | Impossible | Exhausted:
    index, ledger = PoolIndex(), Ledger()
    for piece in world.slices:
        index.apply(piece)
    ledger.hold(Source("claim", "other"), "other", sorted(world.taken))
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(world.claims)]
    claims = [claim for claim in parsed if isinstance(claim, ParsedClaim)]
    assert len(claims) == len(parsed)
    before = dict(ledger.held)
    result = allocate(claims, NodePlace(NODE, {}), index, ledger)
    assert dict(ledger.held) == before
    return result


@given(worlds())
def test_the_allocator_finds_the_preferred_choice_or_there_is_none(world: World) -> None:
    best = next(choices(world), None)
    match solved(world):
        case Allocated(allocations=allocations):
            assert choice_of(world, allocations) == best
        case Impossible():
            assert best is None
        case Exhausted():
            raise AssertionError("a tiny world used up the budget")


@given(worlds())
def test_every_allocation_passes_an_independent_check(world: World) -> None:
    result = solved(world)
    if isinstance(result, Allocated):
        assert problem(world, choice_of(world, result.allocations)) is None


@given(worlds(), st.data())
def test_the_order_in_which_slices_come_changes_nothing(world: World, data: st.DataObject) -> None:
    shuffled = World(tuple(data.draw(st.permutations(world.slices))), world.taken, world.claims)
    assert solved(shuffled) == solved(world)


@given(worlds())
def test_one_device_less_never_helps(world: World) -> None:
    free = [id_ for id_ in published(world) if id_ not in world.taken]
    wants_all = any(
        asked.exactly and asked.exactly.mode == "All" for spec in world.claims for asked in spec.devices.requests
    )
    if free and not wants_all and isinstance(solved(world), Impossible):
        poorer = World(world.slices, world.taken | {free[0]}, world.claims)
        assert isinstance(solved(poorer), Impossible)
