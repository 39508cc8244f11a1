"""ResourceSlices of a type's devices: as templates to plan with, and as a driver publishes them on a node."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from dra_scheduling.instancetypes.bound_attributes import TEMPLATE_POOL, BoundAttribute
from dra_scheduling.instancetypes.device_groups import DriverPool
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import CounterSet, Device, DeviceAttribute, ResourcePool, ResourceSlice
from dra_scheduling.model.slices import ResourceSliceSpec as SliceSpec

MOST_DEVICES = 128
MOST_SPECIAL_DEVICES = 64
"""A slice with taints, counters or lists holds half as many (resource.k8s.io/v1)."""
MOST_COUNTER_SETS = 8


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one slice: counter sets or devices, never both."""

    driver: str
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()


def template_slices(pools: Iterable[DriverPool]) -> tuple[ResourceSlice, ...]:
    """Return the slices to plan with. What they say about nodes does not matter."""
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{part.driver}-{number:04}"),
            spec=_spec(part, ResourcePool(name=TEMPLATE_POOL, resource_slice_count=count), node_name=""),
        )
        for pool in pools
        for number, count, part in _numbered(_parts(pool))
    )


def published_slices(pools: Iterable[DriverPool], owner: OwnerReference, generation: int) -> tuple[ResourceSlice, ...]:
    """Return the slices that drivers publish on the node `owner`, for pools with values for all attributes."""
    node = owner.name
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{node}-{part.driver}-{number}", owner_references=(owner,)),
            spec=_spec(part, ResourcePool(name=node, generation=generation, resource_slice_count=count), node),
        )
        for pool in pools
        for number, count, part in _numbered(_parts(pool))
    )


def with_values(pool: DriverPool, bound: Sequence[BoundAttribute]) -> DriverPool:
    """Return the pool with the values that a made-up driver publishes for attributes that are only bound."""
    known: dict[DeviceID, dict[str, DeviceAttribute]] = {}
    for one in bound:
        for id_ in one.devices:
            known.setdefault(id_, {})[one.attribute] = one.value
    devices = []
    for device in pool.devices:
        values = known.get(DeviceID(pool.driver, TEMPLATE_POOL, device.name))
        devices.append(device if values is None else replace(device, attributes={**device.attributes, **values}))
    return replace(pool, devices=tuple(devices))


def _spec(part: Part, pool: ResourcePool, node_name: str) -> SliceSpec:
    return SliceSpec(
        driver=part.driver,
        pool=pool,
        node_name=node_name,
        all_nodes=not node_name,
        devices=part.devices,
        shared_counters=part.counter_sets,
    )


def _numbered(parts: Iterable[Part]) -> Iterator[tuple[int, int, Part]]:
    every = tuple(parts)
    for number, part in enumerate(every):
        yield number, len(every), part


def _parts(pool: DriverPool) -> Iterator[Part]:
    for start in range(0, len(pool.counter_sets), MOST_COUNTER_SETS):
        yield Part(driver=pool.driver, counter_sets=pool.counter_sets[start : start + MOST_COUNTER_SETS])
    most = MOST_SPECIAL_DEVICES if any(map(_is_special, pool.devices)) else MOST_DEVICES
    for start in range(0, len(pool.devices), most):
        yield Part(driver=pool.driver, devices=pool.devices[start : start + most])


def _is_special(device: Device) -> bool:
    return bool(device.taints or device.consumes_counters) or any(map(_is_list, device.attributes.values()))


def _is_list(value: DeviceAttribute) -> bool:
    return any(one is not None for one in (value.ints, value.bools, value.strings, value.versions))
