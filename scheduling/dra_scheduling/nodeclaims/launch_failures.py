"""What machines of an InstanceType have failed at, and for how long the type is left alone therefore.

The pause doubles with every failure in a row. NodeClaims that were made before a failure was known belong to it: a
hundred machines that come up together without devices are one failure, and writing it down twice changes nothing.
"""

from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.model.instancetypes import Failure, InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.lifecycle_steps import DEVICES_AS_PROMISED, INITIALIZED, REGISTERED, ChangeType, Notice
from dra_scheduling.nodeclaims.promised_devices import MISSING

FIRST_PAUSE = 300.0
LONGEST_PAUSE = 6 * 3600.0
LAUNCH_TIMEOUT = "LaunchTimeout"
REGISTRATION_TIMEOUT = "RegistrationTimeout"
REASONS = {Failure.REGISTRATION: "RegistrationFailure", Failure.DEVICES: "DeviceFailure"}
TEXTS = {
    Failure.REGISTRATION: "did not become a node: none is made",
    Failure.DEVICES: "came up without its devices: none is made for pods with devices",
}
PROOFS = {Failure.REGISTRATION: REGISTERED, Failure.DEVICES: INITIALIZED}
"""What a NodeClaim says whose machine has not failed."""


def has_failed(claim: NodeClaim, failure: Failure) -> bool:
    """Whether the machine has failed at that; devices fail where some of them are missing, too."""
    if failure is Failure.REGISTRATION:
        # Others say `False` of a registration that may still succeed.
        registered = claim.condition(REGISTERED)
        return registered is not None and registered.status == "False" and registered.reason == REGISTRATION_TIMEOUT
    initialized, said = claim.condition(INITIALIZED), claim.condition(DEVICES_AS_PROMISED)
    is_late = initialized is not None and initialized.status == "False"
    return is_late or (said is not None and said.status == "False" and said.reason == MISSING)


def is_counted(instance_type: InstanceType, claim: NodeClaim, failure: Failure) -> bool:
    """Whether the failure of a NodeClaim of this type is one of those that the type's status speaks of."""
    return seconds_of(claim.metadata.creation_timestamp) <= _last_failure(instance_type, failure)


def failed(instance_type: InstanceType, claim: NodeClaim, failure: Failure, now: str) -> ChangeType | None:
    """Return how the type's failures are to be counted after this NodeClaim's, None where it is counted already."""
    if is_counted(instance_type, claim, failure):
        return None
    failures = instance_type.status.row(failure)[0] + 1
    retry_after = time_of(seconds_of(now) + _pause(failures))
    message = f"NodeClaim {claim.name} {TEXTS[failure]} until {retry_after}"
    notice = Notice(reason=REASONS[failure], message=message)
    return ChangeType(
        name=instance_type.name, failure=failure, failures=failures, retry_after=retry_after, notices=(notice,)
    )


def succeeded(instance_type: InstanceType, claim: NodeClaim, failure: Failure) -> ChangeType | None:
    """Return that the type's failures are over, None where there are none or all came after this NodeClaim."""
    proof = claim.condition(PROOFS[failure])
    if not instance_type.status.row(failure)[0] or proof is None or not proof.is_true:
        return None
    if seconds_of(proof.last_transition_time) <= _last_failure(instance_type, failure):
        return None
    return ChangeType(name=instance_type.name, failure=failure, failures=0, retry_after="")


def _pause(failures: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 16))


def _last_failure(instance_type: InstanceType, failure: Failure) -> float:
    failures, retry_after = instance_type.status.row(failure)
    if not failures or not retry_after:
        return 0.0
    return seconds_of(retry_after) - _pause(failures)
