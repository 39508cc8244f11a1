"""Laws of the ledger: it equals a recount at any time, and a rewind restores what was."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.ledger import Held, Ledger, Source
from dra_scheduling.model.ids import DeviceID, PoolKey

POOLS = (PoolKey("gpu.example.com", "p"), PoolKey("nic.example.com", "p"))
DEVICES = tuple(DeviceID(*pool, f"d{number}") for pool in POOLS for number in range(3))
SOURCES = tuple(Source(kind, uid) for kind in ("claim", "plan") for uid in "ab")

HOLDS = st.builds(
    lambda source, devices: lambda ledger: ledger.hold(source, source.uid, devices),
    st.sampled_from(SOURCES),
    st.lists(st.sampled_from(DEVICES), max_size=3),
)
RELEASES = st.builds(lambda source: lambda ledger: ledger.release(source), st.sampled_from(SOURCES))
CHANGES = st.lists(HOLDS | RELEASES, max_size=12)
Change = Callable[[Ledger], object]


def applied(changes: list[Change], ledger: Ledger) -> Ledger:
    for change in changes:
        change(ledger)
    return ledger


def seen(ledger: Ledger) -> dict[DeviceID, frozenset[str]]:
    return {device: ledger.holders(device) for device in DEVICES if ledger.is_taken(device)}


def recounted(held: dict[Source, Held]) -> dict[DeviceID, frozenset[str]]:
    pairs = {(device, said.holder) for said in held.values() for device in said.devices}
    return {device: frozenset(holder for other, holder in pairs if other == device) for device, _ in pairs}


@given(CHANGES)
def test_what_is_taken_equals_a_recount_of_what_every_source_says(changes: list[Change]) -> None:
    ledger = applied(changes, Ledger())
    assert seen(ledger) == recounted(dict(ledger.held))
    assert ledger.taken_count == len(seen(ledger))
    for pool in POOLS:
        assert ledger.taken_in(pool) == {device.device for device in seen(ledger) if device.pool_key == pool}


@given(CHANGES, CHANGES, CHANGES)
def test_a_rewind_restores_the_ledger(before: list[Change], one: list[Change], other: list[Change]) -> None:
    ledger = applied(before, Ledger())
    held, devices = dict(ledger.held), seen(ledger)
    mark = ledger.mark()
    for changes in (one, other):
        applied(changes, ledger)
        ledger.rewind(mark)
        assert dict(ledger.held) == held
        assert seen(ledger) == devices


@given(CHANGES, CHANGES, CHANGES)
def test_marks_nest(before: list[Change], outside: list[Change], inside: list[Change]) -> None:
    ledger = applied(before, Ledger())
    outer = ledger.mark()
    first = dict(ledger.held)
    applied(outside, ledger)
    second = dict(ledger.held)
    inner = ledger.mark()
    applied(inside, ledger)
    ledger.rewind(inner)
    assert dict(ledger.held) == second
    ledger.rewind(outer)
    assert dict(ledger.held) == first
