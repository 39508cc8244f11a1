"""What a start finds unfinished: a pure function of the cache."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_binder.allocations import consumer_keys, is_reserved_for
from dra_binder.undo import Leftover
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Pod


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The BindRequests to go on with and the leftovers to undo, both in a fixed order."""

    bind_requests: tuple[BindRequest, ...] = ()
    leftovers: tuple[Leftover, ...] = ()


def sweep(
    bind_requests: Iterable[BindRequest],
    claims: Iterable[ResourceClaim],
    pods: Mapping[ObjectKey, Pod],
    scheduler_name: str,
) -> Remains:
    """Return everything that an earlier process left half-done.

    Of a bound pod that is any special claim beside the one that it names. Claims of pods that are gone are left to the
    garbage collector and the claim controller, those of other schedulers' pods to them. To be called before any bind
    starts, or without the pods that one is running for.
    """
    living = sorted(
        (request for request in bind_requests if not request.has_ended),
        key=lambda one: (one.metadata.creation_timestamp, one.metadata.uid),
    )
    spoken_for = {request.pod_uid for request in living}
    held: dict[ObjectKey, list[ResourceClaim]] = {}
    for claim in claims:
        for key, uid in consumer_keys(claim):
            pod = pods.get(key)
            if pod is not None and pod.metadata.uid == uid and uid not in spoken_for:
                held.setdefault(key, []).append(claim)
    leftovers = (
        leftover_of(pods[key], values)
        for key, values in sorted(held.items())
        if pods[key].spec.scheduler_name == scheduler_name
    )
    return Remains(
        bind_requests=tuple(living),
        leftovers=tuple(leftover for leftover in leftovers if leftover.special or leftover.regular),
    )


def leftover_of(pod: Pod, claims: Iterable[ResourceClaim]) -> Leftover:
    """Return which of the claims hold something for the pod.

    A claim that the pod refers to is never its special one, whatever its template made it look like.
    """
    name, uid = pod.metadata.name, pod.metadata.uid
    referred = set(claim_keys(pod).values())
    special: set[ObjectKey] = set()
    regular: set[ObjectKey] = set()
    for claim in claims:
        if claim.key not in referred and claim.is_special_claim_of(name, uid):
            special.add(claim.key)
        elif is_reserved_for(claim, uid):
            regular.add(claim.key)
    found = Leftover(pod=pod.key, uid=uid, special=frozenset(special), regular=frozenset(regular))
    return unneeded(found, pod) if pod.spec.node_name else found


def unneeded(leftover: Leftover, bound: Pod) -> Leftover:
    """Return what of this a bound pod does not use: kubelet reads no special claim but the one that the pod names.

    Where it names none, whoever bound it may have meant any of them.
    """
    status = bound.status.extended_resource_claim_status
    named = ObjectKey(bound.key.namespace, status.resource_claim_name) if status is not None else None
    return msgspec.structs.replace(
        leftover, special=leftover.special - {named} if named is not None else frozenset(), regular=frozenset()
    )
