"""What is told of nodes that publish nothing, or nothing of the present generation."""

from collections.abc import Callable

import pytest

from dra_builders.values import (
    GPU_CLASS,
    GPU_DRIVER,
    NIC_DRIVER,
    all_request,
    claim_spec,
    devices,
    driver_class,
    pool,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Impossible
from dra_scheduling.allocation.allocator import allocate, fulfil, known_answer, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.reasons import fold
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import DeviceRequest
from dra_scheduling.model.slices import ResourceSlice

NO_MATCH = f'claim "c" request "gpu" (class {GPU_CLASS}): no device matches'
NOTHING_PUBLISHED = f"{NO_MATCH}, the node has published no ResourceSlices"
GPU = request("gpu", GPU_CLASS)
Ask = Callable[[ClaimQuery, NodePlace, PoolIndex], object]
WAYS: dict[str, Ask] = {
    "allocate": lambda query, node, index: allocate(query.claims, node, index, Ledger()),
    "survey": lambda query, node, index: survey(query, node, index, Ledger()),
    "fulfil": lambda query, node, index: fulfil(query, node, index, Ledger()),
    "known answer": lambda query, node, index: known_answer(query, node, index, Ledger()),
}


def index_of(*slices: ResourceSlice) -> PoolIndex:
    index = PoolIndex()
    for one in slices:
        index.apply(one)
    return index


def gpu_query(wanted: DeviceRequest = GPU) -> ClaimQuery:
    parsed = parse_claim("c", claim_spec(wanted), {GPU_CLASS: driver_class()})
    assert isinstance(parsed, ParsedClaim)
    return ClaimQuery((parsed,))


def told(answer: object) -> str:
    assert isinstance(answer, Impossible)
    (reason,) = fold([answer.refusal])
    return reason.message


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_a_node_that_has_published_no_slices_says_so_and_one_with_an_empty_slice_does_not(ask: Ask) -> None:
    query, index = gpu_query(), index_of(resource_slice("empty", node="n2"))
    for name in ("n1", "n2"):
        survey(query, NodePlace(name, {}), index, Ledger())

    said = [told(ask(query, NodePlace(name, {}), index)) for name in ("n1", "n2", "n3")]

    assert said == [NOTHING_PUBLISHED, NO_MATCH, NOTHING_PUBLISHED]


def test_nodes_without_slices_are_told_together() -> None:
    query, index = gpu_query(), index_of()
    answers = [survey(query, NodePlace(name, {}), index, Ledger()) for name in ("n1", "n2")]

    folded = fold([answer.refusal for answer in answers if isinstance(answer, Impossible)])

    assert [(reason.nodes, reason.message) for reason in folded] == [(2, NOTHING_PUBLISHED)]


def test_a_node_stops_saying_so_with_its_first_slice() -> None:
    query, index = gpu_query(), index_of()
    before = told(survey(query, NodePlace("n1", {}), index, Ledger()))
    index.apply(resource_slice("empty", node="n1"))

    assert (before, told(survey(query, NodePlace("n1", {}), index, Ledger()))) == (NOTHING_PUBLISHED, NO_MATCH)


def former(name: str, node: str, generation: int, driver: str = GPU_DRIVER) -> ResourceSlice:
    return resource_slice(name, devices(1), node=node, pool=pool("p", generation=generation), driver=driver)


@pytest.mark.parametrize("ask", list(WAYS.values())[:-1], ids=list(WAYS)[:-1])
@pytest.mark.parametrize("wanted", [GPU, all_request()], ids=["some", "all"])
def test_a_newer_generation_that_was_seen_elsewhere_is_named(ask: Ask, wanted: DeviceRequest) -> None:
    index = index_of(former("a", "n1", 1), former("b", "n2", 3), former("c", "n3", 4))
    query = gpu_query(wanted)

    said = [told(ask(query, NodePlace(name, {}), index)) for name in ("n1", "n2")]

    assert said == [
        f"{NO_MATCH} (pool {GPU_DRIVER}/p: its slices for this node are of generation {older}, "
        "generation 4 is published for other nodes)"
        for older in (1, 3)
    ]


def test_a_newer_generation_of_another_driver_is_not_named() -> None:
    index = index_of(former("a", "n1", 1, NIC_DRIVER), former("b", "n2", 2, NIC_DRIVER))

    assert told(survey(gpu_query(), NodePlace("n1", {}), index, Ledger())) == NO_MATCH


def test_a_newer_generation_elsewhere_is_told_of_no_node_that_has_one_of_its_slices() -> None:
    empty = resource_slice("e", node="n1", pool=pool("p", generation=2, slices=2))
    index = index_of(
        former("a", "n1", 1), empty, resource_slice("b", node="n2", pool=pool("p", generation=2, slices=2))
    )

    assert told(survey(gpu_query(), NodePlace("n1", {}), index, Ledger())) == NO_MATCH


def test_a_request_for_all_devices_does_not_wait_for_a_generation_that_is_for_other_nodes() -> None:
    own = resource_slice("own", devices(2), node="n1")
    index = index_of(own, former("a", "n1", 1), former("b", "n2", 2))

    found = fulfil(gpu_query(all_request()), NodePlace("n1", {}), index, Ledger())

    assert isinstance(found, Allocated)
    assert len(found.allocations[0].devices.results) == 2


def test_the_newer_generation_is_told_no_more_once_the_node_has_it() -> None:
    query, index = gpu_query(), index_of(former("a", "n1", 1), former("b", "n2", 2))
    before = told(survey(query, NodePlace("n1", {}), index, Ledger()))
    index.remove("b")

    assert "generation 2" in before
    assert isinstance(fulfil(query, NodePlace("n1", {}), index, Ledger()), Allocated)
