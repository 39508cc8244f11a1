"""What a BindRequest asks to be written, as a function of the BindRequest and its pod."""

import hashlib
from collections import Counter
from collections.abc import Iterable

import msgspec

from dra_binder.stops import GiveUp, Gone, Retry, Stop
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.bindrequests import BindRequest, BindRequestSpec, ExtendedResourceClaimAllocation
from dra_scheduling.model.claims import (
    CLAIM_FINALIZER,
    EXTENDED_CLAIM_ANNOTATION,
    MAX_DEVICES_PER_CLAIM,
    AllocationResult,
    DeviceClaim,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys, claim_names
from dra_scheduling.model.pods import NodeAllocatableResourceClaimStatus, Pod, PodExtendedResourceClaimStatus

SPECIAL_INFIX = "-extended-resources-"
NAME_LENGTH = 63
SUFFIX_LENGTH = 5
# What API servers draw their own suffixes from: no vowels, nothing that reads like another letter.
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SPECIAL_NAMES = 3


class Bound(msgspec.Struct, frozen=True):
    """The pod is on this node."""

    node: str


class RegularClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of `pod.spec.resourceClaims`.

    `allocation` is None where the BindRequest says nothing of it: then it must be allocated already. A claim that was
    generated from a template is usable for its own pod only. `uid` is empty where the BindRequest does not say which
    claim of that name was decided about.
    """

    key: ObjectKey
    uid: str
    is_generated: bool
    allocation: AllocationResult | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to write for one pod, well-formed as far as BindRequest and pod can tell."""

    pod: Pod
    node: str
    regular: tuple[RegularClaim, ...]
    extended: ExtendedResourceClaimAllocation | None
    of_node: tuple[NodeAllocatableResourceClaimStatus, ...] = ()

    def taken_of_node(self, special: ResourceClaim | None) -> tuple[NodeAllocatableResourceClaimStatus, ...]:
        """Return what kubelet reads: what each claim takes of the node's own resources.

        The special claim has no name in the decision, because it is only made now.
        """
        name = special.metadata.name if special is not None else ""
        return tuple(
            each if each.resource_claim_name else msgspec.structs.replace(each, resource_claim_name=name)
            for each in self.of_node
        )

    def pod_status(self, claim: ResourceClaim) -> PodExtendedResourceClaimStatus:
        """Return what kubelet reads: which claim serves which container's extended resource."""
        mappings = self.extended.container_mappings if self.extended else ()
        return PodExtendedResourceClaimStatus(resource_claim_name=claim.metadata.name, request_mappings=mappings)


def standing(request: BindRequest, pod: Pod | None) -> Bound | GiveUp | Gone | None:
    """Return where the pod has got to, or None while it waits to be bound."""
    uid = request.pod_uid
    if pod is not None and not uid:
        return GiveUp(f"BindRequest {request.key} is malformed: it names no pod UID, in podUID or as owner")
    if pod is None or pod.metadata.uid != uid:
        return Gone(f"pod {request.pod_key} with UID {uid} no longer exists")
    node = pod.spec.node_name
    if node:
        is_ours = node == request.spec.selected_node
        return Bound(node) if is_ours else GiveUp(f"pod {pod.key} is already bound to node {node}")
    if pod.is_finished:
        return GiveUp(f"pod {pod.key} has ended already ({pod.status.phase})")
    if pod.metadata.is_deleting:
        return GiveUp(f"pod {pod.key} is being deleted")
    return None


def make_plan(request: BindRequest, pod: Pod) -> Plan | Stop:
    """Return what is to be written for an unbound pod.

    A malformed BindRequest is given up: entries for claims the pod does not have, no devices, too many, one twice,
    or requests and mappings that do not belong together.
    """
    spec = request.spec
    keys = claim_keys(pod)
    problem = _problem(spec, pod, keys)
    if problem is not None:
        return GiveUp(f"BindRequest {request.key} is malformed: {problem}")
    entries = {entry.name: entry for entry in spec.resource_claim_allocations}
    names = claim_names(pod)
    regular: dict[ObjectKey, RegularClaim] = {}
    for reference in pod.spec.resource_claims:
        if reference.name not in names:
            return Retry(
                f"the claim for {reference.name!r} of pod {pod.key} has not been created from its template yet"
            )
        key = keys.get(reference.name)
        if key is not None and (key not in regular or regular[key].allocation is None):
            entry = entries.get(reference.name)
            regular[key] = RegularClaim(
                key=key,
                uid=entry.claim_uid if entry else "",
                is_generated=bool(reference.resource_claim_template_name),
                allocation=entry.allocation if entry else None,
            )
    return Plan(
        pod=pod,
        node=spec.selected_node,
        of_node=spec.node_allocatable_resource_claim_statuses,
        regular=tuple(regular.values()),
        extended=spec.extended_resource_claim_allocation,
    )


def special_claim(plan: Plan, name: str) -> ResourceClaim:
    """Return the pod's extended resource claim to create.

    The API server charges ResourceQuota only once for it if annotation and controller are exactly these. The owner does
    not block deletion, since that would need finalizer rights on pods.
    """
    pod, extended = plan.pod, plan.extended
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name,
            generate_name=_special_base(pod.metadata.name),
            namespace=pod.metadata.namespace,
            annotations={EXTENDED_CLAIM_ANNOTATION: "true"},
            finalizers=(CLAIM_FINALIZER,),
            owner_references=(
                OwnerReference(
                    api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True
                ),
            ),
        ),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=extended.device_requests if extended else ())),
    )


