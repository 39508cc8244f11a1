"""The ledger knows who has a device, whoever says so, and forgets on request."""

import pytest

from dra_scheduling.ledger import Ledger, Source
from dra_scheduling.model.ids import DeviceID, PoolKey

POOL = PoolKey("gpu.example.com", "n1")
GPU_0 = DeviceID(*POOL, "gpu-0")
GPU_1 = DeviceID(*POOL, "gpu-1")
REQUEST = Source("bindrequest", "b1")
CLAIM = Source("claim", "c1")


def test_a_held_device_is_taken_and_its_holder_is_known() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    assert ledger.is_taken(GPU_0)
    assert not ledger.is_taken(GPU_1)
    assert ledger.holders(GPU_0) == {"c1"}
    assert ledger.taken_in(POOL) == {"gpu-0"}


def test_pools_of_one_name_but_two_drivers_are_two_pools() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    assert not ledger.is_taken(DeviceID("nic.example.com", "n1", "gpu-0"))


def test_a_device_is_free_when_the_last_source_lets_go_of_it() -> None:
    ledger = Ledger()
    ledger.hold(REQUEST, "c1", [GPU_0])
    ledger.hold(CLAIM, "c1", [GPU_0])
    assert ledger.release(REQUEST) == (GPU_0,)
    assert ledger.is_taken(GPU_0)
    ledger.release(CLAIM)
    assert not ledger.is_taken(GPU_0)
    assert ledger.taken_in(POOL) == frozenset()


def test_two_holders_of_one_device_are_both_named() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.hold(Source("claim", "c2"), "c2", [GPU_0])
    assert ledger.holders(GPU_0) == {"c1", "c2"}


def test_what_a_source_says_replaces_what_it_said_before() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.hold(CLAIM, "c1", [GPU_1])
    assert ledger.taken_in(POOL) == {"gpu-1"}


def test_releasing_a_source_that_says_nothing_changes_nothing() -> None:
    assert Ledger().release(CLAIM) == ()


def test_a_device_named_twice_by_one_source_is_let_go_at_once() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0, GPU_0])
    ledger.release(CLAIM)
    assert not ledger.is_taken(GPU_0)


def test_a_rewind_undoes_holds_replacements_and_releases() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    mark = ledger.mark()
    ledger.hold(REQUEST, "c2", [GPU_1])
    ledger.hold(CLAIM, "c1", [GPU_1])
    ledger.release(CLAIM)
    ledger.rewind(mark)
    assert ledger.taken_in(POOL) == {"gpu-0"}
    assert set(ledger.held) == {CLAIM}


def test_one_can_come_back_to_the_same_mark_twice() -> None:
    ledger = Ledger()
    mark = ledger.mark()
    for _ in range(2):
        ledger.hold(CLAIM, "c1", [GPU_0])
        ledger.rewind(mark)
    assert not ledger.is_taken(GPU_0)


def test_an_inner_mark_ends_with_the_rewind_to_an_outer_one() -> None:
    ledger = Ledger()
    outer = ledger.mark()
    ledger.hold(CLAIM, "c1", [GPU_0])
    inner = ledger.mark()
    ledger.rewind(outer)
    with pytest.raises(ValueError, match="settled or undone"):
        ledger.rewind(inner)


def test_settled_history_stays() -> None:
    ledger = Ledger()
    mark = ledger.mark()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.settle()
    with pytest.raises(ValueError, match="settled or undone"):
        ledger.rewind(mark)
    assert ledger.is_taken(GPU_0)


def test_the_stamp_of_a_pool_changes_with_its_devices_only() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    taken = ledger.taken(POOL)
    assert taken is not None
    before = taken.stamp
    ledger.hold(REQUEST, "c2", [DeviceID("gpu.example.com", "n2", "gpu-0")])
    assert taken.stamp is before
    ledger.hold(Source("claim", "c3"), "c3", [GPU_1])
    assert taken.stamp is not before
