"""Published devices as CEL expressions see them."""

from dra_scheduling.cel import AttributeValue, DeviceView
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


def _value(attribute: DeviceAttribute) -> AttributeValue:
    for value in (attribute.string, attribute.int_, attribute.bool_, attribute.strings, attribute.ints):
        if value is not None:
            return value
    if attribute.version is not None:
        return Version.parse(attribute.version)
    if attribute.versions is not None:
        return tuple(Version.parse(text) for text in attribute.versions)
    return attribute.bools or ()
