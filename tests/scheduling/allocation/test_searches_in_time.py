"""A search that time ends: nobody else is stopped by it, and what it did not find out is not taken for an answer."""

import random

import msgspec

from dra_builders.values import (
    GPU_DRIVER,
    claim,
    claim_spec,
    device,
    driver_class,
    match_attribute,
    node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Chosen, Exhausted, Impossible
from dra_scheduling.allocation.allocator import survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.allocation.prioritized_list import choose
from dra_scheduling.allocation.search import STEPS_PER_READING
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import by_clock, schedule
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest, ResourceClaimSpec
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.state.assignments import Assignment, OutOfBudget

N1 = NodePlace("n1", {})
GPUS = driver_class(GPU_DRIVER)
SIDES = (f"{GPU_DRIVER}/left", f"{GPU_DRIVER}/right")
LINKS = 14
"""A chain of so many devices, neighbours of one side in common, is not to be had; it takes 1,353 steps to know that."""


class Clock:
    """Goes on by a second with every reading."""

    def __init__(self, end: int) -> None:
        self.readings, self._end = 0, end

    def __call__(self) -> float:
        self.readings += 1
        return float(self.readings)

    def is_late(self) -> bool:
        return self() > self._end


def dominoes(on: str) -> ResourceSlice:
    dice = random.Random(1)
    content = [
        device(f"d{number}", attributes={side: f"{dice.randrange(5)}" for side in SIDES}) for number in range(16)
    ]
    return resource_slice(f"{on}-dominoes", content, node=on)


def chain(length: int) -> ResourceClaimSpec:
    links = [request(f"r{number}", GPU_DRIVER) for number in range(length)]
    rules = [match_attribute(SIDES[number % 2], f"r{number}", f"r{number + 1}") for number in range(length - 1)]
    return claim_spec(*links, constraints=rules)


def query_of(spec: ResourceClaimSpec) -> ClaimQuery:
    parsed = parse_claim("c", spec, {GPU_DRIVER: GPUS})
    assert isinstance(parsed, ParsedClaim)
    return ClaimQuery([parsed])


def index() -> PoolIndex:
    made = PoolIndex()
    made.apply(dominoes("n1"))
    return made


def test_a_long_search_ends_when_it_is_late() -> None:
    clock = Clock(end=3)
    found = survey(query_of(chain(LINKS)), N1, index(), Ledger(), is_late=clock.is_late)
    assert isinstance(found, Exhausted)
    assert found.is_late
    assert found.steps == 4 * STEPS_PER_READING


def test_what_it_says_does_not_depend_on_how_far_it_came() -> None:
    query = query_of(chain(LINKS))
    for end in (0, 2):
        found = survey(query, N1, index(), Ledger(), is_late=Clock(end).is_late)
        assert isinstance(found, Exhausted)
        assert found.refusal.message == 'claim "c": no answer in time'


def test_it_is_asked_again_what_it_did_not_find_out_in_time() -> None:
    query = query_of(chain(LINKS))
    assert isinstance(survey(query, N1, index(), Ledger(), is_late=Clock(end=0).is_late), Exhausted)
    assert isinstance(survey(query, N1, index(), Ledger()), Impossible)


def test_a_search_that_a_clock_does_not_end_takes_the_same_steps() -> None:
    spec = chain(LINKS)
    timed = survey(query_of(spec), N1, index(), Ledger(), is_late=Clock(end=99).is_late)
    assert timed == survey(query_of(spec), N1, index(), Ledger())


def test_a_short_search_does_not_read_the_clock() -> None:
    clock = Clock(end=0)
    assert isinstance(survey(query_of(chain(4)), N1, index(), Ledger(), is_late=clock.is_late), Chosen)
    assert clock.readings == 0


def test_the_clock_is_read_between_combinations_of_alternatives() -> None:
    wishes = tuple(DeviceSubRequest(name=f"a{count}", device_class_name=GPU_DRIVER, count=count) for count in (9, 5))
    query = query_of(claim_spec(*(DeviceRequest(name=f"r{number}", first_available=wishes) for number in range(3))))
    cut = survey(query, N1, index(), Ledger(), is_late=Clock(end=0).is_late)
    assert isinstance(cut, Exhausted)
    assert cut.is_late
    assert isinstance(survey(query, N1, index(), Ledger(), is_late=Clock(end=99).is_late), Chosen)


def answer(*bound: str, within: int) -> Chosen | Impossible | Exhausted:
    """What becomes of a chain whose last request has two alternatives, `first` and `second`, those bound to the chain.

    The chain cannot be had, but all of it except the last device.
    """
    spec = chain(LINKS)
    *links, last = spec.devices.requests
    *rules, rule = spec.devices.constraints
    wishes = tuple(DeviceSubRequest(name=name, device_class_name=GPU_DRIVER, count=1) for name in ("first", "second"))
    either = DeviceRequest(name=last.name, first_available=wishes)
    tied = msgspec.structs.replace(rule, requests=(rule.requests[0], *(f"{last.name}/{name}" for name in bound)))
    query = query_of(claim_spec(*links, either, constraints=[*rules, tied]))
    return choose(query, SearchSpace(index().on_node(N1), Ledger()), within)


def test_a_combination_that_is_not_decided_does_not_keep_one_that_fits_from_being_found() -> None:
    found = answer("first", within=2_000)
    assert isinstance(found, Chosen)
    assert found.choice == (*[0] * (LINKS - 1), 1)


def test_a_combination_that_was_passed_over_is_not_taken_for_impossible() -> None:
    assert isinstance(answer("first", "second", within=2_000), Exhausted)
    assert isinstance(answer("first", "second", within=10_000), Impossible)


def cluster() -> Cluster:
    made = Cluster()
    for value in (GPUS, node("n1"), node("n2"), dominoes("n1"), dominoes("n2")):
        made.apply(value)
    return made


def waiting(world: Cluster, name: str, length: int) -> Pod:
    item = pod(name, claims={"c": name})
    world.apply(msgspec.structs.replace(claim(name, owner=item), spec=chain(length)))
    world.apply(item)
    return item


def test_a_pod_whose_search_time_ends_stops_no_other_pod() -> None:
    world = cluster()
    pods = [waiting(world, "endless", LINKS), waiting(world, "quick", 4)]
    first, second = schedule(world, pods, by_clock(Clock(end=0))).outcomes
    assert isinstance(first, OutOfBudget)
    assert "no answer in time" in first.message
    assert isinstance(second, Assignment)


def test_a_node_whose_search_time_ended_is_searched_again_next_time() -> None:
    world = cluster()
    item = waiting(world, "endless", LINKS)
    (first,) = schedule(world, [item], by_clock(Clock(end=0))).outcomes
    (second,) = schedule(world, [item]).outcomes
    assert isinstance(first, OutOfBudget)
    assert not isinstance(second, OutOfBudget)


def test_selectors_are_put_to_devices_as_long_as_there_is_time_and_to_the_others_next_time() -> None:
    made = PoolIndex()
    made.apply(resource_slice("s", [device(f"d{n}", attributes={"number": n}) for n in range(1_000)]))
    number = f'device.attributes["{GPU_DRIVER}"].number'
    query = query_of(claim_spec(*(request(f"r{n}", GPU_DRIVER, f"{number} > {n}") for n in range(8))))
    answers = [survey(query, N1, made, Ledger(), is_late=Clock(end=10).is_late) for _ in range(3)]
    assert [type(found) for found in answers] == [Exhausted, Exhausted, Chosen]
    assert isinstance(answers[0], Exhausted)
    assert answers[0].refusal.message == 'claim "c": no answer in time'
