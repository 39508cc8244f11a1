"""Devices that somebody had a moment ago are given out where no other ones would do."""

import pytest
from msgspec.structs import replace

from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle import schedule
from dra_scheduling.ledger import Ledger, Source
from dra_scheduling.model.claims import ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.outcomes import Assignment
from dra_scheduling.model.slices import Device
from dra_scheduling.testing import (
    GPU_DRIVER,
    all_request,
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

ROOT = "example.com/root"


class Warm(set[DeviceID]):
    """Devices that became free and are never forgotten."""

    def let_go(self, device: DeviceID) -> None:
        self.add(device)


def gpu(number: int, root: str = "a") -> Device:
    return device(f"gpu-{number}", attributes={ROOT: root, "uuid": f"u{number}"})


def given(devices: list[Device], spec: ResourceClaimSpec, *warm: int) -> list[str]:
    """Return the devices that a pod gets."""
    cluster = Cluster(cooldown=Warm(DeviceID(GPU_DRIVER, "n1", f"gpu-{number}") for number in warm))
    slice_ = resource_slice("n1", devices, node="n1", pool="n1")
    for item in (
        node("n1"),
        slice_,
        driver_class(GPU_DRIVER),
        replace(claim("c"), spec=spec),
        pod("p", claims={"gpu": "c"}),
    ):
        cluster.apply(item)
    (outcome,) = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(outcome, Assignment)
    return [result.device for one in outcome.claims for result in one.allocation.devices.results]


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


def test_a_device_becomes_warm_when_nobody_has_it_any_more() -> None:
    warm, id_ = Warm(), DeviceID(GPU_DRIVER, "n1", "gpu-0")
    ledger = Ledger(warm)
    ledger.hold(Source("bindrequest", "b"), "c", [id_])
    ledger.hold(Source("claim", "c"), "c", [id_])
    ledger.release(Source("bindrequest", "b"))
    assert not warm
    ledger.release(Source("claim", "c"))
    assert warm == {id_}


def test_what_a_plan_only_thought_of_stays_cold() -> None:
    warm = Warm()
    ledger = Ledger(warm)
    mark = ledger.mark()
    ledger.hold(Source("plan", "p"), "c", [DeviceID(GPU_DRIVER, "n1", "gpu-0")])
    ledger.rewind(mark)
    assert not warm
