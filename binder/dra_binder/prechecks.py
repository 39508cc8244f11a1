"""What must hold before anything is written: the API server protects claims, but never devices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dra_binder.allocations import clash, classes_of, devices_of, is_reserved_for, is_same_allocation, is_same_requests
from dra_binder.conflicts import drawn
from dra_binder.plan import Plan, RegularClaim, standing, unknown_request
from dra_binder.ports import Presence, View
from dra_binder.stops import GiveUp, Retry
from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import (
    EXTENDED_CLAIM_ANNOTATION,
    MAX_CONSUMERS_PER_CLAIM,
    AllocationResult,
    ResourceClaim,
)
from dra_scheduling.model.fractions import FRACTION_TYPES, INSTEAD, fraction_problem
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Node


def refusal(
    request: BindRequest, plan: Plan, claims: Mapping[ObjectKey, ResourceClaim], view: View
) -> GiveUp | Retry | None:
    """Return why the plan may not be carried out, whoever decided it, or None.

    `claims` are the regular claims as the server holds them. Allocations that are there already were checked when they
    were written, so only the node has to match.
    """
    fraction = _fraction(request, plan)
    if fraction is not None:
        return fraction
    node = view.node(plan.node)
    if node is None:
        return Retry(f"node {plan.node} does not exist")
    unserved = _unserved(plan, node)
    if unserved is not None:
        return unserved
    for regular in plan.regular:
        refused = unusable(regular, claims[regular.key], plan)
        if refused is not None:
            return refused
    for allocation in _allocations(plan, claims):
        selector = allocation.node_selector
        if selector is not None and not view.matches(selector, plan.node):
            devices = ", ".join(str(result.device_id) for result in allocation.devices.results)
            return GiveUp(f"node {plan.node} cannot reach {devices}: the allocation's node selector excludes it")
    unwritten = _unwritten(plan, claims, view)
    return (
        _unpublished(unwritten, plan.node, view)
        or _taken(request, plan, unwritten, view)
        or _overdrawn(plan, unwritten, view)
    )


def is_written(plan: Plan, claims: Mapping[ObjectKey, ResourceClaim], view: View) -> bool:
    """Whether all allocations of the plan are in claims already."""
    return not _unwritten(plan, claims, view)


def is_contended(plan: Plan, claims: Mapping[ObjectKey, ResourceClaim], view: View) -> bool:
    """Whether another scheduler may be giving out the devices that the plan would add to claims."""
    unwritten = _unwritten(plan, claims, view)
    pools = {device.pool_key for _, allocation in unwritten for device in devices_of(allocation)}
    if not pools:
        return False
    classes = {name for claim in claims.values() for name in classes_of(claim.spec.devices.requests)}
    if plan.extended is not None:
        classes.update(classes_of(plan.extended.device_requests))
    return view.is_contended(pools, classes)


def unusable(regular: RegularClaim, claim: ResourceClaim, plan: Plan) -> GiveUp | None:
    """Return why the pod cannot be added to the claim in the state given, or None."""
    uid = plan.pod.metadata.uid
    subject = f"claim {claim.key}"
    owner = claim.metadata.controller
    if claim.metadata.is_deleting:
        return GiveUp(f"{subject} is being deleted")
    if regular.uid not in {"", claim.metadata.uid}:
        return GiveUp(f"{subject} is not the one that was decided about: it was made anew meanwhile")
    if claim.metadata.annotations.get(EXTENDED_CLAIM_ANNOTATION) == "true":
        return GiveUp(f"{subject} is the extended resource claim of a pod, which nobody else may use")
    if regular.is_generated and (owner is None or owner.uid != uid):
        return GiveUp(f"{subject} was not generated for pod {plan.pod.key} with UID {uid}")
    return _mismatch(regular, claim) or _overcrowded(claim, uid)


def is_reusable(claim: ResourceClaim, plan: Plan) -> bool:
    """Whether a special claim that exists already is what this plan would create (devices and node included)."""
    extended = plan.extended
    return (
        extended is not None
        and claim.is_special_claim_of(plan.pod.metadata.name, plan.pod.metadata.uid)
        and not claim.metadata.is_deleting
        and is_same_requests(extended.device_requests, claim.spec.devices.requests)
        and (claim.status.allocation is None or is_same_allocation(claim.status.allocation, extended.allocation))
    )


def special_claims(plan: Plan, view: View) -> tuple[ResourceClaim, ...]:
    """Return the pod's special claims as far as the cache knows: the one in the pod's status first, then the oldest."""
    pod = plan.pod
    status = pod.status.extended_resource_claim_status
    named = status.resource_claim_name if status else ""
    found = [
        claim
        for claim in view.claims_of_pod(pod.metadata.uid)
        if claim.is_special_claim_of(pod.metadata.name, pod.metadata.uid)
    ]
    return tuple(
        sorted(
            found,
            key=lambda claim: (claim.metadata.name != named, claim.metadata.creation_timestamp, claim.metadata.name),
        )
    )


def _fraction(request: BindRequest, plan: Plan) -> GiveUp | None:
    kind = request.spec.received_resource_type
    if kind in FRACTION_TYPES:
        return GiveUp(f"receivedResourceType {kind} is not supported: {INSTEAD}")
    problem = fraction_problem(plan.pod)
    return GiveUp(f"pod {plan.pod.key}: {problem}") if problem is not None else None


def _unserved(plan: Plan, node: Node) -> GiveUp | None:
    """Return the first extended resource of a container that kubelet would not find, and refuse the pod for."""
    mappings = plan.extended.container_mappings if plan.extended is not None else ()
    served = {(mapping.container_name, mapping.resource_name) for mapping in mappings}
    for container in (*plan.pod.spec.init_containers, *plan.pod.spec.containers):
        for name, asked in sorted((container.resources.requests | container.resources.limits).items()):
            if not is_extended_name(name) or not asked.nano or (container.name, name) in served:
                continue
            offered = node.status.allocatable.get(name)
            if offered is None or not offered.nano:
                return GiveUp(
                    f"container {container.name} wants {name}, which node {plan.node} does not have, "
                    "and the BindRequest has no claim for it"
                )
    return None


def _mismatch(regular: RegularClaim, claim: ResourceClaim) -> GiveUp | None:
    held, decided = claim.status.allocation, regular.allocation
    if decided is None:
        if held is None:
            return GiveUp(f"the BindRequest holds no allocation for claim {claim.key}, and it is not allocated yet")
        return None
    if held is not None and not is_same_allocation(held, decided):
        return GiveUp(f"claim {claim.key} has been allocated to other devices meanwhile")
    stray = unknown_request(decided, claim.spec.devices.requests)
    return GiveUp(f"the BindRequest does not fit claim {claim.key}: it {stray}") if stray else None


def _overcrowded(claim: ResourceClaim, uid: str) -> GiveUp | None:
    if is_reserved_for(claim, uid) or len(claim.status.reserved_for) < MAX_CONSUMERS_PER_CLAIM:
        return None
    return GiveUp(f"claim {claim.key} has {MAX_CONSUMERS_PER_CLAIM} consumers already, the most that Kubernetes allows")


def _allocations(plan: Plan, claims: Mapping[ObjectKey, ResourceClaim]) -> Iterator[AllocationResult]:
    for regular in plan.regular:
        allocation = regular.allocation or claims[regular.key].status.allocation
        if allocation is not None:
            yield allocation
    if plan.extended is not None:
        yield plan.extended.allocation


def _unwritten(
    plan: Plan, claims: Mapping[ObjectKey, ResourceClaim], view: View
) -> Sequence[tuple[ObjectKey | None, AllocationResult]]:
    """Return the allocations that this bind would add, by claim; the special claim has no name yet."""
    new: list[tuple[ObjectKey | None, AllocationResult]] = [
        (regular.key, regular.allocation)
        for regular in plan.regular
        if regular.allocation is not None and claims[regular.key].status.allocation is None
    ]
    written = any(
        claim.status.allocation is not None and is_reusable(claim, plan) for claim in special_claims(plan, view)
    )
    if plan.extended is not None and not written:
        new.append((None, plan.extended.allocation))
    return new


def _unpublished(
    unwritten: Iterable[tuple[ObjectKey | None, AllocationResult]], node: str, view: View
) -> GiveUp | None:
    for _, allocation in unwritten:
        for result in allocation.devices.results:
            presence = view.presence(result.device_id, node)
            if presence is Presence.ABSENT:
                return GiveUp(f"device {result.device_id} is not published any more")
            if presence is Presence.ELSEWHERE:
                return GiveUp(f"device {result.device_id} cannot be reached from node {node}")
    return None


def _taken(
    request: BindRequest, plan: Plan, unwritten: Iterable[tuple[ObjectKey | None, AllocationResult]], view: View
) -> GiveUp | None:
    pod = plan.pod.metadata
    for key, allocation in unwritten:
        for device in devices_of(allocation):
            for claim in view.claims_holding(device):
                is_own = claim.key == key or claim.is_special_claim_of(pod.name, pod.uid)
                if not is_own and clash(allocation, claim.status.allocation):
                    return GiveUp(f"device {device} is held by claim {claim.key}")
            for other in view.bind_requests_holding(device):
                if _is_older(other, request) and _is_rival(other, key, allocation, view):
                    return GiveUp(f"device {device} is promised to pod {other.pod_key} by BindRequest {other.key}")
    return None


def _overdrawn(plan: Plan, unwritten: Sequence[tuple[ObjectKey | None, AllocationResult]], view: View) -> GiveUp | None:
    """Return why there is not enough left of something that claims draw from."""
    allocations = [allocation for _, allocation in unwritten]
    own = {key for key, _ in unwritten} | {claim.key for claim in special_claims(plan, view)}
    for account in sorted({draw.account for allocation in allocations for draw in view.draws(allocation)}):
        limit = view.limit(account)
        others = [claim.status.allocation for claim in view.claims_drawing(account) if claim.key not in own]
        parts: dict[str, int] = {}
        for allocation in (*others, *allocations):
            parts |= drawn(allocation, account, view)
        if limit is not None and sum(parts.values()) > limit:
            return GiveUp(f"there is not enough left of {account}")
    return None


def _is_older(other: BindRequest, request: BindRequest) -> bool:
    def age(one: BindRequest) -> tuple[str, str]:
        return one.metadata.creation_timestamp, one.metadata.uid

    return age(other) < age(request)


def _is_rival(other: BindRequest, key: ObjectKey | None, allocation: AllocationResult, view: View) -> bool:
    """Whether a BindRequest whose pod still waits gives a device of the allocation to another claim than `key`.

    Without a key the allocation is that of a special claim, which is no claim of another pod.
    """
    pod = view.pod(other.pod_key)
    if pod is None or standing(other, pod) is not None:
        return False
    keys = claim_keys(pod)
    promised = [
        entry.allocation
        for entry in other.spec.resource_claim_allocations
        if key is None or keys.get(entry.name) != key
    ]
    if other.spec.extended_resource_claim_allocation is not None:
        promised.append(other.spec.extended_resource_claim_allocation.allocation)
    return any(clash(allocation, one) for one in promised)
