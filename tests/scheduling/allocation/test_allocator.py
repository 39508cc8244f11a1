"""Devices for the claims of a pod on one node, or the reason why not."""

import itertools

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    all_request,
    claim_spec,
    device,
    device_class,
    devices,
    driver_class,
    labelled,
    match_attribute,
    on_node,
    per_device_slice,
    pool,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.reasons import ClusterEvent, Refusal, fold
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.model.claims import DeviceClaimConfiguration, DeviceRequest, ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import NodeSelector, Toleration
from dra_scheduling.model.slices import Device, DeviceCounterConsumption, OpaqueDeviceConfiguration, ResourceSlice

N1 = NodePlace("n1", {"zone": "a"})
N2 = NodePlace("n2", {"zone": "b"})
CLASSES = {
    GPU_DRIVER: driver_class(GPU_DRIVER),
    NIC_DRIVER: driver_class(NIC_DRIVER),
    "any": device_class("any"),
}
SIZE = f'device.attributes["{GPU_DRIVER}"].size'
ROOT = "resource.kubernetes.io/pcieRoot"


class World:
    """Slices, a ledger, and claims to be allocated."""

    def __init__(
        self,
        *slices: ResourceSlice,
        taken: tuple[DeviceID, ...] = (),
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self.pools = PoolIndex(features)
        self.ledger = Ledger()
        for piece in slices:
            self.pools.apply(piece)
        self.ledger.hold(Source("claim", "other"), "other", taken)

    def solve(
        self, *specs: ResourceClaimSpec, node: NodePlace = N1, budget: int = 10_000
    ) -> Allocated | Impossible | Exhausted:
        claims = []
        for number, spec in enumerate(specs):
            claim = parse_claim(f"c{number}", spec, CLASSES)
            assert isinstance(claim, ParsedClaim), claim
            claims.append(claim)
        return allocate(claims, node, self.pools, self.ledger, budget)

    def given(self, *specs: ResourceClaimSpec, node: NodePlace = N1) -> list[list[str]]:
        """The names of the devices of every claim."""
        result = self.solve(*specs, node=node)
        assert isinstance(result, Allocated), result
        return [[entry.device for entry in each.devices.results] for each in result.allocations]

    def refusal(self, *specs: ResourceClaimSpec, node: NodePlace = N1) -> Refusal:
        result = self.solve(*specs, node=node)
        assert isinstance(result, Impossible), result
        return result.refusal

    def says(self, *specs: ResourceClaimSpec, node: NodePlace = N1) -> str:
        """What a person reads when this node is the only one."""
        (reason,) = fold([self.refusal(*specs, node=node)])
        return reason.message

    def selector(self, *requests: str) -> NodeSelector | None:
        result = self.solve(claim_spec(*(request(f"r{number}", "any", text) for number, text in enumerate(requests))))
        assert isinstance(result, Allocated), result
        return result.allocations[0].node_selector


def gpus(count: int, node: str = "n1") -> ResourceSlice:
    return resource_slice(f"gpus-{node}", devices(count), node=node)


def sized(*sizes: int) -> ResourceSlice:
    content = [device(f"size-{size}", attributes={"size": size}) for size in sizes]
    return resource_slice("gpus", content, node="n1")


def at_least(size: int, name: str = "gpu") -> ResourceClaimSpec:
    return claim_spec(request(name, GPU_DRIVER, f"{SIZE} >= {size}"))


def gpu(name: str, node: str = "n1") -> DeviceID:
    return DeviceID(GPU_DRIVER, node, name)


def rooted(prefix: str, driver: str, roots: str) -> ResourceSlice:
    """Devices with a PCIe root each, one letter a device."""
    content = [device(f"{prefix}{number}", attributes={ROOT: root}) for number, root in enumerate(roots)]
    return resource_slice(prefix, content, driver=driver, node="n1")


def test_the_first_free_device_in_order_is_given() -> None:
    world = World(gpus(3), taken=(gpu("gpu-0"),))
    result = world.solve(claim_spec(request()))
    assert isinstance(result, Allocated)
    (allocation,) = result.allocations
    assert [entry.device_id for entry in allocation.devices.results] == [gpu("gpu-1")]
    assert [entry.request for entry in allocation.devices.results] == ["gpu"]
    assert result.free_left == 1


def test_devices_of_another_node_are_out_of_reach() -> None:
    world = World(gpus(1, "n1"), gpus(1, "n2"))
    assert world.given(claim_spec(request()), node=N2) == [["gpu-0"]]
    assert "needs 2 matching free devices" in world.says(claim_spec(request(count=2)))


def test_a_request_may_take_devices_of_several_slices_and_pools() -> None:
    world = World(
        resource_slice("b", [device("b0")], node="n1", pool=pool("p", slices=2)),
        resource_slice("a", [device("a0")], node="n1", pool=pool("p", slices=2)),
        resource_slice("c", [device("c0")], node="n1", pool="q"),
    )
    assert world.given(claim_spec(request(count=3))) == [["a0", "b0", "c0"]]


def test_results_are_listed_in_the_order_of_requests() -> None:
    world = World(gpus(3), resource_slice("nics", [device("nic")], driver=NIC_DRIVER, node="n1"))
    result = world.solve(claim_spec(request("b", count=2), all_request("a", NIC_DRIVER), request("c")))
    assert isinstance(result, Allocated)
    assert [entry.request for entry in result.allocations[0].devices.results] == ["b", "b", "a", "c"]


def test_claims_of_one_pod_never_share_a_device() -> None:
    assert World(gpus(2)).given(claim_spec(request()), claim_spec(request())) == [["gpu-0"], ["gpu-1"]]


def test_a_pod_without_requests_gets_empty_allocations() -> None:
    assert World().given(claim_spec()) == [[]]
    assert World().given() == []


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2))))
def test_requests_are_exchanged_where_the_larger_device_comes_first(order: tuple[int, int]) -> None:
    world = World(sized(2, 1))
    one_claim = claim_spec(*(request(f"r{size}", GPU_DRIVER, f"{SIZE} >= {size}") for size in order))
    assert world.given(one_claim) == [[f"size-{size}" for size in order]]
    assert world.given(*(at_least(size) for size in order)) == [[f"size-{size}"] for size in order]


