"""Devices of a node being set up that somebody has already, although only templates stand for them so far.

A scheduler may give away published devices of a node that is not initialized yet. Until it is, the node's template
devices are what is planned with, so what is held of the published ones is held of the templates.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from dra_scheduling.devices import NodePlace
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.compatibility_groups import common_groups, memberships_of
from dra_scheduling.devices.generations import Pool
from dra_scheduling.devices.ledger import CounterKey, TakenDevices
from dra_scheduling.devices.partitionable_devices import CounterState, charge_of
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.slices import Device
from dra_scheduling.template_devices.allocation_tracker import AllocationTracker
from dra_scheduling.template_devices.published_devices import Published
from dra_scheduling.template_devices.seen_devices import Seed
from dra_scheduling.template_devices.template_pools import TemplateDevices

Templates = dict[DeviceID, Device]


def template_seeds(
    node: NodePlace, devices: TemplateDevices, published: Published, tracker: AllocationTracker
) -> dict[PoolKey, Seed]:
    """Return what is taken of each template pool before anything is planned.

    A published device is the template of its driver that has its name, or else the first that looks the same. Where
    there is neither, nobody can tell which one it is, and every device of the driver counts as taken.
    """
    templates = {
        DeviceID(*pool.key, pool.device(number).name): pool.device(number)
        for pool in devices.pools
        for number in members(pool.everything)
    }
    free = dict(templates)
    records: dict[PoolKey, TakenDevices] = {}
    for pool, device in _held(node, devices.drivers, published, tracker):
        taken = tracker.seed(pool).taken
        twin = _twin(free, pool.key.driver, device)
        unclear = [id_ for id_ in free if id_.driver == pool.key.driver]
        for id_ in unclear if twin is None else (twin,):
            _copy(taken, device.name, records.setdefault(id_.pool_key, TakenDevices()), id_.device)
            del free[id_]
    return {key: _seed(key, record, templates) for key, record in records.items()}


def _held(
    node: NodePlace, promised: frozenset[str], published: Published, tracker: AllocationTracker
) -> Iterator[tuple[Pool, Device]]:
    for pool, piece in published.own_of(node, promised):
        taken = tracker.seed(pool).taken
        for device in piece.devices:
            if taken.has(device.name):
                yield pool, device


def _twin(free: Templates, driver: str, device: Device) -> DeviceID | None:
    mine = [id_ for id_ in free if id_.driver == driver]
    namesake = next((id_ for id_ in mine if id_.device == device.name), None)
    if namesake is not None:
        return namesake
    return next((id_ for id_ in mine if _looks(free[id_]) == _looks(device)), None)


def _looks(device: Device) -> Device:
    return replace(device, name="", node_name="", node_selector=None, all_nodes=False)


def _copy(source: TakenDevices, name: str, target: TakenDevices, new_name: str) -> None:
    if name in source.dedicated:
        target.dedicated[new_name] = source.dedicated[name]
    if name in source.shared:
        target.shared[new_name] = source.shared[name]


def _seed(key: PoolKey, taken: TakenDevices, templates: Templates) -> Seed:
    drawn: dict[CounterKey, int] = {}
    for name in (*taken.dedicated, *taken.shared):
        for counter, amount in charge_of(templates[DeviceID(*key, name)]):
            drawn[counter] = drawn.get(counter, 0) + amount
    held = (memberships_of(templates[DeviceID(*key, name)]) for name in (*taken.dedicated, *taken.shared))
    return Seed(taken, CounterState(drawn, common=common_groups(held)))
