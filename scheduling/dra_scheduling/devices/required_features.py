"""What a device may need of a scheduler beyond being free, and the feature gate that it needs for it."""

from collections.abc import Callable
from typing import NamedTuple

from dra_scheduling.basics.features import (
    BINDING_CONDITIONS,
    CONSUMABLE_CAPACITY,
    NODE_ALLOCATABLE,
    PARTITIONABLE_DEVICES,
    Features,
)
from dra_scheduling.model.slices import Device


class Need(NamedTuple):
    """A feature that some devices need; a scheduler without it must not hand them out."""

    gate: str
    is_needed_by: Callable[[Device], bool]


def _has_binding_conditions(device: Device) -> bool:
    return bool(device.binding_conditions or device.binding_failure_conditions or device.binds_to_node)


NEEDS = (
    Need(PARTITIONABLE_DEVICES, lambda device: bool(device.consumes_counters)),
    Need(CONSUMABLE_CAPACITY, lambda device: device.allow_multiple_allocations),
    Need(BINDING_CONDITIONS, _has_binding_conditions),
    Need(NODE_ALLOCATABLE, lambda device: bool(device.node_allocatable_resources)),
    # Another field with other contents under the same gate: nothing here implements it.
    Need(f"{NODE_ALLOCATABLE} of Kubernetes 1.36", lambda device: bool(device.node_allocatable_resource_mappings)),
)


def unmet_needs(devices: tuple[Device, ...], features: Features) -> dict[str, int]:
    """Return, for every gate that is off, the devices (as bits) that need it; gates nobody needs are left out."""
    found: dict[str, int] = {}
    for need in NEEDS:
        if features.has(need.gate):
            continue
        mask = 0
        for number, device in enumerate(devices):
            if need.is_needed_by(device):
                mask |= 1 << number
        if mask:
            found[need.gate] = mask
    return found
