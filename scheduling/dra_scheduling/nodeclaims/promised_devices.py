"""Whether machines have the devices that their InstanceType promises."""

from dra_scheduling.basics.reasons import in_short
from dra_scheduling.instancetypes import Expanded
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.slices import Device
from dra_scheduling.nodeclaims.initialization_gate import published_devices
from dra_scheduling.nodeclaims.lifecycle_steps import DEVICES_AS_PROMISED
from dra_scheduling.nodeclaims.node_slices import NodeSlices

MISSING = "DevicesMissing"
UNEXPECTED = "DevicesUnexpected"
DIFFERENT = "DevicesDiffer"
WORDS = {MISSING: "without", UNEXPECTED: "with", DIFFERENT: "with other binding conditions of"}
"""What is said of devices, the worst first."""
MOST_NAMED = 5


def compared(drivers: tuple[str, ...], expanded: Expanded | None, node: str, slices: NodeSlices) -> Condition | None:
    """Return what is to be said of the devices of these drivers on the node, None where nothing was promised."""
    if expanded is None or not drivers:
        return None
    wrong: dict[str, list[str]] = {reason: [] for reason in WORDS}
    for driver in drivers:
        there, wanted = published_devices(node, driver, slices), _promised(expanded, driver)
        both = sorted(wanted.keys() & there.keys())
        wrong[MISSING] += [f"{driver}/{name}" for name in sorted(wanted.keys() - there.keys())]
        wrong[UNEXPECTED] += [f"{driver}/{name}" for name in sorted(there.keys() - wanted.keys())]
        wrong[DIFFERENT] += [f"{driver}/{name}" for name in both if _binding(there[name]) != _binding(wanted[name])]
    parts = [f"{WORDS[reason]} {in_short(names, MOST_NAMED)}" for reason, names in wrong.items() if names]
    if not parts:
        return Condition(type=DEVICES_AS_PROMISED, status="True", reason=DEVICES_AS_PROMISED)
    text = f"InstanceType {expanded.name} says otherwise: the node is {' and '.join(parts)}"
    first = next(reason for reason, names in wrong.items() if names)
    return Condition(type=DEVICES_AS_PROMISED, status="False", reason=first, message=text)


def _promised(expanded: Expanded, driver: str) -> dict[str, Device]:
    pools = (pool for pool in expanded.devices.pools if pool.driver == driver)
    return {device.name: device for pool in pools for device in pool.devices}


def _binding(device: Device) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Return what a pod waits for that gets the device, in whatever order it is written."""
    return device.binds_to_node, frozenset(device.binding_conditions), frozenset(device.binding_failure_conditions)
