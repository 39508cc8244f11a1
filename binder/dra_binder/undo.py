"""Taking a bind back, as a function of what the API server holds: whoever wrote it, now or before a crash."""

from collections.abc import Iterable

import msgspec

from dra_binder.allocations import is_reserved_for, released
from dra_binder.ports import Claims
from dra_binder.turns import Turns
from dra_kube.errors import ConflictError, MissingError
from dra_scheduling.model.claims import CLAIM_FINALIZER, AllocationResult, ResourceClaim
from dra_scheduling.model.ids import ObjectKey

MAX_CONFLICTS = 5


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """The claims that may hold devices for an unbound pod: extended resource claims of its own, and others."""

    pod: ObjectKey
    uid: str
    special: frozenset[ObjectKey]
    regular: frozenset[ObjectKey]


async def release(claims: Claims, turns: Turns, leftover: Leftover, ours: Iterable[AllocationResult] | None) -> None:
    """Delete the pod's special claims and take the pod out of the others.

    A claim that nobody else consumes loses its allocation too if that is one of `ours` (None: whatever it is). Nothing
    is written to claims that hold nothing of the pod. Raises `ApiError`; to be repeated then.
    """
    allocations = None if ours is None else tuple(ours)
    for key in sorted(leftover.special | leftover.regular):
        async with turns.at(key):
            await _release(claims, key, leftover, allocations)


async def discard(claims: Claims, claim: ResourceClaim) -> None:
    """Delete the special claim of an unbound pod; it is gone afterwards unless somebody else's finalizer holds it.

    Deleted first and freed of its finalizer last: nobody can reserve a claim that is being deleted, and after a crash
    in between the claim itself says what is left to do.
    """
    current = claim
    for turns_left in reversed(range(MAX_CONFLICTS)):
        try:
            held = current if current.metadata.is_deleting else await claims.delete(current)
            if held is not None and CLAIM_FINALIZER in held.metadata.finalizers:
                others = tuple(finalizer for finalizer in held.metadata.finalizers if finalizer != CLAIM_FINALIZER)
                await claims.replace_finalizers(held, others)
        except MissingError:
            return
        except ConflictError:
            if not turns_left:
                raise
            found = await _find(claims, claim.key)
            if found is None or found.metadata.uid != claim.metadata.uid:
                return
            current = found
        else:
            return


async def _release(
    claims: Claims, key: ObjectKey, leftover: Leftover, ours: tuple[AllocationResult, ...] | None
) -> None:
    for turns_left in reversed(range(MAX_CONFLICTS)):
        claim = await _find(claims, key)
        if claim is None:
            return
        try:
            if key in leftover.special and claim.is_special_claim_of(leftover.pod.name, leftover.uid):
                await discard(claims, claim)
            elif is_reserved_for(claim, leftover.uid):
                await claims.replace_status(claim, released(claim, leftover.uid, ours))
        except MissingError:
            return
        except ConflictError:
            if not turns_left:
                raise
        else:
            return


async def _find(claims: Claims, key: ObjectKey) -> ResourceClaim | None:
    try:
        return await claims.get(key)
    except MissingError:
        return None
