"""Whether machines have the devices that their InstanceType promises, and for how long one that has not is left alone.

The pause doubles with every failure in a row. NodeClaims that were made before a failure was known belong to it: a
hundred nodes that come up together without devices are one failure, and writing it down twice changes nothing.
"""

from dra_scheduling.instancetypes import Expanded
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.gate import published_devices
from dra_scheduling.nodeclaims.names import DEVICES_AS_PROMISED, INITIALIZED
from dra_scheduling.nodeclaims.nodeslices import NodeSlices
from dra_scheduling.nodeclaims.steps import ChangeType, Notice
from dra_scheduling.nodeclaims.times import seconds_of, time_of

FIRST_PAUSE = 300.0
LONGEST_PAUSE = 6 * 3600.0
MISSING = "DevicesMissing"
UNEXPECTED = "DevicesUnexpected"
MOST_NAMED = 5


def compared(drivers: tuple[str, ...], expanded: Expanded | None, node: str, slices: NodeSlices) -> Condition | None:
    """Return what is to be said of the devices of these drivers on the node, None where nothing was promised."""
    promised = {} if expanded is None else _promised(expanded)
    missing, unexpected = [], []
    for driver in drivers:
        there, wanted = published_devices(node, driver, slices), promised.get(driver, frozenset[str]())
        missing += [f"{driver}/{name}" for name in sorted(wanted - there)]
        unexpected += [f"{driver}/{name}" for name in sorted(there - wanted)]
    if expanded is None or not drivers:
        return None
    if not missing and not unexpected:
        return Condition(type=DEVICES_AS_PROMISED, status="True", reason=DEVICES_AS_PROMISED)
    parts = [f"{what} {_named(names)}" for what, names in (("without", missing), ("with", unexpected)) if names]
    text = f"InstanceType {expanded.name} says otherwise: the node is {' and '.join(parts)}"
    return Condition(type=DEVICES_AS_PROMISED, status="False", reason=MISSING if missing else UNEXPECTED, message=text)


def failed(instance_type: InstanceType, claim: NodeClaim, now: str) -> ChangeType | None:
    """Return how the type's failures are to be counted after this NodeClaim's, None where it is counted already."""
    status = instance_type.status
    if seconds_of(claim.metadata.creation_timestamp) <= _last_failure(instance_type):
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


def _promised(expanded: Expanded) -> dict[str, frozenset[str]]:
    return {pool.driver: frozenset(device.name for device in pool.devices) for pool in expanded.devices.pools}


def _pause(failures: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))


def _last_failure(instance_type: InstanceType) -> float:
    status = instance_type.status
    if not status.device_failures or not status.retry_after:
        return 0.0
    return seconds_of(status.retry_after) - _pause(status.device_failures)


def _named(names: list[str]) -> str:
    left = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")
