"""Why a ResourceClaim cannot be searched for on any node: invalid, missing or broken classes, features not offered."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, islice
from operator import or_
from typing import NamedTuple

import msgspec

from dra_scheduling.basics.features import (
    ADMIN_ACCESS,
    CONSUMABLE_CAPACITY,
    DEFAULT_FEATURES,
    DERIVED_ATTRIBUTES,
    PRIORITIZED_LIST,
    Features,
)
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.devices.selections import SelectorText, selection
from dra_scheduling.model.claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    MAX_CONFIGURATIONS_PER_ALLOCATION,
    MAX_DEVICES_PER_CLAIM,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.slices import DeviceClass, DeviceSelector
from kube_cel import CompileError, compile_derivation

UNSUPPORTED = "UnsupportedFeature"
INVALID_CLAIM = "InvalidClaim"
INVALID_CLASS = "InvalidDeviceClass"
CLASS_MISSING = "DeviceClassMissing"
TOO_MANY_DEVICES = "TooManyDevices"
TOO_MANY_CONFIGURATIONS = "TooManyConfigurations"

Asked = ExactDeviceRequest | DeviceSubRequest


class NotCompiled(Refusal, frozen=True, kw_only=True):
    """An expression of the claim itself does not compile."""


class Title(msgspec.Struct, frozen=True):
    """What messages call a claim. Where nobody wrote it as such, `words` say what each request is for, and for whom."""

    name: str
    words: Mapping[str, tuple[str, str]] = {}

    @property
    def text(self) -> str:
        """The claim in words."""
        return self.name if self.words else f'claim "{self.name}"'

    def of(self, request: str) -> str:
        """Return a request in words."""
        return " of ".join(self.words.get(request, ())) or f'{self.text} request "{request}"'


Called = str | Title
"""A claim by its name, or what it is called instead."""


class GivenClaims(NamedTuple):
    """What a claim is held against."""

    classes: Mapping[str, DeviceClass]
    features: Features


def first_refusal(
    name: Called,
    spec: ResourceClaimSpec,
    classes: Mapping[str, DeviceClass],
    features: Features = DEFAULT_FEATURES,
) -> Refusal | None:
    """Return the first thing that keeps the claim from every node, or None. `name` is what messages call the claim."""
    return next(_refusals(name, spec.devices, GivenClaims(classes, features)), None)


def alternative_refusal(
    claim: Called, request: str, asked: Asked, classes: Mapping[str, DeviceClass], features: Features
) -> Refusal | None:
    """Return what keeps one alternative (or the only one) of a request from every node, or None.

    `request` is the name as results write it, with that of the alternative behind a slash.
    """
    given = GivenClaims(classes, features)
    return next(chain(_malformed(claim, request, asked, given), _hopeless(claim, request, asked, given)), None)


def subject(claim: Called, request: str = "", class_name: str = "") -> str:
    """Return how messages call a claim, a request of it, and the request's class."""
    title = claim if isinstance(claim, Title) else Title(claim)
    text = title.of(request) if request else title.text
    return f"{text} (class {class_name})" if class_name else text


def selector_texts(asked: Asked, device_class: DeviceClass) -> tuple[SelectorText, ...]:
    """Return the expressions of the class, then those of the request, with what messages call them."""
    return (
        *_texts(device_class.spec.selectors, f"of class {device_class.metadata.name}"),
        *_texts(asked.selectors, "of the request"),
    )


def too_many_devices(claim: Called, wanted: int, alternative: str = "") -> Refusal:
    """Return the refusal of a claim, or an alternative of it, that needs more devices than an allocation can hold."""
    return Refusal(
        reason=TOO_MANY_DEVICES,
        message=f"{subject(claim, alternative)}: needs {wanted} devices, a claim holds at most {MAX_DEVICES_PER_CLAIM}",
        wake=ClusterEvent.CLAIMS | ClusterEvent.SLICES | ClusterEvent.CLASSES,
    )


