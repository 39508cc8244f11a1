"""The drivers of made-up nodes: each publishes its pool slice by slice, and keeps it as it is to be."""

from collections.abc import Iterator

from dra_operator.kinds import NODES
from dra_operator.roles.kwok.behaviour import Behaviour, Pauses
from dra_operator.roles.kwok.instances import LaunchableTypes
from dra_operator.roles.kwok.node_index import NodeIndex
from dra_operator.roles.kwok.pools import Publish, Withdraw, next_change, wanted
from dra_operator.roles.kwok.writer import KwokWriter
from dra_operator.watch.freshness import BEHIND_SECONDS, Freshness


class Drivers:
    """`look` returns after how many seconds to look again, 0 if only news can change anything."""

    __slots__ = ("_catalogue", "_freshness", "_index", "_pauses", "_writer")

    def __init__(
        self, writer: KwokWriter, *, index: NodeIndex, catalogue: LaunchableTypes, pauses: Pauses, freshness: Freshness
    ) -> None:
        self._freshness = freshness
        self._writer = writer
        self._index = index
        self._catalogue = catalogue
        self._pauses = pauses

    def of(self, name: str) -> Iterator[str]:
        """Yield the drivers that have something to do with a node of that name."""
        claim = self._index.claim(name)
        expanded = None if claim is None else self._catalogue.launched(claim)
        published = (one.spec.driver for one in self._index.slices(name))
        yield from dict.fromkeys((*(() if expanded is None else expanded.drivers), *published))

    async def look(self, name: str, driver: str, behaviour: Behaviour) -> float:
        """Make the next write of a pool. Raises `ApiError`."""
        is_left = not self._index.has_node(name) and self._index.slices(name, driver)
        if is_left and not await self._freshness.has(NODES, name):
            return BEHIND_SECONDS
        change = self._change(name, driver, behaviour)
        if isinstance(change, Withdraw):
            await self._writer.withdraw(change)
        if not isinstance(change, Publish):
            self._pauses.end((name, driver))
            return 0.0
        left = self._pauses.left((name, driver), behaviour.slice_delay)
        if not left:
            self._pauses.end((name, driver))
            await self._writer.publish(change)
        return left

    def _change(self, name: str, driver: str, behaviour: Behaviour) -> Publish | Withdraw | None:
        found = self._index.slices(name, driver)
        if not self._index.has_node(name):
            return next(map(Withdraw, found), None)
        claim, node = self._index.claim(name), self._index.node(name)
        if claim is None or node is None or claim.metadata.is_deleting:
            return None
        expanded = self._catalogue.launched(claim)
        if expanded is None:
            return None
        return next_change(wanted(expanded, driver, behaviour.pool(driver)), node, found)
