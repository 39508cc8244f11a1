"""The devices of an InstanceType one by one, and the counter sets that they share."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from dra_scheduling.model.instancetypes import CounterSetGroup, DeviceGroup, InstanceDevices
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.slices import CounterSet, Device, DeviceAttribute

INDEX = "{index}"


class DriverPool(msgspec.Struct, frozen=True, kw_only=True):
    """What one driver will publish on a node."""

    driver: str
    devices: tuple[Device, ...]
    counter_sets: tuple[CounterSet, ...] = ()


def pools_of(devices: InstanceDevices) -> tuple[DriverPool, ...]:
    """Return one pool a driver, by name; devices in the order of their groups, attributes not known yet left out."""
    found: dict[str, list[Device]] = {}
    for group in devices.groups:
        found.setdefault(group.driver, []).extend(devices_of(group))
    sets: dict[str, list[CounterSet]] = {}
    for declared in devices.shared_counters:
        sets.setdefault(declared.driver, []).extend(counter_sets_of(declared))
    return tuple(
        DriverPool(driver=driver, devices=tuple(found[driver]), counter_sets=tuple(sets.get(driver, ())))
        for driver in sorted(found)
    )


def devices_of(group: DeviceGroup) -> Iterator[Device]:
    """Yield the devices of a group by index; what they have in common is one object."""
    numbered = {name for name, one in group.attributes.items() if one.string is not None and INDEX in one.string}
    have_own_attributes = bool(numbered or group.attributes_by_index)
    have_own_counters = any(INDEX in one.counter_set for one in group.consumes_counters)
    base = Device(
        name=group.name,
        attributes=group.attributes,
        capacity=group.capacity,
        consumes_counters=group.consumes_counters,
        allow_multiple_allocations=group.allow_multiple_allocations,
        taints=tuple(Taint(key=one.key, value=one.value, effect=one.effect) for one in group.taints),
        binds_to_node=group.binds_to_node,
        binding_conditions=group.binding_conditions,
        binding_failure_conditions=group.binding_failure_conditions,
        node_allocatable_resources=group.node_allocatable_resources,
    )
    for index in range(group.count):
        device = replace(base, name=at_index(group.name, index))
        if have_own_attributes:
            device = replace(device, attributes=_attributes(group, numbered, index))
        if have_own_counters:
            drawn = (replace(one, counter_set=at_index(one.counter_set, index)) for one in group.consumes_counters)
            device = replace(device, consumes_counters=tuple(drawn))
        yield device


def counter_sets_of(declared: CounterSetGroup) -> Iterator[CounterSet]:
    """Yield the counter sets of a group by index."""
    for index in range(declared.count):
        yield CounterSet(name=at_index(declared.name, index), counters=declared.counters)


def at_index(text: str, index: int) -> str:
    """Return the text for one device of its group."""
    return text.replace(INDEX, str(index))


def _attributes(group: DeviceGroup, numbered: set[str], index: int) -> dict[str, DeviceAttribute]:
    told = {name: DeviceAttribute(string=at_index(group.attributes[name].string or "", index)) for name in numbered}
    return {**group.attributes, **told, **{name: values[index] for name, values in group.attributes_by_index.items()}}
