"""Nodes that look the same are searched once, and whatever makes them look different is noticed."""

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    all_request,
    claim_spec,
    device,
    device_class,
    driver_class,
    match_attribute,
    quantities,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Chosen, Impossible
from dra_scheduling.allocation.allocator import allocate, fulfil, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Share, Source
from dra_scheduling.model.claims import ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.slices import (
    CapacityRequestPolicy,
    Counter,
    CounterSet,
    Device,
    DeviceCapacity,
    DeviceCounterConsumption,
    ResourceSlice,
)
from kube_cel.quantity import Quantity

CLASSES = {GPU_DRIVER: driver_class(GPU_DRIVER), "any": device_class("any")}
N1, N2 = NodePlace("n1", {}), NodePlace("n2", {})
ROOT = "resource.kubernetes.io/pcieRoot"
PAIRS = claim_spec(request("a", "any"), request("b", "any", count=2), constraints=[match_attribute(ROOT)])
PAIR = claim_spec(request(count=2))
PAIRS_OF_TWO = claim_spec(request("a", "any", count=2), constraints=[match_attribute(ROOT)])


def gpus(node: str, roots: str = "aabbb") -> ResourceSlice:
    content = [
        device(f"{node}-{number}", attributes={ROOT: root, "uuid": f"{node}-{number}"})
        for number, root in enumerate(roots)
    ]
    return resource_slice(node, content, node=node)


def amount(text: str) -> Quantity:
    return quantities({"": text})[""]


def index_of(*slices: ResourceSlice) -> PoolIndex:
    index = PoolIndex()
    for piece in slices:
        index.apply(piece)
    return index


def query_of(*specs: ResourceClaimSpec) -> ClaimQuery:
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(specs)]
    return ClaimQuery([claim for claim in parsed if isinstance(claim, ParsedClaim)])


def test_a_node_that_looks_like_another_costs_no_steps_and_gets_its_own_devices() -> None:
    index, ledger, query = index_of(gpus("n1"), gpus("n2")), Ledger(), query_of(PAIRS)
    first, second = (survey(query, node, index, ledger) for node in (N1, N2))
    assert first.steps > 0
    assert second.steps == 0
    found = fulfil(query, N2, index, ledger)
    assert isinstance(found, Allocated)
    assert [result.device for result in found.allocations[0].devices.results] == ["n2-2", "n2-3", "n2-4"]
    assert found.allocations == _allocated(query, N2, index, ledger).allocations


def _allocated(query: ClaimQuery, node: NodePlace, index: PoolIndex, ledger: Ledger) -> Allocated:
    found = allocate(query.claims, node, index, ledger)
    assert isinstance(found, Allocated)
    return found


def test_nodes_of_which_other_devices_are_free_look_the_same() -> None:
    index, ledger, query = index_of(gpus("n1", "aabb"), gpus("n2", "xxyy")), Ledger(), query_of(PAIRS_OF_TWO)
    ledger.hold(Source("claim", "c"), "c", [DeviceID(GPU_DRIVER, "n2", "n2-0"), DeviceID(GPU_DRIVER, "n1", "n1-3")])
    assert survey(query, N1, index, ledger).steps > 0
    assert survey(query, N2, index, ledger).steps > 0
    ledger.hold(Source("claim", "c"), "c", [DeviceID(GPU_DRIVER, "n2", "n2-0"), DeviceID(GPU_DRIVER, "n1", "n1-1")])
    assert survey(query, N1, index, ledger).steps == 0
    found = fulfil(query, N1, index, ledger)
    assert isinstance(found, Allocated)
    assert [result.device for result in found.allocations[0].devices.results] == ["n1-2", "n1-3"]


def test_values_that_agree_between_pools_look_different_from_others() -> None:
    nics = [
        resource_slice(f"{node}-nic", [device("nic", attributes={ROOT: "a"})], node=node, driver="nic.example.com")
        for node in ("n1", "n2")
    ]
    index = index_of(gpus("n1", "a"), gpus("n2", "b"), *nics)
    query = query_of(claim_spec(request("a", "any", count=2), constraints=[match_attribute(ROOT)]))
    assert isinstance(survey(query, N1, index, Ledger()), Chosen)
    assert isinstance(survey(query, N2, index, Ledger()), Impossible)


def test_a_device_that_is_taken_keeps_a_request_for_all_from_a_node_that_looks_the_same_without_it() -> None:
    index, ledger, query = index_of(gpus("n1", "a"), gpus("n2", "aa")), Ledger(), query_of(claim_spec(all_request()))
    ledger.hold(Source("claim", "c"), "c", [DeviceID(GPU_DRIVER, "n2", "n2-1")])
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    assert isinstance(survey(query, N2, index, ledger), Impossible)


def test_of_a_device_that_many_share_it_counts_how_much_a_request_takes() -> None:
    def on(name: str, least: str) -> ResourceSlice:
        memory = DeviceCapacity(value=amount("10"), request_policy=CapacityRequestPolicy(default=amount(least)))
        shared = replace(device("gpu"), allow_multiple_allocations=True, capacity={"memory": memory})
        return resource_slice(name, [shared], node=name)

    index, ledger = index_of(on("n1", "5"), on("n2", "6")), Ledger()
    query = query_of(claim_spec(request("a", GPU_DRIVER)), claim_spec(request("b", GPU_DRIVER)))
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    assert isinstance(survey(query, N2, index, ledger), Impossible)


