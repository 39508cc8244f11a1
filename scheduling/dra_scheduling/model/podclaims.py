"""Which ResourceClaims belong to a pod: those it names, those made for it, and the special ones."""

from collections.abc import Iterable

import msgspec

from dra_scheduling.model.bindrequests import ExtendedResourceClaimAllocation
from dra_scheduling.model.claims import AllocationResult, DeviceRequest, ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod, PodResourceClaim


class SpecialClaims(msgspec.Struct, frozen=True):
    """The special claims that exist for a pod.

    `living` is the one that serves it or its present BindRequest. `stale` are left over from earlier attempts, the
    oldest first; they hold devices until they are cleaned away, also those that are being deleted already.
    """

    living: ResourceClaim | None = None
    stale: tuple[ResourceClaim, ...] = ()

    @property
    def is_conflicting(self) -> bool:
        """Whether there is more than one of them, which no attempt to bind leaves behind."""
        return len(self.stale) + (self.living is not None) > 1


def claim_key(pod: Pod, entry_name: str) -> ObjectKey | None:
    """Return the claim behind an entry of `spec.resourceClaims`.

    None where no claim is needed, where the one of a template is not made yet, and where there is no such entry.
    """
    for entry in pod.spec.resource_claims:
        if entry.name == entry_name:
            name = entry.resource_claim_name or made_claim(pod, entry) or ""
            return ObjectKey(pod.metadata.namespace, name) if name else None
    return None


def made_claim(pod: Pod, entry: PodResourceClaim) -> str | None:
    """Return the name of the claim made for a template entry: empty if none is needed, None while nobody has decided.

    Source: `status.resourceClaimStatuses` of core/v1 Pod.
    """
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name or ""
    return None


def special_claims(
    pod: Pod, claims: Iterable[ResourceClaim], decision: ExtendedResourceClaimAllocation | None
) -> SpecialClaims:
    """Return what the pod's special claims among `claims` are good for; claims of others are passed over.

    `decision` is what the pod's living BindRequest says about the special claim, if there is one: a claim serves it if
    it asks for the same, has nothing else allocated and is not being deleted. A bound pod is served by the claim that
    its status names; where that names none of them, nothing is stale, since the pod may be running with any.
    """
    named = pod.status.extended_resource_claim_status
    name = named.resource_claim_name if named is not None else ""
    own = sorted((claim for claim in claims if is_special_claim_of(claim, pod)), key=_age)
    own.sort(key=lambda claim: claim.metadata.name != name)
    if pod.spec.node_name:
        usable = own
        is_any_stale = bool(own) and own[0].metadata.name == name
    else:
        usable = [claim for claim in own if decision is not None and _serves(claim, decision)]
        is_any_stale = True
    living = usable[0] if usable else None
    stale = (claim for claim in own if claim is not living) if is_any_stale else ()
    return SpecialClaims(living=living, stale=tuple(sorted(stale, key=_age)))


def is_special_claim_of(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether this is a special claim of exactly this pod: namespace, annotation and controller with its uid agree."""
    meta = pod.metadata
    return claim.metadata.namespace == meta.namespace and claim.is_special_claim_of(meta.name, meta.uid)


def _age(claim: ResourceClaim) -> tuple[str, str]:
    return claim.metadata.creation_timestamp, claim.metadata.name


def _serves(claim: ResourceClaim, decision: ExtendedResourceClaimAllocation) -> bool:
    allocation = claim.status.allocation
    return (
        not claim.metadata.is_deleting
        and _wishes(claim.spec.devices.requests) == _wishes(decision.device_requests)
        and (allocation is None or _handed_out(allocation) == _handed_out(decision.allocation))
    )


def _wishes(requests: Iterable[DeviceRequest]) -> list[object]:
    """Return what requests of a special claim can differ in, with the server's defaults filled in."""
    return [
        (request.name, exact.device_class_name, exact.mode, exact.wanted)
        if (exact := request.exactly) is not None
        else request
        for request in requests
    ]


def _handed_out(allocation: AllocationResult) -> object:
    devices = [(result.request, result.device_id) for result in allocation.devices.results]
    return devices, allocation.node_selector
