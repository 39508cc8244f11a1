"""The values of a device's attributes as constraints compare them."""

from collections.abc import Hashable

from dra_scheduling.model.slices import Device, DeviceAttribute

AttributeKey = tuple[str, Hashable]
"""A value with its kind, because `1`, `true` and `"1"` are different values."""


class Values(tuple[AttributeKey, ...]):
    """The values of one attribute, each once; a plain value is a set of one."""

    __slots__ = ()

    is_list = False


class ListedValues(Values):
    """The values of an attribute that is a list."""

    __slots__ = ()

    is_list = True


NOTHING = Values()


def values_of(device: Device, driver: str, name: str) -> Values:
    """Return the device's values of a fully qualified attribute, none where it does not have it.

    An attribute without a domain belongs to the driver's domain.
    """
    found = device.attributes.get(name)
    if found is None:
        domain, _, short = name.rpartition("/")
        found = device.attributes.get(short) if domain == driver else None
    return NOTHING if found is None else _values(found)


def _values(attribute: DeviceAttribute) -> Values:
    scalars = (
        ("int", attribute.int_),
        ("bool", attribute.bool_),
        ("string", attribute.string),
        ("version", attribute.version),
    )
    for kind, scalar in scalars:
        if scalar is not None:
            return Values(((kind, scalar),))
    lists = (
        ("int", attribute.ints),
        ("bool", attribute.bools),
        ("string", attribute.strings),
        ("version", attribute.versions),
    )
    for kind, listed in lists:
        if listed is not None:
            return ListedValues(dict.fromkeys((kind, value) for value in listed))
    return NOTHING
