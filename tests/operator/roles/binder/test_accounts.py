from collections.abc import Iterable

import msgspec

from dra_binder.ports import Account, Draw
from dra_builders.values import GPU_DRIVER, device, resource_slice
from dra_operator.roles.binder.accounts import Accounts
from dra_scheduling.devices import PoolIndex
from dra_scheduling.model.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Counter, CounterSet, DeviceCounterConsumption, ResourceSlice
from kube_cel.quantity import Quantity

POOL = PoolKey(GPU_DRIVER, "n1")
MEMORY = Account(POOL, f"{GPU_DRIVER}/memory", "gpu-0")
SLOTS = Account(POOL, "slots of counter set card")
NANO = Quantity.from_int(1).nano


def shareable() -> ResourceSlice:
    whole = msgspec.structs.replace(device("gpu-0", capacity={"memory": "80"}), allow_multiple_allocations=True)
    return resource_slice("shared", [whole], node="n1")


def partitioned(*, slots: int = 7, published: Iterable[tuple[str, int]] = (("a", 3), ("b", 4))) -> ResourceSlice:
    def consumption(amount: int) -> DeviceCounterConsumption:
        return DeviceCounterConsumption(
            counter_set="card", counters={"slots": Counter(value=Quantity.from_int(amount))}
        )

    parts = [
        msgspec.structs.replace(device(name), consumes_counters=(consumption(amount),)) for name, amount in published
    ]
    piece = resource_slice("parts", parts, node="n1")
    sets = (CounterSet(name="card", counters={"slots": Counter(value=Quantity.from_int(slots))}),)
    return msgspec.structs.replace(piece, spec=msgspec.structs.replace(piece.spec, shared_counters=sets))


def share(name: str, share_id: str, *, admin: bool = False, **consumed: int) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request="gpu",
        driver=GPU_DRIVER,
        pool="n1",
        device=name,
        admin_access=admin,
        share_id=share_id or None,
        consumed_capacity={key: Quantity.from_int(amount) for key, amount in consumed.items()},
    )


def drawn(accounts: Accounts, *results: DeviceRequestAllocationResult) -> list[Draw]:
    return list(accounts.draws(AllocationResult(devices=DeviceAllocationResult(results=results))))


def over(*slices: ResourceSlice) -> Accounts:
    pools = PoolIndex()
    for piece in slices:
        pools.apply(piece)
    return Accounts(pools)


def test_a_share_draws_from_the_capacity_of_its_device() -> None:
    accounts = over(shareable())

    assert drawn(accounts, share("gpu-0", "x", memory=30)) == [Draw(MEMORY, "x", 30 * NANO)]
    assert accounts.limit(MEMORY) == 80 * NANO


def test_a_device_draws_from_the_counters_of_its_pool() -> None:
    accounts = over(partitioned())

    assert drawn(accounts, share("a", ""), share("b", "")) == [
        Draw(SLOTS, "a", 3 * NANO),
        Draw(SLOTS, "b", 4 * NANO),
    ]
    assert accounts.limit(SLOTS) == 7 * NANO


def test_shares_of_one_device_draw_from_its_counters_once() -> None:
    accounts = over(partitioned())

    assert drawn(accounts, share("a", "x"), share("a", "y")) == [Draw(SLOTS, "a", 3 * NANO)]


def test_nothing_is_drawn_by_whole_devices_without_counters_by_zero_amounts_and_by_admin_access() -> None:
    accounts = over(shareable(), partitioned())

    assert drawn(accounts, share("gpu-0", ""), share("gpu-0", "x", memory=0), share("a", "", admin=True)) == []


def test_there_is_no_limit_to_what_is_not_published() -> None:
    accounts = over()

    assert (accounts.limit(MEMORY), accounts.limit(SLOTS)) == (None, None)
    assert drawn(accounts, share("a", "")) == []


def test_only_the_devices_of_its_set_are_asked_who_draws_from_a_counter() -> None:
    accounts = over(partitioned(), shareable())
    other = Account(POOL, "slots of counter set another")

    assert [device.device for device in accounts.drawers(SLOTS)] == ["a", "b"]
    assert [device.device for device in accounts.drawers(MEMORY)] == ["gpu-0"]
    assert list(accounts.drawers(other)) == []


def test_who_draws_is_asked_anew_after_a_change_of_the_pool() -> None:
    pools = PoolIndex()
    pools.apply(partitioned())
    accounts = Accounts(pools)
    assert [device.device for device in accounts.drawers(SLOTS)] == ["a", "b"]
    pools.apply(partitioned(published=[("c", 1)]))

    assert [device.device for device in accounts.drawers(SLOTS)] == ["c"]
