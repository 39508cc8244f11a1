"""The values of a device's attributes as constraints compare them."""

from collections.abc import Hashable

from dra_scheduling.devices.cel_views import device_view
from dra_scheduling.model.slices import Device, DeviceAttribute
from kube_cel import AttributeValue, Derivation, EvaluationError, error_text
from kube_cel.semver import Version

AttributeKey = tuple[str, Hashable]
"""A value with its kind, because `1`, `true` and `"1"` are different values."""


AttributeSource = str | Derivation
"""Where the values of devices come from: a published attribute by its full name, or what a request derives."""


class Values(tuple[AttributeKey, ...]):
    """The values of one attribute, each once; a plain value is a set of one."""

    __slots__ = ()

    is_list = False


class ListedValues(Values):
    """The values of an attribute that is a list."""

    __slots__ = ()

    is_list = True


NOTHING = Values()
KINDS: dict[type, str] = {bool: "bool", int: "int", str: "string"}


def values_of(device: Device, driver: str, source: AttributeSource) -> Values:
    """Return the device's values, none where it does not have the attribute or an expression fails on it."""
    if isinstance(source, str):
        return _published(device, driver, source)
    try:
        return _derived(source.evaluate(device_view(driver, device)))
    except EvaluationError:
        return NOTHING


def derivation_error(device: Device, driver: str, source: AttributeSource) -> str:
    """Return why an expression gives the device no value; empty if it does."""
    if isinstance(source, str):
        return ""
    view = device_view(driver, device)
    try:
        source.evaluate(view)
    except EvaluationError as error:
        return error_text(error, view)
    return ""


def _published(device: Device, driver: str, name: str) -> Values:
    """Return the values of a fully qualified attribute; one without a domain belongs to the driver's domain."""
    found = device.attributes.get(name)
    if found is None:
        domain, _, short = name.rpartition("/")
        found = device.attributes.get(short) if domain == driver else None
    return NOTHING if found is None else _values(found)


def _derived(value: AttributeValue) -> Values:
    return ListedValues(dict.fromkeys(map(_key, value))) if isinstance(value, tuple) else Values((_key(value),))


def _key(value: bool | int | str | Version) -> AttributeKey:  # noqa: FBT001 - a value like the others
    return ("version", str(value)) if isinstance(value, Version) else (KINDS[type(value)], value)


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
