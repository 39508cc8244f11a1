import asyncio

from dra_operating.loop import settle
from dra_operator.roles.binder.concurrency import Slot, Slots
from dra_operator.roles.binder.wakeups import ChangeHub
from dra_scheduling.model.ids import ObjectKey

OURS, OTHERS = ObjectKey("default", "ours"), ObjectKey("default", "others")
ENDLESS = 3_600.0


async def wait_once(
    changes: ChangeHub, *keys: ObjectKey, seconds: float | None = ENDLESS, slot: Slot | None = None
) -> None:
    with changes.of(keys, slot or Slot()) as change:
        change.clear()
        await change.wait(seconds)


async def test_who_waits_is_woken_by_a_change_of_any_of_its_objects() -> None:
    changes = ChangeHub()
    waits = asyncio.create_task(wait_once(changes, ObjectKey("default", "first"), OURS))
    await settle()

    changes.changed(OURS)
    await settle()

    assert waits.done()


async def test_changes_of_others_wake_nobody() -> None:
    changes = ChangeHub()
    waits = asyncio.create_task(wait_once(changes, OURS))
    await settle()

    changes.changed(OTHERS)
    await settle()

    assert not waits.done()
    waits.cancel()


async def test_several_may_wait_for_the_same_object() -> None:
    changes = ChangeHub()
    waits = [asyncio.create_task(wait_once(changes, OURS, seconds=None)) for _ in range(2)]
    await settle()

    changes.changed(OURS)
    await settle()

    assert [one.done() for one in waits] == [True, True]


async def test_a_change_between_a_look_and_the_wait_is_not_missed() -> None:
    changes = ChangeHub()
    with changes.of([OURS], Slot()) as change:
        change.clear()
        changes.changed(OURS)

        await change.wait(ENDLESS)


async def test_a_change_before_the_look_is_no_news() -> None:
    changes = ChangeHub()
    with changes.of([OURS], Slot()) as change:
        changes.changed(OURS)
        change.clear()
        waits = asyncio.create_task(change.wait(ENDLESS))
        await settle()

        assert not waits.done()
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)


async def test_a_wait_ends_when_its_time_is_up() -> None:
    await wait_once(ChangeHub(), OURS, seconds=0.01)


async def test_who_waits_gives_its_slot_to_another() -> None:
    changes, slots = ChangeHub(), Slots(1)

    async def bind() -> None:
        async with slots.taken() as slot:
            await wait_once(changes, OURS, slot=slot)

    waits = asyncio.create_task(bind())
    await settle()

    async with slots.taken():
        changes.changed(OURS)
        await settle()
        assert not waits.done()
    await waits


async def test_it_is_known_who_waits() -> None:
    changes = ChangeHub()
    waits = asyncio.create_task(wait_once(changes, OURS))
    await settle()

    assert changes.waiting == {waits}

    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    assert changes.waiting == frozenset()