def too_many_configurations(claim: Called, count: int) -> Refusal:
    """Return the refusal of a claim whose allocation would carry more configurations than the API server takes."""
    return Refusal(
        reason=TOO_MANY_CONFIGURATIONS,
        message=f"{subject(claim)}: its allocation would carry {count} configurations of classes and claim, "
        f"at most {MAX_CONFIGURATIONS_PER_ALLOCATION} are possible",
        wake=ClusterEvent.CLAIMS | ClusterEvent.CLASSES,
    )


def names_of(asked: DeviceClaim) -> list[str]:
    """Return the names that constraints and configuration may use: of requests, and `request/alternative`."""
    names = []
    for request in asked.requests:
        names.append(request.name)
        names += [f"{request.name}/{alternative.name}" for alternative in request.first_available]
    return names


def _refusals(name: Called, asked: DeviceClaim, given: GivenClaims) -> Iterator[Refusal]:
    names = names_of(asked)
    if len(set(names)) < len(names):
        yield _invalid(subject(name), "two of its requests, or two alternatives of one, have the same name")
    for request in asked.requests:
        yield from _of_request(name, request, given)
    for constraint in asked.constraints:
        yield from _of_constraint(name, constraint, names, given.features)
    for entry in asked.config:
        yield from _of_names(name, "config", entry.requests, names)
    wanted = sum(_at_least(request) for request in asked.requests)
    if wanted > MAX_DEVICES_PER_CLAIM:
        yield too_many_devices(name, wanted)


def _at_least(request: DeviceRequest) -> int:
    """Return how many devices the request takes at least, as far as counts tell."""
    asked: tuple[Asked, ...] = (request.exactly,) if request.exactly is not None else request.first_available
    return min(one.wanted if one.mode == EXACT_COUNT else 0 for one in asked)


def _of_request(name: Called, request: DeviceRequest, given: GivenClaims) -> Iterator[Refusal]:
    if request.exactly is not None:
        yield from _malformed(name, request.name, request.exactly, given)
        yield from _hopeless(name, request.name, request.exactly, given)
        return
    if not given.features.has(PRIORITIZED_LIST):
        yield _off(subject(name, request.name), "firstAvailable", PRIORITIZED_LIST)
    hopeless: list[Refusal] = []
    for alternative in request.first_available:
        full_name = f"{request.name}/{alternative.name}"
        yield from _malformed(name, full_name, alternative, given)
        hopeless += islice(_hopeless(name, full_name, alternative, given), 1)
    if hopeless and len(hopeless) == len(request.first_available):
        yield _all_hopeless(hopeless)


def _all_hopeless(refusals: Sequence[Refusal]) -> Refusal:
    """Return what stands against the preferred alternative, and in brackets what stands against the others."""
    first, *others = refusals
    details = tuple(other.message for other in others)
    wake = reduce(or_, (refusal.wake for refusal in refusals))
    return msgspec.structs.replace(first, details=details, wake=wake)


def _malformed(claim: Called, name: str, asked: Asked, given: GivenClaims) -> Iterator[Refusal]:
    """Yield what is wrong with the request itself, which makes the claim invalid."""
    where = subject(claim, name)
    if isinstance(asked, ExactDeviceRequest) and asked.admin_access and not given.features.has(ADMIN_ACCESS):
        yield _off(where, "adminAccess", ADMIN_ACCESS)
    yield from _of_capacity(where, asked, given.features)
    if asked.mode not in {EXACT_COUNT, ALL_DEVICES}:
        yield _invalid(where, f"allocationMode is {asked.mode}, expected {EXACT_COUNT} or {ALL_DEVICES}")
    if asked.count < 0:
        yield _invalid(where, f"count is {asked.count}, expected at least 1")
    elif asked.count and asked.mode == ALL_DEVICES:
        yield _invalid(where, f"count is {asked.count}, expected none with allocationMode {ALL_DEVICES}")
    if not asked.device_class_name:
        yield _invalid(where, "it names no DeviceClass")
    yield from _of_selectors(where, tuple(_texts(asked.selectors, "of the request")), 0)
    if asked.derived_attributes and not given.features.has(DERIVED_ATTRIBUTES):
        yield _off(where, "derivedAttributes", DERIVED_ATTRIBUTES)
    for derived in asked.derived_attributes:
        try:
            compile_derivation(derived.expression)
        except CompileError as error:
            message = f"{where}: derived attribute {derived.name} {_not_compiled(error)}"
            yield NotCompiled(reason=INVALID_CLAIM, message=message, wake=ClusterEvent.CLAIMS)


