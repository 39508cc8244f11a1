"""What each instance type of a candidate still finds in its pools."""

from collections.abc import Mapping, Sequence

from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.attributes import AttributeSource
from dra_scheduling.devices.free_devices import FreeDevices
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.template_devices.allocation_tracker import AllocationTracker
from dra_scheduling.template_devices.attribute_bindings import AttributeBindings, Scope
from dra_scheduling.template_devices.device_host import DeviceHost, DeviceHostType
from dra_scheduling.template_devices.published_devices import Published
from dra_scheduling.template_devices.seen_devices import NOTHING_TAKEN, Seed, SeenDevices, Uses
from dra_scheduling.template_devices.template_search_space import TemplateSearchSpace


class DeviceViews:
    """Boards for the types of one candidate; types that hold the same of a published pool share its stock."""

    __slots__ = ("_bindings", "_candidate", "_published", "_seeds", "_stocks", "_tracker")

    def __init__(
        self,
        candidate: DeviceHost,
        published: Published,
        tracker: AllocationTracker,
        bindings: AttributeBindings,
        seeds: Mapping[PoolKey, Seed],
    ) -> None:
        self._candidate = candidate
        self._published = published
        self._tracker = tracker
        self._bindings = bindings
        self._seeds = seeds
        self._stocks: dict[tuple[PoolOnNode, Uses], FreeDevices] = {}

    def board(
        self, one: DeviceHostType, reached: Sequence[PoolOnNode], attributes: Sequence[AttributeSource]
    ) -> TemplateSearchSpace:
        """Return the devices for one type where these published pools are reached."""
        published = [(pool, self._published_stock(one, pool)) for pool in reached]
        templates = [(pool, self._template_stock(one, pool)) for pool in one.devices.pools]
        node_pool = self._candidate.node_pool
        bound = {
            name: self._bindings.components(Scope(name, node_pool, one.name))
            for name in attributes
            if isinstance(name, str)
        }
        return TemplateSearchSpace(published, templates, {name: found for name, found in bound.items() if found})

    def _published_stock(self, one: DeviceHostType, pool: PoolOnNode) -> FreeDevices:
        own = self._tracker.own_published(self._candidate, one.name, pool.key)
        found = self._stocks.get((pool, own))
        if found is None:
            home = self._published.find(pool.key)
            seen = None if home is None else self._tracker.seen(home, self._candidate.name, own)
            found = self._stocks[pool, own] = pool.stock_with(seen)
        return found

    def _template_stock(self, one: DeviceHostType, pool: PoolOnNode) -> FreeDevices:
        own = self._tracker.own_templates(self._candidate, one.name, pool.key)
        seed = self._seeds.get(pool.key, NOTHING_TAKEN)
        if not own and seed is NOTHING_TAKEN:
            return one.devices.fresh[pool]
        return pool.stock_with(SeenDevices(seed, (), own))
