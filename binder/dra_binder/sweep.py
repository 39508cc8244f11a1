"""What a start finds unfinished: a pure function of the cache."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_binder.allocations import consumer_keys, is_reserved_for
from dra_binder.plan import pod_uid_of
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """Claims that hold devices for a pod of ours that is unbound and that no living BindRequest speaks for."""

    pod: ObjectKey
    uid: str
    claims: tuple[ObjectKey, ...]


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

    Claims of pods that are gone are left to the garbage collector and the claim controller, those of other schedulers'
    pods to them. To be called before any bind starts, or without the pods that one is running for.
    """
    living = [request for request in bind_requests if not request.phase]
    spoken_for = {pod_uid_of(request) for request in living}
    held: dict[tuple[ObjectKey, str], list[ObjectKey]] = {}
    for claim in claims:
        for key, uid in consumer_keys(claim):
            pod = pods.get(key)
            if pod is None or pod.metadata.uid != uid or uid in spoken_for:
                continue
            is_waiting = not pod.spec.node_name and pod.spec.scheduler_name == scheduler_name
            if is_waiting and (claim.is_special_claim_of(key.name, uid) or is_reserved_for(claim, uid)):
                held.setdefault((key, uid), []).append(claim.key)
    return Remains(
        bind_requests=tuple(sorted(living, key=lambda one: (one.metadata.creation_timestamp, one.metadata.uid))),
        leftovers=tuple(
            Leftover(pod=pod, uid=uid, claims=tuple(sorted(keys))) for (pod, uid), keys in sorted(held.items())
        ),
    )
