"""Whether machines have the devices that their InstanceType promises, and for how long one that has not is left alone.

The pause doubles with every failure in a row. NodeClaims that were made before a failure was known belong to it: a
hundred nodes that come up together without devices are one failure, and writing it down twice changes nothing.
"""

from dra_scheduling.instancetypes import Expanded
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.slices import Device
from dra_scheduling.nodeclaims.gate import published_devices
from dra_scheduling.nodeclaims.names import DEVICES_AS_PROMISED, INITIALIZED
from dra_scheduling.nodeclaims.nodeslices import NodeSlices
from dra_scheduling.nodeclaims.steps import ChangeType, Notice
from dra_scheduling.nodeclaims.times import seconds_of, time_of
from dra_scheduling.reasons import in_short

FIRST_PAUSE = 300.0
LONGEST_PAUSE = 6 * 3600.0
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


def has_failed(claim: NodeClaim) -> bool:
    """Whether the NodeClaim has come up without its devices, or without some of them."""
    initialized, said = claim.condition(INITIALIZED), claim.condition(DEVICES_AS_PROMISED)
    is_late = initialized is not None and initialized.status == "False"
    return is_late or (said is not None and said.status == "False" and said.reason == MISSING)


def is_counted(instance_type: InstanceType, claim: NodeClaim) -> bool:
    """Whether the failure of a NodeClaim of this type is one of those that the type's status speaks of."""
    return seconds_of(claim.metadata.creation_timestamp) <= _last_failure(instance_type)


def failed(instance_type: InstanceType, claim: NodeClaim, now: str) -> ChangeType | None:
    """Return how the type's failures are to be counted after this NodeClaim's, None where it is counted already."""
    status = instance_type.status
    if is_counted(instance_type, claim):
        return None
    failures = status.device_failures + 1
    retry_after = time_of(seconds_of(now) + _pause(failures))
    message = (
        f"NodeClaim {claim.name} came up without its devices: none is made for pods with devices until {retry_after}"
    )
    notice = Notice(reason="DeviceFailure", message=message)
    return ChangeType(name=instance_type.name, failures=failures, retry_after=retry_after, notices=(notice,))


def succeeded(instance_type: InstanceType, claim: NodeClaim) -> ChangeType | None:
    """Return that the type's failures are over, None where there are none or all came after this NodeClaim."""
    initialized = claim.condition(INITIALIZED)
    if not instance_type.status.device_failures or initialized is None:
        return None
    if seconds_of(initialized.last_transition_time) <= _last_failure(instance_type):
        return None
    return ChangeType(name=instance_type.name, failures=0, retry_after="")


def _promised(expanded: Expanded, driver: str) -> dict[str, Device]:
    pools = (pool for pool in expanded.devices.pools if pool.driver == driver)
    return {device.name: device for pool in pools for device in pool.devices}


def _binding(device: Device) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Return what a pod waits for that gets the device, in whatever order it is written."""
    return device.binds_to_node, frozenset(device.binding_conditions), frozenset(device.binding_failure_conditions)


def _pause(failures: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))


def _last_failure(instance_type: InstanceType) -> float:
    status = instance_type.status
    if not status.device_failures or not status.retry_after:
        return 0.0
    return seconds_of(status.retry_after) - _pause(status.device_failures)