def test_a_failing_selector_means_that_the_device_does_not_match_and_is_shown() -> None:
    world = World(resource_slice("gpus", [device("old"), device("new", attributes={"size": 1})], node="n1"))
    assert world.given(at_least(1)) == [["new"]]
    assert world.says(claim_spec(request("gpu", GPU_DRIVER, f"{SIZE} >= 1", count=2))) == (
        f'claim "c0" request "gpu" (class gpu.example.com, selector {SIZE} >= 1): needs 2 matching free devices '
        "(at most 1 free; selector 1 of the request failed on 1 device: no such key: size)"
    )


def test_a_class_that_looks_at_the_driver_keeps_foreign_devices_from_the_request_selector() -> None:
    world = World(resource_slice("nics", devices(1), driver=NIC_DRIVER, node="n1"))
    says = f'claim "c0" request "gpu" (class gpu.example.com, selector {SIZE} >= 1): no device matches'
    assert world.says(at_least(1)) == says


@pytest.mark.parametrize(
    ("requests", "given"),
    [
        ([all_request()], [["gpu-0", "gpu-1", "gpu-2"]]),
        (
            [request("one", "any", f'device.driver == "{NIC_DRIVER}"'), all_request()],
            [["nic", "gpu-0", "gpu-1", "gpu-2"]],
        ),
    ],
)
def test_all_takes_every_matching_device(requests: list[DeviceRequest], given: list[list[str]]) -> None:
    world = World(gpus(3), resource_slice("nics", [device("nic")], driver=NIC_DRIVER, node="n1"))
    assert world.given(claim_spec(*requests)) == given


