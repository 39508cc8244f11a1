"""Claims that no candidate can serve, in the words of the design that this follows as well as in our own."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.allocation.claim_validation import (
    CLASS_MISSING,
    INVALID_CLASS,
    TOO_MANY_DEVICES,
    UNSUPPORTED,
    Called,
    NotCompiled,
)
from dra_scheduling.basics.features import PRIORITIZED_LIST, Features
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.devices import INCOMPLETE, INVALID, PoolOnNode
from dra_scheduling.model.claims import DeviceSubRequest, ExactDeviceRequest, ResourceClaimSpec
from dra_scheduling.model.slices import DeviceClass, DeviceSelector

ONLY_EXACTLY = "only Exactly requests are supported"
NOT_FOUND = "not found"
SELECTOR_TYPE = "unsupported selector type"
NOT_COMPILED = "failed to compile"
CONSTRAINT_TYPE = "unsupported constraint type"
TOO_MANY = "exceeding maximum"
ALL_PRUNED = "all instance types pruned"
ALWAYS = {CLASS_MISSING: NOT_FOUND, TOO_MANY_DEVICES: TOO_MANY}
OF_POOLS = {INVALID: "invalid", INCOMPLETE: "incomplete"}


def validated(
    name: Called, spec: ResourceClaimSpec, classes: Mapping[str, DeviceClass], features: Features
) -> ParsedClaim | Refusal:
    """Return the claim ready for a search, or the refusal that holds for every candidate."""
    parsed = parse_claim(name, spec, classes, features)
    if not isinstance(parsed, Refusal):
        return parsed
    phrase = _phrase(parsed, spec, classes, features)
    return in_words(parsed, phrase) if phrase else parsed


def in_words(refusal: Refusal, phrase: str) -> Refusal:
    """Return the refusal with the phrase that people look for."""
    return replace(refusal, message=f"{phrase}: {refusal.message}")


def words_for(pools: Iterable[PoolOnNode]) -> str:
    """Return what is wrong with pools that must not be handed out."""
    reasons = {pool.pool.problem.reason for pool in pools if pool.pool.problem is not None}
    return " and ".join(word for reason, word in OF_POOLS.items() if reason in reasons)


def _phrase(refusal: Refusal, spec: ResourceClaimSpec, classes: Mapping[str, DeviceClass], features: Features) -> str:
    if refusal.reason in ALWAYS:
        return ALWAYS[refusal.reason]
    if refusal.reason == UNSUPPORTED:
        has_lists = any(request.first_available for request in spec.devices.requests)
        return ONLY_EXACTLY if has_lists and not features.has(PRIORITIZED_LIST) else ""
    if refusal.reason == INVALID_CLASS:
        return _of_selectors(_class_selectors(spec, classes))
    if isinstance(refusal, NotCompiled):
        return _of_selectors(selector for asked in _asked(spec) for selector in asked.selectors)
    return CONSTRAINT_TYPE if _has_unknown_constraint(spec) else ""


def _has_unknown_constraint(spec: ResourceClaimSpec) -> bool:
    return any(
        (constraint.match_attribute is None) == (constraint.distinct_attribute is None)
        for constraint in spec.devices.constraints
    )


def _asked(spec: ResourceClaimSpec) -> Iterator[ExactDeviceRequest | DeviceSubRequest]:
    for request in spec.devices.requests:
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available


def _class_selectors(spec: ResourceClaimSpec, classes: Mapping[str, DeviceClass]) -> Iterator[DeviceSelector]:
    for asked in _asked(spec):
        found = classes.get(asked.device_class_name)
        if found is not None:
            yield from found.spec.selectors


def _of_selectors(selectors: Iterable[DeviceSelector]) -> str:
    return SELECTOR_TYPE if any(selector.cel is None for selector in selectors) else NOT_COMPILED
