import pytest

from dra_builders.values import GPU_DRIVER, all_request, claim_spec, device, driver_class, pool, resource_slice
from dra_scheduling.allocation.allocation_outcomes import Allocated, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger

N1 = NodePlace("n1", {})
SIZE = 'device.attributes["gpu.example.com"].size'


def all_of(*expressions: str) -> Allocated | Impossible | object:
    index = PoolIndex()
    index.apply(resource_slice("half", [], pool=pool("hidden", slices=2), node="n1"))
    index.apply(resource_slice("whole", [device("gpu-0", attributes={"size": 1})], node="n1"))
    parsed = parse_claim("c", claim_spec(all_request("gpu", GPU_DRIVER, *expressions)), {GPU_DRIVER: driver_class()})
    assert isinstance(parsed, ParsedClaim)
    return allocate([parsed], N1, index, Ledger())


@pytest.mark.parametrize("expression", [f"has({SIZE})", f"has({SIZE}) && {SIZE} == 1", f"{SIZE} == 1"])
def test_all_waits_for_a_hidden_pool_whose_devices_may_have_what_the_selector_asks_about(expression: str) -> None:
    found = all_of(expression)
    assert isinstance(found, Impossible)
    assert "may hold some is not usable" in found.refusal.message


def test_a_hidden_pool_of_a_driver_that_no_selector_takes_disturbs_nobody() -> None:
    assert isinstance(all_of('device.driver == "other.example.com"'), Impossible)
    assert "no device matches" in str(all_of('device.driver == "other.example.com"'))
