"""When an allocation that is written counts as the one that was decided."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from dra_binder.allocations import is_same_allocation
from dra_binding.world import allocation
from dra_builders.values import quantities
from dra_scheduling.model.claims import AllocationResult, DeviceRequestAllocationResult

SHARE: Mapping[str, object] = {"share_id": "a", "consumed_capacity": quantities({"memory": "1Gi"})}


def share(**changes: object) -> AllocationResult:
    """A share of a device, and a whole one."""
    found = allocation("gpu-0", "gpu-1")
    first, second = found.devices.results
    shared: DeviceRequestAllocationResult = replace(first, **{**SHARE, **changes})
    return replace(found, devices=replace(found.devices, results=(shared, second)))


def test_the_time_at_which_it_was_written_makes_no_other_one_of_it() -> None:
    assert is_same_allocation(share(), replace(share(), allocation_timestamp="2026-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    "changes",
    [
        {"request": "other"},
        {"device": "gpu-7"},
        {"pool": "n2"},
        {"driver": "other.example.com"},
        {"share_id": "b"},
        {"consumed_capacity": quantities({"memory": "2Gi"})},
        {"admin_access": True},
    ],
)
def test_it_is_another_one_as_soon_as_it_differs_in(changes: dict[str, object]) -> None:
    assert not is_same_allocation(share(), share(**changes))
