"""Laws of the ledger: it equals a recount at any time, and a rollback restores what was."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.basics.journal import Journal
from dra_scheduling.devices.ledger import Charge, Held, Ledger, Share, Source
from dra_scheduling.model.ids import DeviceID, PoolKey

POOLS = (PoolKey("gpu.example.com", "p"), PoolKey("nic.example.com", "p"))
DEVICES = tuple(DeviceID(*pool, f"d{number}") for pool in POOLS for number in range(3))
SOURCES = tuple(Source(kind, uid) for kind in ("claim", "plan") for uid in "ab")

SHARES = st.builds(
    Share,
    st.sampled_from(DEVICES),
    st.sampled_from(["s", "t"]),
    st.sampled_from([(), (("m", 1),), (("m", 2), ("c", 1))]),
)
HOLDS = st.builds(
    lambda source, devices, shares: lambda ledger: ledger.hold(source, source.uid, devices, shares),
    st.sampled_from(SOURCES),
    st.lists(st.sampled_from(DEVICES), max_size=3),
    st.lists(SHARES, max_size=2, unique_by=lambda share: (share.device, share.share_id)),
)
LEARNS = st.builds(
    lambda pool, names: (
        lambda ledger: ledger.learn(pool, lambda name: ((("set", name), 1),) if name in names else None)
    ),
    st.sampled_from(POOLS),
    st.frozensets(st.sampled_from(["d0", "d1", "d2"])),
)
RELEASES = st.builds(lambda source: lambda ledger: ledger.release(source), st.sampled_from(SOURCES))
CHANGES = st.lists(HOLDS | RELEASES | LEARNS, max_size=12)
Change = Callable[[Ledger], object]


def applied(changes: list[Change], ledger: Ledger) -> Ledger:
    for change in changes:
        change(ledger)
    return ledger


def seen(ledger: Ledger) -> dict[DeviceID, frozenset[str]]:
    return {device: ledger.holders(device) | ledger.sharers(device) for device in DEVICES if ledger.is_taken(device)}


def amounts(ledger: Ledger) -> dict[DeviceID, dict[str, int]]:
    taken = {device: ledger.taken(device.pool_key) for device in DEVICES if ledger.is_taken(device)}
    return {device: record.consumed(device.device) for device, record in taken.items() if record is not None}


def charges(ledger: Ledger) -> dict[PoolKey, dict[str, Charge]]:
    records = {pool: ledger.taken(pool) for pool in POOLS}
    return {pool: dict(record.charges) for pool, record in records.items() if record is not None}


def recounted(held: dict[Source, Held]) -> dict[DeviceID, frozenset[str]]:
    pairs = {(device, said.holder) for said in held.values() for device in said.everything}
    return {device: frozenset(holder for other, holder in pairs if other == device) for device, _ in pairs}


@given(CHANGES)
def test_what_is_taken_equals_a_recount_of_what_every_source_says(changes: list[Change]) -> None:
    ledger = applied(changes, Ledger())
    assert seen(ledger) == recounted(dict(ledger.held))
    assert ledger.taken_count == len(seen(ledger))
    for pool in POOLS:
        names = {device.device for device in seen(ledger) if device.pool_key == pool}
        assert ledger.taken_in(pool) == names
        record = ledger.taken(pool)
        assert names == (set(record.charges) | record.uncharged if record is not None else set())


@given(CHANGES, CHANGES, CHANGES)
def test_a_rollback_restores_the_ledger(before: list[Change], one: list[Change], other: list[Change]) -> None:
    journal = Journal()
    ledger = applied(before, Ledger(journal=journal))
    held, devices, consumed, drawn = dict(ledger.held), seen(ledger), amounts(ledger), charges(ledger)
    journal.open()
    for changes in (one, other):
        applied(changes, ledger)
        journal.rollback(0)
        assert dict(ledger.held) == held
        assert seen(ledger) == devices
        assert amounts(ledger) == consumed
        assert all(drawn[pool].items() <= charges(ledger)[pool].items() for pool in drawn)


@given(CHANGES, CHANGES, CHANGES)
def test_checkpoints_nest(before: list[Change], outside: list[Change], inside: list[Change]) -> None:
    journal = Journal()
    ledger = applied(before, Ledger(journal=journal))
    journal.open()
    first = dict(ledger.held)
    applied(outside, ledger)
    second, inner = dict(ledger.held), len(journal)
    applied(inside, ledger)
    journal.rollback(inner)
    assert dict(ledger.held) == second
    journal.rollback(0)
    assert dict(ledger.held) == first