def test_a_share_of_a_device_that_has_drawn_from_its_counters_looks_different() -> None:
    def on(name: str, whole: str) -> ResourceSlice:
        drawn = (DeviceCounterConsumption(counter_set="card", counters={"memory": Counter(value=amount("3"))}),)
        shared = replace(device("shared"), allow_multiple_allocations=True, consumes_counters=drawn)
        content = [shared, replace(device("part"), consumes_counters=drawn)]
        card = CounterSet(name="card", counters={"memory": Counter(value=amount(whole))})
        piece = resource_slice(name, content, node=name)
        return replace(piece, spec=replace(piece.spec, shared_counters=(card,)))

    index, ledger, query = index_of(on("n1", "6"), on("n2", "3")), Ledger(), query_of(PAIR)
    share = Share(DeviceID(GPU_DRIVER, "n1", "shared"), "s", ())
    ledger.hold(Source("claim", "c"), "c", [], [share])
    index.teach(PoolKey(GPU_DRIVER, "n1"), ledger)
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    assert isinstance(survey(query, N2, index, ledger), Impossible)


def test_devices_that_have_to_be_made_ready_come_last_on_each_node() -> None:
    def on(name: str, ready: int, others: int) -> list[ResourceSlice]:
        content = [device(f"{number}", attributes={ROOT: "a"}) for number in range(ready)]
        waiting = [
            replace(
                device(f"{number}", attributes={ROOT: "b"}),
                binding_conditions=("ok",),
                binding_failure_conditions=("no",),
            )
            for number in range(others)
        ]
        pools = ("b", "a") if ready > others else ("a", "b")
        return [
            resource_slice(f"{name}-{kind}", some, node=name, pool=f"{kind}-{name}")
            for kind, some in zip(pools, (content, waiting), strict=True)
        ]

    index, ledger, query = index_of(*on("n1", 2, 1), *on("n2", 1, 2)), Ledger(), query_of(PAIRS_OF_TWO)
    for node in (N1, N2):
        found = fulfil(query, node, index, ledger)
        assert isinstance(found, Allocated)
        assert found.allocations == _allocated(query, node, index, ledger).allocations


def test_groups_of_other_sizes_look_different() -> None:
    index, ledger, query = index_of(gpus("n1", "aabbb"), gpus("n2", "aabb")), Ledger(), query_of(PAIRS)
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    assert isinstance(survey(query, N2, index, ledger), Impossible)


def test_a_taken_device_looks_different_and_a_freed_one_the_same_again() -> None:
    index, ledger, query = index_of(gpus("n1")), Ledger(), query_of(PAIRS)
    source = Source("claim", "c")
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    ledger.hold(source, "c", [DeviceID(GPU_DRIVER, "n1", "n1-3")])
    assert isinstance(survey(query, N1, index, ledger), Impossible)
    ledger.release(source)
    again = survey(query, N1, index, ledger)
    assert isinstance(again, Chosen)
    assert again.steps == 0


DIFFERENCES: dict[str, Device] = {
    "tainted": replace(device("d"), taints=(Taint(key="k", effect="NoSchedule"),)),
    "of another attribute": device("d", attributes={"model": "other"}),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_devices_that_a_request_does_not_take_look_different(difference: str) -> None:
    wish = f'device.attributes["{GPU_DRIVER}"].model == "big"'
    plain = device("d", attributes={"model": "big"})
    index = index_of(
        resource_slice("n1", [plain], node="n1"), resource_slice("n2", [DIFFERENCES[difference]], node="n2")
    )
    query = query_of(claim_spec(request("r", GPU_DRIVER, wish)))
    assert isinstance(survey(query, N1, index, Ledger()), Chosen)
    assert isinstance(survey(query, N2, index, Ledger()), Impossible)


def test_a_share_taken_of_a_device_looks_different() -> None:
    shared = replace(device("d", capacity={"memory": "4"}), allow_multiple_allocations=True)
    index = index_of(*(resource_slice(node, [shared], node=node) for node in ("n1", "n2")))
    ledger, query = Ledger(), query_of(claim_spec(request()))
    assert isinstance(survey(query, N1, index, ledger), Chosen)
    share = Share(DeviceID(GPU_DRIVER, "n2", "d"), "s", ((f"{GPU_DRIVER}/memory", 1),))
    ledger.hold(Source("claim", "c"), "c", [], [share])
    assert isinstance(survey(query, N2, index, ledger), Impossible)


def test_a_node_with_a_broken_pool_says_so_itself() -> None:
    broken = [resource_slice(node, [], node=node) for node in ("n1", "n2")]
    broken = [
        replace(each, spec=replace(each.spec, pool=replace(each.spec.pool, resource_slice_count=2))) for each in broken
    ]
    index, query = index_of(*broken), query_of(claim_spec(request()))
    for node in (N1, N2):
        found = survey(query, node, index, Ledger())
        assert isinstance(found, Impossible)
        assert f"pool {GPU_DRIVER}/{node.name}: it is being updated" in found.refusal.details[0]
