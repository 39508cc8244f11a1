"""What is told of nodes that publish nothing, or nothing of the present generation."""

from collections.abc import Callable

import pytest

from dra_scheduling.allocation.allocation_outcomes import Impossible
from dra_scheduling.allocation.allocator import allocate, fulfil, known_answer, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.reasons import fold
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.testing import GPU_CLASS, claim_spec, driver_class, request, resource_slice

NO_MATCH = f'claim "c" request "gpu" (class {GPU_CLASS}): no device matches'
NOTHING_PUBLISHED = f"{NO_MATCH}, the node has published no ResourceSlices"
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


def gpu_query() -> ClaimQuery:
    parsed = parse_claim("c", claim_spec(request("gpu", GPU_CLASS)), {GPU_CLASS: driver_class()})
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