@pytest.mark.parametrize(
    "order", list(itertools.permutations([claim_spec(all_request()), claim_spec(request("x", "any"))]))
)
def test_all_leaves_other_requests_what_it_does_not_match(order: tuple[ResourceClaimSpec, ...]) -> None:
    world = World(gpus(2), resource_slice("nics", [device("nic")], driver=NIC_DRIVER, node="n1"))
    assert sorted(world.given(*order)) == [["gpu-0", "gpu-1"], ["nic"]]


@pytest.mark.parametrize("order", list(itertools.permutations([claim_spec(all_request()), claim_spec(request())])))
def test_all_shares_its_devices_with_nobody(order: tuple[ResourceClaimSpec, ...]) -> None:
    assert "need 3 matching free devices together (at most 2 free)" in World(gpus(2)).says(*order)


def test_all_needs_every_matching_device_to_be_free() -> None:
    world = World(gpus(4), taken=(gpu("gpu-2"),))
    assert world.says(claim_spec(all_request())) == (
        'claim "c0" request "gpu" (class gpu.example.com): wants all matching devices, and some of them are taken '
        "(at most 3 of 4 free)"
    )
    world.ledger.release(Source("claim", "other"))
    assert len(world.given(claim_spec(all_request()))[0]) == 4


def test_all_of_nothing_is_refused() -> None:
    assert World().says(claim_spec(all_request())).endswith("matches, the node has published no ResourceSlices")
    assert World(resource_slice("empty", node="n1")).says(claim_spec(all_request())).endswith("no device matches")


def updating(node: str, *content: Device, driver: str = GPU_DRIVER) -> ResourceSlice:
    return resource_slice(
        f"{driver}-{node}-new", content, driver=driver, node=node, pool=pool(node, generation=2, slices=2)
    )


def test_a_pool_that_is_being_updated_serves_nobody_and_says_so() -> None:
    world = World(gpus(2), updating("n1", device("gpu-0")))
    assert world.says(claim_spec(request())) == (
        'claim "c0" request "gpu" (class gpu.example.com): no device matches '
        "(pool gpu.example.com/n1: it is being updated, 1 of 2 slices of generation 2 seen)"
    )
    assert "a pool that may hold some is not usable" in world.says(claim_spec(all_request()))


def test_all_is_served_by_the_new_generation_once_it_is_complete() -> None:
    world = World(gpus(2), updating("n1", device("new-0")))
    world.pools.apply(resource_slice("gpus-n1", [device("new-1")], node="n1", pool=pool("n1", generation=2, slices=2)))
    assert world.given(claim_spec(all_request())) == [["new-0", "new-1"]]


def test_another_nodes_broken_pool_does_not_disturb_all() -> None:
    world = World(gpus(2), updating("n2", device("gpu-0")))
    assert world.given(claim_spec(all_request())) == [["gpu-0", "gpu-1"]]


def test_a_foreign_drivers_broken_pool_does_not_disturb_all() -> None:
    world = World(gpus(2), updating("n1", device("nic"), driver=NIC_DRIVER), updating("n1", driver="third.example.com"))
    assert world.given(claim_spec(all_request())) == [["gpu-0", "gpu-1"]]


def test_a_broken_pool_without_visible_devices_stands_in_the_way_of_all_if_its_driver_could_serve() -> None:
    world = World(resource_slice("others", devices(1), node="n1", pool="p"), updating("n1"))
    assert world.refusal(claim_spec(all_request())).reason == "PoolNotUsable"


def test_an_invalid_pool_harms_no_other_pool() -> None:
    twice = resource_slice("twice", [device("x"), device("x")], node="n1", pool="invalid")
    assert World(gpus(1), twice).given(claim_spec(request())) == [["gpu-0"]]
    assert "two devices called x" in World(twice).says(claim_spec(request()))


