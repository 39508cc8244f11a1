"""All pools that a node reaches, laid side by side: one numbering of devices for a search over several pools."""

from collections.abc import Iterator

from dra_scheduling.ledger import Ledger
from dra_scheduling.pools.nodepools import AttributeKey, NodePool, Verdict
from dra_scheduling.pools.selections import Selection


class Board:
    """The devices in reach of one node. Pools that are not complete and valid are kept apart and hand out nothing."""

    __slots__ = ("_verdicts", "broken", "free", "pools")

    def __init__(self, pools: tuple[NodePool, ...], ledger: Ledger) -> None:
        self.pools: list[tuple[int, NodePool]] = []
        self.broken: list[NodePool] = []
        self.free = 0
        offset = 0
        for pool in pools:
            if pool.pool.problem is not None:
                self.broken.append(pool)
                continue
            self.pools.append((offset, pool))
            self.free |= pool.free(ledger) << offset
            offset += pool.width
        self._verdicts: dict[Selection, Verdict] = {}

    def verdict(self, selection: Selection) -> Verdict:
        """Return what the selection says about all devices."""
        if len(self.pools) == 1:
            return self.pools[0][1].verdict(selection)
        found = self._verdicts.get(selection)
        if found is None:
            matching = usable = failed = 0
            for offset, pool in self.pools:
                part = pool.verdict(selection)
                matching |= part.matching << offset
                usable |= part.usable << offset
                failed |= part.failed << offset
            found = self._verdicts[selection] = Verdict(matching=matching, usable=usable, failed=failed)
        return found

    def in_doubt(self, selection: Selection) -> list[NodePool]:
        """Return the pools whose devices must not be handed out although the selection may take some of them."""
        return [
            pool
            for pool in self.broken
            if pool.verdict(selection).matching or (not pool.everything and selection.may_select(pool.key.driver))
        ]

    def groups(self, attribute: str) -> dict[AttributeKey, int]:
        """Return the devices by their value of an attribute, over all pools."""
        found: dict[AttributeKey, int] = {}
        for offset, pool in self.pools:
            for value, mask in pool.groups(attribute).items():
                found[value] = found.get(value, 0) | mask << offset
        return found

    def parts(self, mask: int) -> Iterator[tuple[NodePool, int]]:
        """Yield the pools of the devices in the mask, each with its own devices."""
        for offset, pool in self.pools:
            part = mask >> offset & pool.everything
            if part:
                yield pool, part
