"""Attributes whose value is not known before the node runs, and the devices that will agree on them."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dra_scheduling.devices.attributes import values_of
from dra_scheduling.instancetypes.device_checks import MOST_NAMED_VALUES, is_qualified_name, qualified
from dra_scheduling.instancetypes.device_groups import INDEX, DriverPool, at_index
from dra_scheduling.instancetypes.instance_type_faults import Findings
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.instancetypes import AttributeBinding, BoundDevices, InstanceDevices
from dra_scheduling.model.slices import Device, DeviceAttribute
from dra_scheduling.template_devices import AttributeBindings, Scope

TEMPLATE_POOL = "template"
"""The pool of every template device. A real one has the name of its node, which nobody knows yet."""
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


class BoundAttribute(msgspec.Struct, frozen=True, kw_only=True):
    """Devices that agree on an attribute, as template devices, and the value that a made-up driver publishes."""

    attribute: str
    devices: frozenset[DeviceID]
    value: DeviceAttribute


def bound_attributes(
    devices: InstanceDevices, pools: Sequence[DriverPool], findings: Findings
) -> tuple[BoundAttribute, ...]:
    """Return what is bound, each device once an attribute: declarations that share a device are one. Notes faults."""
    known = {DeviceID(pool.driver, TEMPLATE_POOL, one.name): one for pool in pools for one in pool.devices}
    declared: dict[str, list[tuple[frozenset[DeviceID], DeviceAttribute | None]]] = {}
    for number, binding in enumerate(devices.bindings):
        path = f"spec.devices.bindings[{number}]"
        if "/" not in binding.attribute or not is_qualified_name(binding.attribute):
            findings.fault(f"{path}.attribute", f"{binding.attribute!r} is no attribute with its domain")
        members = _members(binding, devices, known, path, findings)
        _check_members(binding.attribute, members, known, path, findings)
        if len(members) < 2:  # noqa: PLR2004  a device alone shares nothing
            findings.warn(path, "binds nothing, expected two devices or more")
        declared.setdefault(binding.attribute, []).append((members, binding.published_value))
    found = [bound for name in sorted(declared) for bound in _joined(name, declared[name], known, findings)]
    _check_numbers(found, known, findings)
    return tuple(found)


def _members(
    binding: AttributeBinding,
    devices: InstanceDevices,
    known: Mapping[DeviceID, Device],
    path: str,
    findings: Findings,
) -> frozenset[DeviceID]:
    found: set[DeviceID] = set()
    for number, bound in enumerate(binding.devices):
        names = [DeviceID(bound.driver, TEMPLATE_POOL, name) for name in _names(bound, devices)]
        missing = next((one for one in names if one not in known), None)
        if missing is not None or not names:
            shown = bound.name if missing is None else missing.device
            findings.fault(f"{path}.devices[{number}]", f"{bound.driver} has no device {shown}")
        found.update(one for one in names if one in known)
    return frozenset(found)


def _names(bound: BoundDevices, devices: InstanceDevices) -> Iterator[str]:
    if INDEX not in bound.name:
        yield bound.name
        return
    indexes: Sequence[int] = bound.indexes
    if not indexes:
        alike = [group.count for group in devices.groups if (group.driver, group.name) == (bound.driver, bound.name)]
        indexes = range(max(alike, default=0))
    for index in indexes:
        yield at_index(bound.name, index)


def _check_members(
    attribute: str, members: frozenset[DeviceID], known: Mapping[DeviceID, Device], path: str, findings: Findings
) -> None:
    for one in sorted(members):
        if values_of(known[one], one.driver, attribute):
            message = f"{one.device} of {one.driver} has {attribute} already, expected devices where it is not known"
            findings.fault(path, message)
            return


def _joined(
    attribute: str,
    declared: Sequence[tuple[frozenset[DeviceID], DeviceAttribute | None]],
    known: Mapping[DeviceID, Device],
    findings: Findings,
) -> Iterator[BoundAttribute]:
    scope = Scope(attribute, "", "")
    order = {one: number for number, (members, _) in reversed([*enumerate(declared)]) for one in members}
    components = AttributeBindings({scope: [members for members, _ in declared]}).components(scope)
    used = {value for id_, one in known.items() for _, value in values_of(one, id_.driver, attribute)}
    free = (text for text in _texts(attribute) if text not in used)
    for devices in sorted(components, key=lambda component: min(order[one] for one in component)):
        values = {repr(value): value for members, value in declared if value is not None and members & devices}
        if len(values) > 1:
            findings.fault("spec.devices.bindings", f"devices that agree on {attribute} have several publishedValues")
        value = next(iter(values.values()), None) or DeviceAttribute(string=next(free))
        yield BoundAttribute(attribute=attribute, devices=devices, value=value)


def _texts(attribute: str) -> Iterator[str]:
    number = 0
    while True:
        yield f"pci0000:{number:02x}" if attribute == PCIE_ROOT else f"shared-{number}"
        number += 1


def _check_numbers(found: Sequence[BoundAttribute], known: Mapping[DeviceID, Device], findings: Findings) -> None:
    for id_, device in known.items():
        added = {qualified(bound.attribute, id_.driver) for bound in found if id_ in bound.devices}
        total = len(device.attributes) + len(device.capacity) + len(added)
        if total > MOST_NAMED_VALUES:
            message = f"{id_.device} has {total} attributes and capacities, expected {MOST_NAMED_VALUES} at most"
            findings.fault("spec.devices.bindings", message)
            return
