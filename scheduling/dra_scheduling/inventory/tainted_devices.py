"""Devices of nodes to come with the taints that DeviceTaintRules will put on them."""

from msgspec.structs import replace

from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.template_devices import DeviceHostType, TemplateDevices


class TaintedDevices:
    """Devices of instance types as the rules taint them; types that have the same devices still do afterwards."""

    __slots__ = ("_kept", "_rules")

    def __init__(self) -> None:
        self._rules: tuple[DeviceTaintRule, ...] = ()
        self._kept: dict[TemplateDevices, TemplateDevices] = {}

    def follow(self, rules: tuple[DeviceTaintRule, ...]) -> bool:
        """Let these rules hold and no others; return whether that is news."""
        is_new = _content(rules) != _content(self._rules)
        self._rules = rules
        if is_new:
            self._kept.clear()
        return is_new

    def of(self, host: DeviceHostType) -> DeviceHostType:
        """Return the type with its devices tainted."""
        if not self._rules or not host.devices.pools:
            return host
        found = self._kept.get(host.devices)
        if found is None:
            found = self._kept[host.devices] = host.devices.tainted(self._rules)
        return replace(host, devices=found)

    def forget(self) -> None:
        """Keep nothing of types that may be gone."""
        self._kept.clear()


def _content(rules: tuple[DeviceTaintRule, ...]) -> list[tuple[str, object]]:
    return [(one.metadata.name, one.spec) for one in rules]
