"""DeviceTaintRules (resource.k8s.io/v1): taints that an administrator puts on devices without touching their slices."""

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import Taint


class DeviceTaintSelector(Value, frozen=True):
    """Which devices a rule taints; what is not said is not looked at."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def selects(self, device: DeviceID) -> bool:
        """Whether the rule taints this device."""
        return (
            self.driver in {None, device.driver}
            and self.pool in {None, device.pool}
            and self.device in {None, device.device}
        )


class DeviceTaintRuleSpec(Value, frozen=True):
    """A taint and whom it concerns: no device without a selector, every device with an empty one."""

    taint: Taint
    device_selector: DeviceTaintSelector | None = None


class DeviceTaintRule(Value, frozen=True):
    """One rule; it taints devices in the scheduler's view only."""

    metadata: ObjectMeta
    spec: DeviceTaintRuleSpec
