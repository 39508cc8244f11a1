"""Shares of a device are told apart by their ids: by the same one, two of them would count as one."""

import pytest

from dra_scheduling.allocation.allocation_results import with_share_ids
from dra_scheduling.model.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult


def result(request: str = "r", device: str = "gpu-0", pool: str = "n1", share_id: str | None = "") -> AllocationResult:
    one = DeviceRequestAllocationResult(request=request, driver="a", pool=pool, device=device, share_id=share_id)
    return AllocationResult(devices=DeviceAllocationResult(results=(one,)))


def id_of(value: AllocationResult, claim: str = "uid") -> str | None:
    return with_share_ids(value, claim).devices.results[0].share_id


@pytest.mark.parametrize(
    ("value", "claim"),
    [
        (result(), "another claim"),
        (result(request="r/other"), "uid"),
        (result(device="gpu-1"), "uid"),
        (result(pool="n2"), "uid"),
    ],
    ids=["claim", "request", "device", "pool"],
)
def test_a_share_has_an_id_of_its_own_for_each(value: AllocationResult, claim: str) -> None:
    assert id_of(value, claim) != id_of(result())


def test_a_share_that_is_decided_twice_has_one_id() -> None:
    assert id_of(result()) == id_of(result())


def test_a_device_that_is_given_away_as_a_whole_has_none() -> None:
    assert id_of(result(share_id=None)) is None
