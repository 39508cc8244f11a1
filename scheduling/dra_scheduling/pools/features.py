"""What a device may need of a scheduler beyond being free, and whether this scheduler can give it."""

from collections.abc import Callable
from typing import NamedTuple

from dra_scheduling.model.slices import Device

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class Need(NamedTuple):
    """A feature that some devices need; a scheduler without it must not hand them out."""

    name: str
    is_needed_by: Callable[[Device], bool]


def _is_tainted(device: Device) -> bool:
    return any(taint.effect in BLOCKING_EFFECTS for taint in device.taints)


def _has_binding_conditions(device: Device) -> bool:
    return bool(device.binding_conditions or device.binding_failure_conditions)


UNSUPPORTED_NEEDS = (
    Need("consumesCounters", lambda device: bool(device.consumes_counters)),
    Need("allowMultipleAllocations", lambda device: device.allow_multiple_allocations),
    Need("taints", _is_tainted),
    Need("bindingConditions", _has_binding_conditions),
)
