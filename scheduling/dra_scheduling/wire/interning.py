"""Equal parts of devices as one object: partitions of thousands of devices differ in little but their names.

Drivers publish the same models, versions and sizes again and again, and partitions of a kind draw the same from
counters. Held once, hundreds of thousands of devices take half of the memory.
"""

from functools import lru_cache

from msgspec.structs import force_setattr

from dra_scheduling.model.slices import Counter, Device, DeviceAttribute, DeviceCapacity, ResourceSlice

KEPT = 16_384
"""So many parts of a kind are known at a time; where more are in use, some are held more than once."""


def share_parts(piece: ResourceSlice) -> None:
    """Let the slice have parts of slices before it where they are equal.

    Only for a slice that nobody else has seen yet. Amounts that are equal but written differently, such as 1Gi and
    1024Mi, end up written like the first one.
    """
    force_setattr(piece.spec, "driver", _text(piece.spec.driver))
    for device in piece.spec.devices:
        _share(device)


def _share(device: Device) -> None:
    force_setattr(device, "name", _text(device.name))
    attributes = device.attributes
    for name, value in attributes.items():
        attributes[name] = _attribute(value)
    if device.capacity:
        force_setattr(device, "capacity", _amounts(tuple(device.capacity.items())))
    for consumption in device.consumes_counters:
        force_setattr(consumption, "counter_set", _text(consumption.counter_set))
        force_setattr(consumption, "counters", _counters(tuple(consumption.counters.items())))


@lru_cache(KEPT)
def _text(value: str) -> str:
    return value


@lru_cache(KEPT)
def _attribute(value: DeviceAttribute) -> DeviceAttribute:
    return value


@lru_cache(KEPT)
def _amounts(content: tuple[tuple[str, DeviceCapacity], ...]) -> dict[str, DeviceCapacity]:
    return dict(content)


@lru_cache(KEPT)
def _counters(content: tuple[tuple[str, Counter], ...]) -> dict[str, Counter]:
    return dict(content)
