"""Published devices as CEL expressions see them."""

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache

from dra_scheduling.cel import AttributeValue, DeviceView
from dra_scheduling.cel.reads import Read
from dra_scheduling.model.slices import Device, DeviceAttribute
from dra_scheduling.semver import Version


def device_view(driver: str, device: Device) -> DeviceView:
    """Return the device with its values in the types that expressions compare."""
    return DeviceView.of(
        driver,
        {name: _value(attribute) for name, attribute in device.attributes.items()},
        {name: capacity.value for name, capacity in device.capacity.items()},
        allow_multiple_allocations=device.allow_multiple_allocations,
    )


@lru_cache(maxsize=4096)
def marks(driver: str, reads: frozenset[Read]) -> Callable[[Device], Hashable]:
    """Return a function that gives devices of the driver equal marks if they are the same in everything that is read.

    Comparing marks takes a fraction of what a view and an evaluation take.
    """
    attributes = [_published(driver, *place) for field, *place in reads if field == "attributes"]
    capacity = [_published(driver, *place) for field, *place in reads if field == "capacity"]

    def mark(device: Device) -> Hashable:
        found: list[Hashable] = [device.allow_multiple_allocations]
        found += [_content(device.attributes, names) for names in attributes]
        amounts = {name: each.value for name, each in device.capacity.items()} if capacity else {}
        found += [_content(amounts, names) for names in capacity]
        return tuple(found)

    return mark


def _content(published: Mapping[str, Hashable], names: tuple[str, ...]) -> Hashable:
    """Return what is published under the names; a device that uses both is told from others by the order, too."""
    values = [published[name] for name in names if name in published]
    return values[0] if len(values) == 1 else (*values, *published) if values else None


def _published(driver: str, domain: str, name: str) -> tuple[str, ...]:
    """Return the names under which a device may publish what an expression reads from a domain."""
    whole = f"{domain}/{name}"
    return (whole, name) if domain == driver and "/" not in name else (whole,)


def _value(attribute: DeviceAttribute) -> AttributeValue:
    for value in (attribute.string, attribute.int_, attribute.bool_, attribute.strings, attribute.ints):
        if value is not None:
            return value
    if attribute.version is not None:
        return Version.parse(attribute.version)
    if attribute.versions is not None:
        return tuple(Version.parse(text) for text in attribute.versions)
    return attribute.bools or ()
