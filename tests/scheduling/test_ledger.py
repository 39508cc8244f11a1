"""The ledger knows who has a device, whoever says so, and forgets on request."""

import pytest

from dra_scheduling.basics.journal import Journal
from dra_scheduling.devices.ledger import Charge, Ledger, Share, Source
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


def tried() -> tuple[Ledger, Journal]:
    """Return a ledger whose changes are noted, since a statement is open."""
    journal = Journal()
    journal.open()
    return Ledger(journal=journal), journal


def test_a_rollback_undoes_holds_replacements_and_releases() -> None:
    ledger, journal = tried()
    ledger.hold(CLAIM, "c1", [GPU_0])
    point = len(journal)
    ledger.hold(REQUEST, "c2", [GPU_1])
    ledger.hold(CLAIM, "c1", [GPU_1])
    ledger.release(CLAIM)
    journal.rollback(point)
    assert ledger.taken_in(POOL) == {"gpu-0"}
    assert set(ledger.held) == {CLAIM}


def test_one_can_come_back_to_the_same_point_twice() -> None:
    ledger, journal = tried()
    for _ in range(2):
        ledger.hold(CLAIM, "c1", [GPU_0])
        journal.rollback(0)
    assert not ledger.is_taken(GPU_0)


def test_what_nobody_tries_leaves_no_journal_behind() -> None:
    journal = Journal()
    ledger = Ledger(journal=journal)
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.release(CLAIM)
    assert len(journal) == 0


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


MEMORY = ("gpu.example.com/memory", 4)
SHARE = Share(GPU_0, "share-1", (MEMORY,))
DRAWN: Charge = ((("set", "memory"), 4),)


def test_shares_of_one_device_add_up() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [], [SHARE, Share(GPU_0, "share-2", (MEMORY,))])
    ledger.hold(Source("claim", "c2"), "c2", [], [SHARE])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.consumed("gpu-0") == {"gpu.example.com/memory": 12}
    assert ledger.sharers(GPU_0) == {"c1", "c2"}
    assert ledger.holders(GPU_0) == frozenset()


def test_a_share_that_two_sources_speak_of_counts_once() -> None:
    ledger = Ledger()
    ledger.hold(REQUEST, "c1", [], [SHARE])
    ledger.hold(CLAIM, "c1", [], [SHARE])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.consumed("gpu-0") == {"gpu.example.com/memory": 4}
    ledger.release(REQUEST)
    assert ledger.has_share("c1", SHARE)


@pytest.mark.parametrize("order", [(REQUEST, CLAIM), (CLAIM, REQUEST)])
def test_where_two_sources_differ_in_a_share_the_larger_amount_counts(order: tuple[Source, Source]) -> None:
    said = {REQUEST: SHARE, CLAIM: Share(GPU_0, "share-1", (("gpu.example.com/memory", 1),))}
    ledger = Ledger()
    for source in order:
        ledger.hold(source, "c1", [], [said[source]])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.consumed("gpu-0") == {"gpu.example.com/memory": 4}


def test_a_negative_amount_makes_no_room() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [], [SHARE])
    ledger.hold(REQUEST, "c2", [], [Share(GPU_0, "share-3", (("gpu.example.com/memory", -4),))])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.consumed("gpu-0") == {"gpu.example.com/memory": 4}


def test_what_a_taken_device_draws_is_learned_once_and_kept_while_it_is_taken() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.learn(POOL, lambda _: None)
    ledger.learn(POOL, lambda _: DRAWN)
    ledger.learn(POOL, lambda _: ())
    ledger.hold(CLAIM, "c1", [GPU_0, GPU_1])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.charges == {"gpu-0": DRAWN}
    assert taken.uncharged == {"gpu-1"}


def test_what_a_freed_device_drew_is_forgotten() -> None:
    ledger = Ledger()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.learn(POOL, lambda _: DRAWN)
    ledger.release(CLAIM)
    ledger.hold(CLAIM, "c1", [GPU_0])
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.uncharged == {"gpu-0"}


def test_a_rollback_remembers_what_a_device_drew() -> None:
    ledger, journal = tried()
    ledger.hold(CLAIM, "c1", [GPU_0])
    ledger.learn(POOL, lambda _: DRAWN)
    point = len(journal)
    ledger.release(CLAIM)
    journal.rollback(point)
    taken = ledger.taken(POOL)
    assert taken is not None
    assert taken.charges == {"gpu-0": DRAWN}
