"""DeviceClasses: selectors, and the extended resource name."""

from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.resource_names import (
    IMPLICIT_PREFIX,
    NATIVE_DOMAIN,
    implicit_name,
    is_explicit_name,
)
from dra_scheduling.model.slices import DeviceClass
from dra_simulator.check.findings import Remarks, error, warning
from dra_simulator.check.offer import Among, OfferedDevices, compile_remarks, match_remarks

SELECTORS = "$.spec.selectors"
NAME = "$.spec.extendedResourceName"


def class_remarks(device_class: DeviceClass, index: ClassIndex, offer: OfferedDevices) -> Remarks:
    """Yield what is wrong or suspicious in a class."""
    selectors = device_class.spec.selectors
    yield from compile_remarks(selectors, SELECTORS)
    yield from match_remarks(selectors, SELECTORS, offer, Among(offer.everything, "of the input"))
    yield from _name_remarks(device_class, index)


def _name_remarks(device_class: DeviceClass, index: ClassIndex) -> Remarks:
    name, own = device_class.spec.extended_resource_name, device_class.metadata.name
    if not name:
        return
    if name.startswith(IMPLICIT_PREFIX):
        yield error(NAME, f"expected no name that begins with {IMPLICIT_PREFIX}: those belong to the classes they name")
        return
    if NATIVE_DOMAIN in name:
        yield error(NAME, f"expected a name of another domain, {NATIVE_DOMAIN.rstrip('/')} is reserved, got {name}")
        return
    if not is_explicit_name(name):
        yield error(NAME, f"expected a name with a domain, such as example.com/gpu, got {name}")
        return
    first, *others = index.candidates(name)
    if first.metadata.name != own:
        rule = "it is newer or, at the same age, comes first by name"
        reach = f"pods reach the devices of this class as {implicit_name(own)} only"
        yield warning(NAME, f"{name} is served by DeviceClass {first.metadata.name} ({rule}); {reach}")
    elif others:
        names = ", ".join(other.metadata.name for other in others)
        yield warning(NAME, f"{name} is claimed by {names}, too; this class serves it")
