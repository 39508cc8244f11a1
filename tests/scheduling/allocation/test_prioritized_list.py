"""The order of alternatives, and what is learned from those that clash."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import (
    GPU_CLASS,
    GPU_DRIVER,
    cel,
    claim_spec,
    device,
    device_class,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.allocation.conflict_core import core
from dra_scheduling.allocation.prioritized_list import AlternativeOrder, Clash
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest

PATIENCE = 10_000
ROOT = "resource.kubernetes.io/pcieRoot"
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


def visited(counts: tuple[int, ...], forbidden: frozenset[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The first combination that is not forbidden, each forbidden one learned as it is met."""
    order = AlternativeOrder(counts, PATIENCE)
    choice = order.first()
    for _ in range(200):
        if choice is None or choice not in forbidden:
            return choice
        clash: Clash = {place: frozenset((chosen,)) for place, chosen in enumerate(choice)}
        choice = order.next({place: members for place, members in clash.items() if len(members) < counts[place]})
    raise AssertionError("the order does not end")


@given(COUNTS, st.data())
def test_the_first_combination_that_does_not_clash_is_found(counts: tuple[int, ...], data: st.DataObject) -> None:
    everything = list(itertools.product(*(range(count) for count in counts)))
    forbidden = data.draw(st.frozensets(st.sampled_from(everything)))
    expected = next((choice for choice in everything if choice not in forbidden), None)
    assert visited(counts, forbidden) == expected


def test_a_clash_of_few_requests_skips_all_combinations_that_contain_it() -> None:
    order = AlternativeOrder((2, 2, 2, 2), PATIENCE)
    assert order.first() == (0, 0, 0, 0)
    assert order.next({0: frozenset((0,)), 1: frozenset((0,))}) == (0, 1, 0, 0)
    assert order.next({1: frozenset((1,))}) == (1, 0, 0, 0)


def test_a_clash_without_requests_ends_it() -> None:
    order = AlternativeOrder((2, 2), PATIENCE)
    assert order.first() == (0, 0)
    assert order.next({}) is None


def test_what_is_learned_of_two_requests_holds_for_each_choice_of_a_third() -> None:
    order = AlternativeOrder((2, 2, 2), PATIENCE)
    assert order.next({0: frozenset((0,)), 2: frozenset((0, 1))}) is not None
    assert order.next({0: frozenset((1,)), 2: frozenset((0,))}) == (1, 0, 1)
    assert order.next({0: frozenset((1,)), 2: frozenset((1,))}) is None


def test_an_order_that_looks_at_too_many_clashes_ends_and_says_so() -> None:
    order = AlternativeOrder((2, 2, 2), 2)
    assert order.next({0: frozenset((0,)), 2: frozenset((0,))}) == (0, 0, 1)
    assert order.is_spent
    assert order.next({1: frozenset((0,))}) is None


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9)))
def test_the_core_of_a_failure_is_what_cannot_be_left_out(guilty: set[int], others: set[int]) -> None:
    assert core(sorted(guilty | others), lambda few: guilty <= set(few)) == tuple(sorted(guilty))


@given(st.lists(st.frozensets(st.integers(0, 5), min_size=1), min_size=1))
def test_the_core_of_a_failure_ends_as_early_as_any(failing: list[frozenset[int]]) -> None:
    found = core(range(6), lambda few: any(guilty <= set(few) for guilty in failing))
    assert frozenset(found) in failing
    assert max(found) == min(map(max, failing))


def test_many_requests_of_many_kinds_that_must_agree_find_the_combination_that_fits() -> None:
    kinds = range(8)
    board = [
        device(f"gpu-{root}-{kind}", attributes={"kind": kind, ROOT: str(root)}) for root in range(5) for kind in kinds
    ]
    of_kind = tuple(
        DeviceSubRequest(
            name=f"k{kind}",
            device_class_name=GPU_CLASS,
            selectors=cel(f"device.attributes['{GPU_DRIVER}'].kind == {kind}"),
        )
        for kind in kinds
    )
    wishes = [DeviceRequest(name=f"r{number}", first_available=of_kind) for number in kinds]
    spec = claim_spec(*wishes, constraints=[match_attribute(ROOT)])
    parsed = parse_claim("c", spec, {GPU_CLASS: driver_class()})
    assert isinstance(parsed, ParsedClaim)
    index = PoolIndex()
    index.apply(resource_slice("s", board, node="n1"))

    found = allocate([parsed], NodePlace("n1", {}), index, Ledger())

    assert isinstance(found, Allocated)
    assert [result.request for result in found.allocations[0].devices.results] == [f"r{kind}/k{kind}" for kind in kinds]


def test_alternatives_of_a_request_that_fits_are_not_told() -> None:
    either = tuple(DeviceSubRequest(name=name, device_class_name=GPU_CLASS) for name in ("a", "b"))
    spec = claim_spec(DeviceRequest(name="gpu", first_available=either), request("nic", "nic"))
    parsed = parse_claim("c", spec, {GPU_CLASS: driver_class(), "nic": device_class("nic", "false")})
    assert isinstance(parsed, ParsedClaim)
    index = PoolIndex()
    index.apply(resource_slice("s", [device("gpu-0")], node="n1"))

    found = allocate([parsed], NodePlace("n1", {}), index, Ledger())

    assert isinstance(found, Impossible)
    assert (found.refusal.message, found.refusal.details) == (
        'claim "c" request "nic" (class nic): no device matches',
        (),
    )