@pytest.mark.parametrize(
    ("asked", "is_fine"),
    [
        ([request(count=32)], True),
        ([request("a", count=20), request("b", count=12)], True),
        ([all_request("a", "any", f"{SIZE} < 30"), request("b", count=2)], True),
        ([all_request("a", "any", f"{SIZE} < 30"), request("b", count=3)], False),
        ([all_request("a", "any", f"{SIZE} < 32")], True),
        ([all_request("a", "any", f"{SIZE} < 33")], False),
    ],
)
def test_thirty_two_devices_a_claim_are_the_limit(asked: list[DeviceRequest], *, is_fine: bool) -> None:
    world = World(sized(*range(40)))
    if is_fine:
        assert 31 <= len(world.given(claim_spec(*asked))[0]) <= 32
    else:
        assert "needs 33 devices, a claim holds at most 32" in world.says(claim_spec(*asked))


def test_the_limit_is_for_each_claim_and_not_for_the_pod() -> None:
    world = World(sized(*range(40)))
    assert [len(each) for each in world.given(claim_spec(request(count=32)), claim_spec(request(count=8)))] == [32, 8]


def test_matching_devices_have_one_value() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "abab"))
    spec = claim_spec(request(count=2), constraints=[match_attribute(ROOT)])
    assert world.given(spec) == [["gpu0", "gpu2"]]


def test_a_short_name_is_the_drivers_own_attribute() -> None:
    content = [device("a", attributes={"numa": 0}), device("b", attributes={f"{GPU_DRIVER}/numa": 0})]
    world = World(resource_slice("gpus", content, node="n1"))
    spec = claim_spec(request(count=2), constraints=[match_attribute(f"{GPU_DRIVER}/numa")])
    assert world.given(spec) == [["a", "b"]]
    foreign = claim_spec(request(count=2), constraints=[match_attribute("other.example/numa")])
    assert "no matching free device has attribute other.example/numa" in world.says(foreign)


def test_values_of_different_kinds_are_different() -> None:
    content = [
        device("a", attributes={ROOT: 1}),
        device("b", attributes={ROOT: True}),
        device("c", attributes={ROOT: "1"}),
    ]
    world = World(resource_slice("gpus", content, node="n1"))
    spec = claim_spec(request(count=2), constraints=[match_attribute(ROOT)])
    assert "needs 2 free devices with one" in world.says(spec)


def test_the_proof_names_the_largest_group() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "a" * 8 + "b" * 8))
    spec = claim_spec(request(count=9), constraints=[match_attribute(ROOT)])
    assert world.says(spec) == (
        'claim "c0" request "gpu" (class gpu.example.com): needs 9 free devices with one '
        "resource.kubernetes.io/pcieRoot (the largest free group has 8)"
    )


def test_a_rule_over_named_requests_leaves_the_others_free() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "abb"))
    spec = claim_spec(request("x"), request("y"), request("z"), constraints=[match_attribute(ROOT, "x", "z")])
    assert world.given(spec) == [["gpu1", "gpu0", "gpu2"]]


def pairs(count: int) -> list[ResourceClaimSpec]:
    spec = claim_spec(request("gpu"), request("nic", NIC_DRIVER), constraints=[match_attribute(ROOT)])
    return [spec] * count


def test_each_pair_of_devices_shares_a_root_even_if_the_first_choice_has_no_partner() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "aabbccdd"), rooted("nic", NIC_DRIVER, "dbca"))
    assert world.given(*pairs(4)) == [["gpu0", "nic3"], ["gpu2", "nic1"], ["gpu4", "nic2"], ["gpu6", "nic0"]]


def test_a_fifth_pair_is_impossible_though_devices_of_one_kind_are_free() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "aabbccdd"), rooted("nic", NIC_DRIVER, "dbca"))
    assert "need 5 matching free devices together (at most 4 free)" in world.says(*pairs(5))


