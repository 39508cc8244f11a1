"""What each instance type of a candidate still finds in its pools."""

from collections.abc import Mapping, Sequence

from dra_scheduling.candidates.bindings import AttributeBindings, Scope
from dra_scheduling.candidates.boards import CandidateBoard
from dra_scheduling.candidates.published import Published
from dra_scheduling.candidates.seen import NOTHING_TAKEN, Seed, SeenDevices, Uses
from dra_scheduling.candidates.tracker import Tracker
from dra_scheduling.candidates.values import Candidate, CandidateType
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.pools import NodePool
from dra_scheduling.pools.attributes import AttributeSource
from dra_scheduling.pools.stock import Stock


class Shelves:
    """Boards for the types of one candidate; types that hold the same of a published pool share its stock."""

    __slots__ = ("_bindings", "_candidate", "_published", "_seeds", "_stocks", "_tracker")

    def __init__(
        self,
        candidate: Candidate,
        published: Published,
        tracker: Tracker,
        bindings: AttributeBindings,
        seeds: Mapping[PoolKey, Seed],
    ) -> None:
        self._candidate = candidate
        self._published = published
        self._tracker = tracker
        self._bindings = bindings
        self._seeds = seeds
        self._stocks: dict[tuple[NodePool, Uses], Stock] = {}

    def board(
        self, one: CandidateType, reached: Sequence[NodePool], attributes: Sequence[AttributeSource]
    ) -> CandidateBoard:
        """Return the devices for one type where these published pools are reached."""
        published = [(pool, self._published_stock(one, pool)) for pool in reached]
        templates = [(pool, self._template_stock(one, pool)) for pool in one.devices.pools]
        node_pool = self._candidate.node_pool
        bound = {
            name: self._bindings.components(Scope(name, node_pool, one.name))
            for name in attributes
            if isinstance(name, str)
        }
        return CandidateBoard(published, templates, {name: found for name, found in bound.items() if found})

    def _published_stock(self, one: CandidateType, pool: NodePool) -> Stock:
        own = self._tracker.own_published(self._candidate.name, one.name, pool.key)
        found = self._stocks.get((pool, own))
        if found is None:
            home = self._published.find(pool.key)
            seen = None if home is None else self._tracker.seen(home, self._candidate.name, own)
            found = self._stocks[pool, own] = pool.stock_with(seen)
        return found

    def _template_stock(self, one: CandidateType, pool: NodePool) -> Stock:
        own = self._tracker.own_templates(self._candidate.name, one.name, pool.key)
        seed = self._seeds.get(pool.key, NOTHING_TAKEN)
        if not own and seed is NOTHING_TAKEN:
            return one.devices.fresh[pool]
        return pool.stock_with(SeenDevices(seed, (), own))
