"""Devices that somebody had a moment ago are given out where no other ones would do."""

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    all_request,
    claim_spec,
    device,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated
from dra_scheduling.allocation.allocator import fulfil
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.journal import Journal
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.model.claims import ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import Counter, CounterSet, Device, DeviceCounterConsumption
from kube_cel.quantity import Quantity

ROOT = "example.com/root"


class CoolingDown(set[DeviceID]):
    """Devices that became free and are never forgotten."""

    def start(self, device: DeviceID) -> None:
        self.add(device)


def gpu(number: int, root: str = "a") -> Device:
    return device(f"gpu-{number}", attributes={ROOT: root, "uuid": f"u{number}"})


def given(
    devices: list[Device], spec: ResourceClaimSpec, *warm: int, counters: tuple[CounterSet, ...] = ()
) -> list[str]:
    """Return the devices that a claim gets."""
    piece = resource_slice("n1", devices, node="n1", pool="n1")
    index = PoolIndex()
    index.apply(replace(piece, spec=replace(piece.spec, shared_counters=counters)))
    ledger = Ledger(CoolingDown(DeviceID(GPU_DRIVER, "n1", f"gpu-{number}") for number in warm))
    parsed = parse_claim("c", spec, {GPU_DRIVER: driver_class(GPU_DRIVER)})
    assert isinstance(parsed, ParsedClaim)
    found = fulfil(ClaimQuery([parsed]), NodePlace("n1", {}), index, ledger)
    assert isinstance(found, Allocated)
    return [result.device for result in found.allocations[0].devices.results]


@pytest.mark.parametrize(
    ("spec", "warm", "expected"),
    [
        pytest.param(claim_spec(request()), (0,), ["gpu-1"], id="another one that is alike"),
        pytest.param(claim_spec(request(count=2)), (0,), ["gpu-1", "gpu-2"], id="all of them, if there are enough"),
        pytest.param(claim_spec(request(count=2)), (0, 2), ["gpu-1", "gpu-3"], id="whichever are warm"),
        pytest.param(claim_spec(request(count=3)), (0, 1), ["gpu-1", "gpu-2", "gpu-3"], id="as far as others go"),
        pytest.param(claim_spec(all_request()), (0,), ["gpu-0", "gpu-1", "gpu-2", "gpu-3"], id="none where all are"),
        pytest.param(claim_spec(request()), (0, 1, 2, 3), ["gpu-0"], id="the first where all are warm"),
    ],
)
def test_others_are_given_instead(spec: ResourceClaimSpec, warm: tuple[int, ...], expected: list[str]) -> None:
    assert given([gpu(number) for number in range(4)], spec, *warm) == expected


def test_a_constraint_is_kept_by_a_warm_device_if_no_other_keeps_it() -> None:
    pair = claim_spec(request("a"), request("b"), constraints=[match_attribute(ROOT)])
    devices = [gpu(0, "a"), gpu(1, "b"), gpu(2, "a"), gpu(3, "c")]
    assert given(devices, pair, 0) == ["gpu-0", "gpu-2"]
    assert given([*devices, gpu(4, "a")], pair, 0) == ["gpu-4", "gpu-2"]


def test_a_device_that_has_to_be_made_ready_is_not_given_for_one_that_has_not() -> None:
    slow = replace(gpu(1), binds_to_node=True, binding_conditions=("example.com/attached",))
    assert given([gpu(0), slow], claim_spec(request()), 0) == ["gpu-0"]


def test_another_device_that_a_selector_does_not_mean_is_not_given() -> None:
    only_a = 'device.attributes["example.com"].root == "a"'
    assert given([gpu(0, "a"), gpu(1, "b")], claim_spec(request("gpu", GPU_DRIVER, only_a)), 0) == ["gpu-0"]


def test_a_partition_that_draws_something_else_is_not_given() -> None:
    def part(number: int, drawn: str) -> Device:
        counters = {"memory": Counter(value=Quantity.parse(drawn))}
        return replace(
            gpu(number), consumes_counters=(DeviceCounterConsumption(counter_set="card", counters=counters),)
        )

    card = CounterSet(name="card", counters={"memory": Counter(value=Quantity.parse("8"))})
    assert given([part(0, "1"), part(1, "4")], claim_spec(request()), 0, counters=(card,)) == ["gpu-0"]


def test_whoever_watches_gets_what_he_would_get_at_any_time() -> None:
    asked = request()
    assert asked.exactly is not None
    watch = claim_spec(replace(asked, exactly=replace(asked.exactly, admin_access=True)))
    assert given([gpu(0), gpu(1)], watch, 0) == ["gpu-0"]


def test_a_device_cools_down_when_nobody_has_it_any_more() -> None:
    warm, id_ = CoolingDown(), DeviceID(GPU_DRIVER, "n1", "gpu-0")
    ledger = Ledger(warm)
    ledger.hold(Source("bindrequest", "b"), "c", [id_])
    ledger.hold(Source("claim", "c"), "c", [id_])
    ledger.release(Source("bindrequest", "b"))
    assert not warm
    ledger.release(Source("claim", "c"))
    assert warm == {id_}


def test_what_a_plan_only_thought_of_stays_cold() -> None:
    warm = CoolingDown()
    journal = Journal()
    ledger = Ledger(warm, journal)
    ledger.hold(Source("claim", "c"), "c", [DeviceID(GPU_DRIVER, "n1", "gpu-1")])
    journal.open()
    ledger.hold(Source("plan", "p"), "c", [DeviceID(GPU_DRIVER, "n1", "gpu-0")])
    ledger.release(Source("claim", "c"))
    journal.rollback(0)
    assert not warm