def test_pairs_that_no_root_can_serve_are_refused_with_the_attribute() -> None:
    without = resource_slice("nic", devices(2), driver=NIC_DRIVER, node="n1")
    assert World(rooted("gpu", GPU_DRIVER, "ab"), without).says(*pairs(1)) == (
        'claim "c0" request "nic" (class nic.example.com): no matching free device has attribute '
        "resource.kubernetes.io/pcieRoot, which a constraint compares"
    )
    apart = World(rooted("gpu", GPU_DRIVER, "ab"), rooted("nic", NIC_DRIVER, "cd"))
    assert 'claim "c0" requests "gpu", "nic": need 2 free devices with one' in apart.says(*pairs(1))


def test_pairs_compete_for_the_roots_that_have_both() -> None:
    world = World(rooted("gpu", GPU_DRIVER, "abc"), rooted("nic", NIC_DRIVER, "aab"))
    assert world.says(*pairs(3)) == (
        'claims "c0", "c1" and 1 more: need 3 sets of free devices with one resource.kubernetes.io/pcieRoot each '
        "(the free devices form at most 2)"
    )


def crossed() -> tuple[World, ResourceClaimSpec]:
    """Devices that agree in the root or in the NUMA node, never in both."""
    places = {"gpu0": ("a", 0), "gpu1": ("b", 1), "nic0": ("a", 1), "nic1": ("b", 0)}
    content = [device(name, attributes={ROOT: root, "x/numa": numa}) for name, (root, numa) in places.items()]
    world = World(
        resource_slice("gpus", content[:2], node="n1"),
        resource_slice("nics", content[2:], node="n1", driver=NIC_DRIVER),
    )
    rules = [match_attribute(ROOT), match_attribute("x/numa")]
    return world, claim_spec(request("gpu"), request("nic", NIC_DRIVER), constraints=rules)


def test_when_everything_was_tried_the_refusal_says_so() -> None:
    world, spec = crossed()
    result = world.solve(spec)
    assert isinstance(result, Impossible)
    assert result.refusal.message == (
        'claim "c0": no choice of free devices meets all requests and constraints at once'
    )
    assert result.steps == 2


def test_a_search_out_of_budget_is_no_answer() -> None:
    world, spec = crossed()
    result = world.solve(spec, budget=1)
    assert isinstance(result, Exhausted)
    assert result.steps == 1
    assert "no answer after 1 search steps" in result.refusal.message


def test_the_ledger_is_left_as_it_was() -> None:
    world = World(gpus(2), taken=(gpu("gpu-0"),))
    before = dict(world.ledger.held)
    world.solve(claim_spec(request()))
    world.solve(claim_spec(request(count=2)))
    assert dict(world.ledger.held) == before


def test_a_device_that_a_claim_names_is_taken_even_while_it_is_not_published() -> None:
    world = World(taken=(gpu("gpu-1"),))
    world.pools.apply(gpus(2))
    assert world.given(claim_spec(request())) == [["gpu-0"]]


def test_a_freed_device_is_given_again() -> None:
    world = World(gpus(1), taken=(gpu("gpu-0"),))
    assert "needs 1 matching free device (at most 0 free)" in world.says(claim_spec(request()))
    world.ledger.release(Source("claim", "other"))
    assert world.given(claim_spec(request())) == [["gpu-0"]]


NEEDY = {
    "DRAPartitionableDevices": replace(device("x"), consumes_counters=(DeviceCounterConsumption(counter_set="s"),)),
    "DRAConsumableCapacity": replace(device("x"), allow_multiple_allocations=True),
    "DRADeviceBindingConditions": replace(device("x"), binding_conditions=("Ready",)),
}


