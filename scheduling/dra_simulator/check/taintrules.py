"""DeviceTaintRules: those that taint no device of the input, and effects that mean nothing."""

from collections.abc import Iterable

from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import ResourceSlice
from dra_simulator.check.findings import Remarks, error, warning

EFFECTS = ("NoSchedule", "NoExecute", "None")


def rule_remarks(rule: DeviceTaintRule, published: frozenset[DeviceID]) -> Remarks:
    """Yield what is wrong or suspicious in a rule, held against the devices of the input."""
    effect, selector = rule.spec.taint.effect, rule.spec.device_selector
    if effect not in EFFECTS:
        yield error("$.spec.taint.effect", f"expected one of {', '.join(EFFECTS)}, got {effect or 'nothing'}")
    if selector is None:
        yield warning("$.spec.deviceSelector", "taints no device: without a selector a rule selects none")
    elif published and not any(map(selector.selects, published)):
        yield warning("$.spec.deviceSelector", f"selects none of the {len(published)} devices of the input")


def devices_of(slices: Iterable[ResourceSlice]) -> frozenset[DeviceID]:
    """Return every device that a slice of any generation publishes."""
    return frozenset(
        DeviceID(value.spec.driver, value.spec.pool.name, device.name)
        for value in slices
        for device in value.spec.devices
    )
