"""How a host says why it does not take a pod."""

import msgspec

from dra_scheduling.allocation.allocation_refusals import NO_MATCH
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.provisioning.merge_refusals import REQUIREMENTS_CONFLICT

ANY_CHANGE = ClusterEvent.NODE | ClusterEvent.SUPPLY


def conflict_refusal(wanted: Requirement, known: Requirement) -> Refusal:
    """Return the refusal where labels of the host cannot be what the pod requires."""
    refusal = host_refusal(REQUIREMENTS_CONFLICT, f"the pod requires {wanted.key} {_values(wanted)}")
    has = _values(known) if known.values or known.excludes else "none"
    return msgspec.structs.replace(refusal, details=(f"it has {has}",))


def _values(requirement: Requirement) -> str:
    if requirement.excludes:
        listed = ", ".join(sorted(requirement.values))
        return f"other than {listed}" if listed else "of any value"
    return " or ".join(sorted(requirement.values)) or "absent"


def host_refusal(reason: str, message: str, more: ClusterEvent = ClusterEvent.NOTHING) -> Refusal:
    """Return a refusal that another node or another supply of them may lift."""
    return Refusal(reason=reason, message=message, wake=ANY_CHANGE | more)


FULL = host_refusal("InsufficientResource", "there is no room left", more=ClusterEvent.ROOM)
TAKEN = host_refusal(NO_MATCH, "the devices that are left do not suffice")