@pytest.mark.parametrize("gate", NEEDY)
def test_a_device_that_needs_a_feature_that_is_off_is_left_out_and_counted(gate: str) -> None:
    content = resource_slice("s", [NEEDY[gate], device("plain")], node="n1")
    world = World(content, features=DEFAULT_FEATURES.without(gate))
    assert world.given(claim_spec(request())) == [["plain"]]
    left_out = f"1 matching device left out, feature {gate} is off"
    assert f"(at most 1 free; {left_out})" in world.says(claim_spec(request(count=2)))
    assert left_out in world.says(claim_spec(all_request()))


def test_configuration_and_tolerations_are_carried_into_the_allocation() -> None:
    opaque = OpaqueDeviceConfiguration(driver=GPU_DRIVER, parameters={"sharing": "none"})
    toleration = Toleration(key="k", operator="Exists")
    asked = request()
    assert asked.exactly is not None
    asked = replace(asked, exactly=replace(asked.exactly, tolerations=(toleration,)))
    result = World(gpus(1)).solve(claim_spec(asked, config=[DeviceClaimConfiguration(opaque=opaque)]))
    assert isinstance(result, Allocated)
    (allocation,) = result.allocations
    assert [entry.opaque for entry in allocation.devices.config] == [opaque]
    assert allocation.devices.results[0].tolerations == (toleration,)


def test_a_device_of_one_node_pins_the_allocation_to_it() -> None:
    world = World(gpus(1), resource_slice("wide", [device("wide")], driver=NIC_DRIVER))
    assert world.selector("true", f'device.driver == "{NIC_DRIVER}"') == on_node("n1")


def test_a_device_that_every_node_reaches_pins_nothing() -> None:
    assert World(resource_slice("wide", devices(1))).selector("true") is None


def test_a_device_that_binds_to_its_node_pins_the_allocation() -> None:
    binding = replace(device("x"), binds_to_node=True)
    assert World(resource_slice("s", [binding], selector=labelled(zone="a"))).selector("true") == on_node("n1")


def test_selectors_of_several_devices_are_united_without_repetition() -> None:
    world = World(
        resource_slice("a", devices(2), selector=labelled(zone="a")),
        resource_slice("b", devices(1), selector=labelled(zone="a", planet="earth"), driver=NIC_DRIVER),
    )
    place = NodePlace("n1", {"zone": "a", "planet": "earth"})
    result = world.solve(claim_spec(request(count=2), request("nic", NIC_DRIVER)), node=place)
    assert isinstance(result, Allocated)
    assert result.allocations[0].node_selector == labelled(zone="a", planet="earth")


def test_a_device_may_bring_its_own_place() -> None:
    content = [
        replace(device("zoned", attributes={"size": 1}), node_selector=labelled(zone="a")),
        replace(device("named", attributes={"size": 2}), node_name="n1"),
    ]
    world = World(per_device_slice("s", content))
    assert world.selector(f"{SIZE} == 1") == labelled(zone="a")
    assert world.selector(f"{SIZE} == 2") == on_node("n1")


def test_a_refusal_for_taken_devices_wakes_the_pod_when_devices_or_slices_change() -> None:
    wake = World(gpus(1)).refusal(claim_spec(request(count=2))).wake
    assert wake & ClusterEvent.DEVICES
    assert wake & ClusterEvent.SLICES
    assert not wake & ClusterEvent.ROOM


def test_equal_refusals_of_many_nodes_fold_into_one_with_the_nearest_miss() -> None:
    world = World(gpus(1, "n1"), gpus(3, "n2"))
    spec = claim_spec(request(count=4))
    folded = fold([world.refusal(spec), world.refusal(spec, node=N2), world.refusal(spec, node=NodePlace("n3", {}))])
    subject = 'claim "c0" request "gpu" (class gpu.example.com)'
    assert [(reason.nodes, reason.message) for reason in folded] == [
        (2, f"{subject}: needs 4 matching free devices (at most 3 free)"),
        (1, f"{subject}: no device matches, the node has published no ResourceSlices"),
    ]