def special_names(pod_name: str, pod_uid: str, in_status: str) -> tuple[str, ...]:
    """Return the names under which the special claim may be created, best first.

    A name that the pod's status already holds comes first: under any other one, ResourceQuota would charge the claim a
    second time. The others follow from the pod's UID, so that a creation whose answer was lost is found again, without
    a list, and never made twice; there are several because a name may be taken by somebody else's claim.
    """
    base = _special_base(pod_name)
    derived = (base + _suffix(f"{pod_uid}/{turn}") for turn in range(SPECIAL_NAMES))
    return (in_status, *derived) if in_status else tuple(derived)


def _special_base(pod_name: str) -> str:
    room = NAME_LENGTH - SUFFIX_LENGTH - len(SPECIAL_INFIX)
    return pod_name[:room].rstrip("-.") + SPECIAL_INFIX


def _suffix(seed: str) -> str:
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8])
    letters = []
    for _ in range(SUFFIX_LENGTH):
        number, letter = divmod(number, len(SUFFIX_LETTERS))
        letters.append(SUFFIX_LETTERS[letter])
    return "".join(letters)


def _problem(spec: BindRequestSpec, pod: Pod, keys: dict[str, ObjectKey]) -> str | None:
    if not spec.selected_node:
        return "it names no node"
    unknown = {entry.name for entry in spec.resource_claim_allocations} - {ref.name for ref in pod.spec.resource_claims}
    if unknown:
        return f"pod {pod.key} has no resource claim {min(unknown)!r}"
    allocations: dict[object, AllocationResult] = {}
    for entry in spec.resource_claim_allocations:
        key = keys.get(entry.name, entry.name)
        if allocations.setdefault(key, entry.allocation) != entry.allocation:
            return f"it allocates claim {entry.name!r} twice"
    if spec.extended_resource_claim_allocation is not None:
        problem = _extended_problem(spec.extended_resource_claim_allocation)
        if problem is not None:
            return f"extendedResourceClaimAllocation {problem}"
        allocations["extendedResourceClaimAllocation"] = spec.extended_resource_claim_allocation.allocation
    return _device_problem(allocations)


def _device_problem(allocations: dict[object, AllocationResult]) -> str | None:
    for claim, allocation in allocations.items():
        if not allocation.devices.results:
            return f"the allocation of {claim} holds no device"
        if len(allocation.devices.results) > MAX_DEVICES_PER_CLAIM:
            return f"the allocation of {claim} holds more than {MAX_DEVICES_PER_CLAIM} devices"
    counts = Counter(
        (result.device_id, result.share_id)
        for allocation in allocations.values()
        for result in allocation.devices.results
        if not result.admin_access
    )
    twice = [device for (device, _), count in counts.items() if count > 1]
    return f"device {min(twice)} is given out twice" if twice else None


def _extended_problem(extended: ExtendedResourceClaimAllocation) -> str | None:
    if not extended.device_requests or not extended.container_mappings:
        return "needs deviceRequests and containerMappings"
    names = {request.name for request in extended.device_requests}
    stray = {mapping.request_name for mapping in extended.container_mappings} - names
    if stray:
        return f"maps a container to request {min(stray)!r}, which deviceRequests does not have"
    return unknown_request(extended.allocation, extended.device_requests)


def unknown_request(allocation: AllocationResult, requests: Iterable[DeviceRequest]) -> str | None:
    """Return what is wrong if the allocation answers a request that was never made."""
    names = {request.name for request in requests}
    names |= {f"{request.name}/{sub.name}" for request in requests for sub in request.first_available}
    for result in allocation.devices.results:
        if result.request not in names:
            return f"allocates device {result.device_id} for request {result.request!r}, which the claim does not have"
    return None
