"""Leases of made-up nodes, all renewed by one timer: a wheel of slots, of which one is due each second."""

import asyncio
from collections.abc import Iterator

from dra_kube.errors import ApiError, MissingError
from dra_operator.logs import log
from dra_operator.roles.kwok.writer import KwokWriter

SLOTS = 15
TICK_SECONDS = 1.0
AT_ONCE = 16
"""Renewals under way at the same time."""

_log = log("kwok")


class Heartbeats:
    """The nodes that are alive. What is new or has failed is renewed at the next tick, then every `SLOTS` ticks."""

    __slots__ = ("_index", "_new", "_next", "_slots", "_uids", "_writer")

    def __init__(self, writer: KwokWriter) -> None:
        self._writer = writer
        self._uids: dict[str, str] = {}
        self._slots: tuple[dict[str, None], ...] = tuple({} for _ in range(SLOTS))
        self._new: dict[str, None] = {}
        self._next = 0
        self._index = asyncio.Semaphore(AT_ONCE)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._uids)

    def add(self, name: str, uid: str) -> None:
        """Let a node be alive; nothing happens where it is."""
        if self._uids.get(name) == uid:
            return
        self.drop(name)
        self._uids[name] = uid
        self._new[name] = None
        min(self._slots, key=len)[name] = None

    def drop(self, name: str) -> None:
        """Let a node be dead."""
        if self._uids.pop(name, None) is None:
            return
        self._new.pop(name, None)
        for slot in self._slots:
            slot.pop(name, None)

    def clear(self) -> None:
        """Let every node be dead."""
        for name in tuple(self._uids):
            self.drop(name)

    async def run(self) -> None:
        """Renew until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            await self.tick()
            # Not later for the time that a tick took: the wheel is to turn in `SLOTS` seconds under load as well.
            due = max(due + TICK_SECONDS, loop.time())
            await asyncio.sleep(due - loop.time())

    async def tick(self) -> None:
        """Renew what is due, and go on to the next slot."""
        await asyncio.gather(*map(self._renew, dict.fromkeys(self._due())))

    def _due(self) -> Iterator[str]:
        yield from tuple(self._new)
        self._new.clear()
        yield from tuple(self._slots[self._next])
        self._next = (self._next + 1) % SLOTS

    async def _renewed(self, name: str) -> None:
        if name not in self._uids:
            return
        try:
            await self._writer.renew_lease(name)
        except MissingError:
            # Meanwhile the node may have died, and its Lease with it.
            if name in self._uids:
                await self._writer.create_lease(name, self._uids[name])

    async def _renew(self, name: str) -> None:
        async with self._index:
            try:
                await self._renewed(name)
            except ApiError as error:
                self._new[name] = None
                _log.warning("could not renew the lease of a node", node=name, error=str(error))