def _of_capacity(where: str, asked: Asked, features: Features) -> Iterator[Refusal]:
    wanted = asked.capacity.requests if asked.capacity is not None else {}
    if wanted and not features.has(CONSUMABLE_CAPACITY):
        yield _off(where, "a capacity request", CONSUMABLE_CAPACITY)
    for capacity, amount in wanted.items():
        if amount.nano < 0:
            yield _invalid(where, f"it asks for {amount} of the capacity {capacity}, expected no negative amount")


def _hopeless(claim: Called, name: str, asked: Asked, given: GivenClaims) -> Iterator[Refusal]:
    """Yield what keeps a well-formed request from every node; another alternative may still be served."""
    where = subject(claim, name)
    device_class = given.classes.get(asked.device_class_name)
    if device_class is None:
        message = f'{where}: there is no DeviceClass "{asked.device_class_name}"'
        yield Refusal(reason=CLASS_MISSING, message=message, wake=ClusterEvent.CLASSES)
        return
    texts = tuple(_texts(device_class.spec.selectors, f"of class {device_class.metadata.name}"))
    yield from _of_selectors(where, texts, len(texts))
    if asked.mode == EXACT_COUNT and asked.wanted > MAX_DEVICES_PER_CLAIM:
        yield too_many_devices(claim, asked.wanted, name if isinstance(asked, DeviceSubRequest) else "")


def _of_selectors(where: str, texts: tuple[SelectorText, ...], of_class: int) -> Iterator[Refusal]:
    """Yield a refusal for each expression that does not compile; the first `of_class` ones are the class's."""
    try:
        selection(texts)
    except CompileError:
        for index, text in enumerate(texts):
            try:
                selection((text,))
            except CompileError as error:
                message = f"{where}: {text.origin} {_not_compiled(error)}"
                if index < of_class:
                    yield Refusal(reason=INVALID_CLASS, message=message, wake=ClusterEvent.CLASSES)
                else:
                    yield NotCompiled(reason=INVALID_CLAIM, message=message, wake=ClusterEvent.CLAIMS)


def _not_compiled(error: CompileError) -> str:
    problem = " ".join(error.problem.split())
    return f"does not compile: {problem} (line {error.line}, column {error.column})"


def _of_constraint(
    name: Called, constraint: DeviceConstraint, names: list[str], features: Features
) -> Iterator[Refusal]:
    attributes = (constraint.match_attribute, constraint.distinct_attribute)
    if sum(attribute is not None for attribute in attributes) != 1:
        yield _invalid(
            subject(name), "a constraint is of an unknown kind, expected matchAttribute or distinctAttribute"
        )
    elif constraint.distinct_attribute is not None and not features.has(CONSUMABLE_CAPACITY):
        yield _off(subject(name), "distinctAttribute", CONSUMABLE_CAPACITY)
    yield from _of_names(name, "constraint", constraint.requests, names)


def _of_names(name: Called, part: str, used: tuple[str, ...], names: list[str]) -> Iterator[Refusal]:
    for unknown in (used_name for used_name in used if used_name not in names):
        yield _invalid(subject(name), f'a {part} names request "{unknown}", which the claim does not have')


def _invalid(where: str, problem: str) -> Refusal:
    return Refusal(reason=INVALID_CLAIM, message=f"{where}: {problem}", wake=ClusterEvent.CLAIMS)


def _off(where: str, what: str, gate: str) -> Refusal:
    return Refusal(
        reason=UNSUPPORTED, message=f"{where}: {what} needs feature {gate}, which is off", wake=ClusterEvent.CLAIMS
    )


def _texts(selectors: tuple[DeviceSelector, ...], owner: str) -> list[SelectorText]:
    """Return the expressions; a selector of an unknown kind has an empty one, which does not compile."""
    return [
        SelectorText(f"selector {number} {owner}", selector.cel.expression if selector.cel is not None else "")
        for number, selector in enumerate(selectors, start=1)
    ]
