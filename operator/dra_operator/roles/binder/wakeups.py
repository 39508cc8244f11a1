"""Wakes binds that wait for a change of some objects."""

import asyncio
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, suppress

from dra_operator.roles.binder.concurrency import Slot
from dra_scheduling.model.ids import ObjectKey


class SlotChange:
    """`dra_binder.ports.Change`. A bind that waits gives its slot to others."""

    __slots__ = ("_happened", "_slot", "_waiting")

    def __init__(self, happened: asyncio.Event, waiting: set[asyncio.Task[object] | None], slot: Slot) -> None:
        self._happened = happened
        self._slot = slot
        self._waiting = waiting

    def clear(self) -> None:
        """Forget the changes so far."""
        self._happened.clear()

    async def wait(self, seconds: float | None) -> None:
        """Return as soon as something has changed since `clear`, after so many seconds in any case."""
        if self._happened.is_set():
            return
        task = asyncio.current_task()
        async with self._slot.released():
            self._waiting.add(task)
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._happened.wait(), seconds)
            finally:
                self._waiting.discard(task)


class ChangeHub:
    """Wakes the binds that wait for a change of some objects; told of every object that changes."""

    def __init__(self) -> None:
        self._happened: dict[ObjectKey, set[asyncio.Event]] = {}
        self._waiting: set[asyncio.Task[object] | None] = set()

    @property
    def waiting(self) -> AbstractSet[asyncio.Task[object]]:
        """The tasks that wait at this moment."""
        return frozenset(task for task in self._waiting if task is not None)

    def changed(self, key: ObjectKey) -> None:
        """Wake who waits for an object of this name."""
        for happened in self._happened.get(key, ()):
            happened.set()

    @contextmanager
    def of(self, keys: Iterable[ObjectKey], slot: Slot) -> Iterator[SlotChange]:
        """Notice, for as long as the context lasts, what changes in objects of these names."""
        names, happened = frozenset(keys), asyncio.Event()
        for key in names:
            self._happened.setdefault(key, set()).add(happened)
        try:
            yield SlotChange(happened, self._waiting, slot)
        finally:
            for key in names:
                self._happened[key].discard(happened)
                if not self._happened[key]:
                    del self._happened[key]


class SlotChanges:
    """`dra_binder.ports.Changes` of the bind that has a slot."""

    __slots__ = ("_changes", "_slot")

    def __init__(self, changes: ChangeHub, slot: Slot) -> None:
        self._changes = changes
        self._slot = slot

    def of(self, keys: Iterable[ObjectKey]) -> AbstractContextManager[SlotChange]:
        """Notice, for as long as the context lasts, what changes in objects of these names."""
        return self._changes.of(keys, self._slot)
