"""The devices that an instance type will have once it runs, from the slices that its drivers would publish."""

from collections.abc import Iterable

from msgspec.structs import replace

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.devices import NodePlace, PoolOnNode
from dra_scheduling.devices.free_devices import FreeDevices
from dra_scheduling.devices.generations import Pool
from dra_scheduling.devices.indexed_slice import IndexedSlice
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import ResourcePool, ResourceSlice
from dra_scheduling.template_devices.seen_devices import SeenTemplatePool

ANYWHERE = NodePlace("", {})


class TemplateDevices:
    """Template pools in the order of drivers and names; made once a type and kept, with all that is found out of them.

    A template is of the instance that it comes with: what it says about nodes, generations and numbers of slices does
    not matter. Otherwise it obeys the rules of published slices, so that nothing is promised that cannot be published.
    """

    __slots__ = ("_features", "_slices", "drivers", "fresh", "pools")

    def __init__(
        self,
        slices: Iterable[ResourceSlice] = (),
        features: Features = DEFAULT_FEATURES,
        rules: tuple[DeviceTaintRule, ...] = (),
    ) -> None:
        """`rules` taint the devices besides what the slices say; they must not name pools, which have no name yet."""
        self._slices = tuple(slices)
        self._features = features
        by_pool: dict[PoolKey, list[ResourceSlice]] = {}
        for template in self._slices:
            by_pool.setdefault(PoolKey(template.spec.driver, template.spec.pool.name), []).append(template)
        self.pools = tuple(_pool(key, by_pool[key], features, rules) for key in sorted(by_pool))
        self.drivers = frozenset(pool.key.driver for pool in self.pools)
        self.fresh: dict[PoolOnNode, FreeDevices] = {pool: pool.stock_with(None) for pool in self.pools}

    def tainted(self, rules: tuple[DeviceTaintRule, ...]) -> "TemplateDevices":
        """Return the same devices with the taints of these rules."""
        return TemplateDevices(self._slices, self._features, rules)


NO_DEVICES = TemplateDevices()


def _pool(
    key: PoolKey, slices: list[ResourceSlice], features: Features, rules: tuple[DeviceTaintRule, ...]
) -> PoolOnNode:
    pool = Pool(key, features)
    whole = ResourcePool(name=key.pool, resource_slice_count=len(slices))
    for number, template in enumerate(sorted(slices, key=_order)):
        spec = replace(
            template.spec,
            pool=whole,
            node_name="",
            node_selector=None,
            all_nodes=True,
            per_device_node_selection=False,
        )
        piece = IndexedSlice(ResourceSlice(metadata=ObjectMeta(name=f"{number:06}"), spec=spec), features, rules)
        pool.add(piece)
    view = pool.current.view(pool, ANYWHERE)
    return PoolOnNode(key, SeenTemplatePool(pool), view.sights, features)


def _order(template: ResourceSlice) -> tuple[str, tuple[str, ...]]:
    return template.metadata.name, tuple(device.name for device in template.spec.devices)
