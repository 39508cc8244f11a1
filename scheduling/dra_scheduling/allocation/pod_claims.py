"""The claims that a pod names: what is to be allocated, what is allocated already, and what the pod still waits for."""

from collections.abc import Callable, Collection, Iterable

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.model.claims import MAX_CONSUMERS_PER_CLAIM, AllocationResult, ResourceClaim
from dra_scheduling.model.fractions import fraction_problem
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.namespaces import ADMIN_ACCESS_LABEL, Namespace
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pod_claim_names import claim_key, claim_names
from dra_scheduling.model.pods import Pod, PodResourceClaim

ClaimLookup = Callable[[ObjectKey], ResourceClaim | None]
AllocationLookup = Callable[[ObjectKey], AllocationResult | None]
ConsumerLookup = Callable[[ObjectKey], Collection[str]]


class PodClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `spec.resourceClaims` that needs a claim; `allocation` is written or on its way, None if neither."""

    name: str
    claim: ResourceClaim
    allocation: AllocationResult | None = None


class ResolvedClaims(msgspec.Struct, frozen=True):
    """The claims of a pod in the order of its spec, all of them usable."""

    claims: tuple[PodClaim, ...] = ()

    @property
    def unallocated(self) -> tuple[PodClaim, ...]:
        """The claims to allocate; one that the pod names twice is there once."""
        once: dict[ObjectKey, PodClaim] = {}
        for item in self.claims:
            if item.allocation is None:
                once.setdefault(item.claim.key, item)
        return tuple(once.values())


def resolve(
    pod: Pod, claim_of: ClaimLookup, allocation_of: AllocationLookup, consumers_of: ConsumerLookup
) -> ResolvedClaims | Refusal:
    """Return the pod's claims, or the first reason to wait; the reason holds on every node.

    `allocation_of` and `consumers_of` (pod uids) tell what unfinished BindRequests and plans give to a claim: an
    allocation on its way counts like a written one, with its node selector, and so do its consumers.
    """
    problem = fraction_problem(pod)
    if problem is not None:
        return _waiting("FractionNotSupported", problem)
    resolved: list[PodClaim] = []
    for entry in pod.spec.resource_claims:
        claim = _claim_behind(pod, entry, claim_of)
        if claim is None:
            continue
        if isinstance(claim, Refusal):
            return claim
        refusal = _unusable(pod, claim, consumers_of)
        if refusal is not None:
            return refusal
        allocation = claim.status.allocation or allocation_of(claim.key)
        resolved.append(PodClaim(name=entry.name, claim=claim, allocation=allocation))
    return ResolvedClaims(tuple(resolved))


def reach_refusal(claims: ResolvedClaims, meets: Callable[[NodeSelectorTerm], bool]) -> Refusal | None:
    """Return the first allocated claim whose devices a host cannot use; `meets` says which terms hold for it."""
    for item in claims.claims:
        selector = item.allocation.node_selector if item.allocation is not None else None
        if selector is not None and not any(map(meets, selector.node_selector_terms)):
            message = f"out of reach of the devices that ResourceClaim {item.claim.key} has"
            return Refusal(
                reason="ClaimAllocatedElsewhere", message=message, wake=ClusterEvent.NODE | ClusterEvent.CLAIMS
            )
    return None


def admin_refusal(claims: ResolvedClaims, namespace: Namespace | None) -> Refusal | None:
    """Return the first claim that asks for admin access from a namespace that may not have it.

    The API server checks the same when the claim is created; the label may have gone since.
    """
    if namespace is not None and namespace.allows_admin_access:
        return None
    for item in claims.unallocated:
        for request in item.claim.spec.devices.requests:
            if request.exactly is not None and request.exactly.admin_access:
                label = f"{ADMIN_ACCESS_LABEL}: true"
                message = (
                    f"ResourceClaim {item.claim.key} request {request.name}: adminAccess needs the label "
                    f"{label} on the namespace"
                )
                return Refusal(reason="AdminAccessNotAllowed", message=message, wake=ClusterEvent.CLAIMS)
    return None


def leftover_refusal(pod: Pod, claims: Iterable[ResourceClaim]) -> Refusal | None:
    """Return why an unbound pod without a living BindRequest waits: special claims of it are left over.

    They hold devices for it, and kubelet could mistake them for a new one. Claims that only look like the pod's (other
    namespace, other owner, another pod of that name) do not count.
    """
    meta = pod.metadata
    left = sorted(
        claim.metadata.name
        for claim in claims
        if claim.metadata.namespace == meta.namespace and claim.is_special_claim_of(meta.name, meta.uid)
    )
    if not left:
        return None
    message = f"waits until ResourceClaim {left[0]}, left over from an earlier attempt, is gone"
    if len(left) > 1:
        message = f"waits until several ResourceClaims left over from earlier attempts are gone: {', '.join(left)}"
    return Refusal(reason="StaleExtendedResourceClaim", message=message, wake=ClusterEvent.CLAIMS)


def _claim_behind(pod: Pod, entry: PodResourceClaim, claim_of: ClaimLookup) -> ResourceClaim | Refusal | None:
    """Return the claim of one entry, None if it needs none."""
    key = claim_key(pod, entry.name)
    if key is not None:
        claim = claim_of(key)
        if claim is None:
            return _waiting("ClaimMissing", f"ResourceClaim {key} does not exist")
        is_foreign = not entry.resource_claim_name and not _is_controlled_by(claim, pod)
        message = f"ResourceClaim {key} was not made for this pod, though its status names it for {entry.name}"
        owner = claim.metadata.controller
        if owner is not None and owner.kind == "PodGroup":
            message = f"{message}: it belongs to PodGroup {owner.name}, and DRAWorkloadResourceClaims is not supported"
        return _waiting("ClaimOfAnotherPod", message) if is_foreign else claim
    if not entry.resource_claim_template_name:
        return _waiting("ClaimUnnamed", f"spec.resourceClaims, {entry.name}: expected a claim or a template")
    if entry.name not in claim_names(pod):
        template = ObjectKey(pod.metadata.namespace, entry.resource_claim_template_name)
        message = f"claim {entry.name} is not yet made from ResourceClaimTemplate {template}"
        return _waiting("ClaimNotCreated", f"{message}: does that exist, and does kube-controller-manager run?")
    return None


def _unusable(pod: Pod, claim: ResourceClaim, consumers_of: ConsumerLookup) -> Refusal | None:
    if claim.metadata.is_deleting:
        return _waiting("ClaimBeingDeleted", f"ResourceClaim {claim.key} is being deleted")
    consumers = {consumer.uid for consumer in claim.status.reserved_for}
    consumers.update(consumers_of(claim.key))
    if pod.metadata.uid not in consumers and len(consumers) >= MAX_CONSUMERS_PER_CLAIM:
        message = (
            f"too many consumers: ResourceClaim {claim.key} has {len(consumers)}, {MAX_CONSUMERS_PER_CLAIM} at most"
        )
        return _waiting("ClaimConsumersFull", message)
    return None


def _is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def _waiting(reason: str, message: str) -> Refusal:
    return Refusal(reason=reason, message=message, wake=ClusterEvent.POD | ClusterEvent.CLAIMS)
