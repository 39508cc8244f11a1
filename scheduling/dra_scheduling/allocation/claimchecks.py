"""Why a ResourceClaim cannot be searched for on any node: invalid, missing or broken classes, features not offered."""

from collections.abc import Iterator, Mapping

from dra_scheduling.cel import CompileError
from dra_scheduling.model.claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    MAX_DEVICES_PER_CLAIM,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.slices import DeviceClass, DeviceSelector
from dra_scheduling.pools.selections import SelectorText, selection
from dra_scheduling.reasons import Refusal, Wake

UNSUPPORTED = "UnsupportedFeature"
INVALID_CLAIM = "InvalidClaim"
INVALID_CLASS = "InvalidDeviceClass"
CLASS_MISSING = "DeviceClassMissing"
TOO_MANY_DEVICES = "TooManyDevices"


def first_refusal(name: str, spec: ResourceClaimSpec, classes: Mapping[str, DeviceClass]) -> Refusal | None:
    """Return the first thing that keeps the claim from every node, or None. `name` is what messages call the claim."""
    return next(_refusals(name, spec.devices, classes), None)


def subject(claim: str, request: str = "", class_name: str = "") -> str:
    """Return how messages call a claim, a request of it, and the request's class."""
    text = f'claim "{claim}"'
    if request:
        text += f' request "{request}"'
    return f"{text} (class {class_name})" if class_name else text


def selector_texts(exactly: ExactDeviceRequest, device_class: DeviceClass) -> tuple[SelectorText, ...]:
    """Return the expressions of the class, then those of the request, with what messages call them."""
    return (
        *_texts(device_class.spec.selectors, f"of class {device_class.metadata.name}"),
        *_texts(exactly.selectors, "of the request"),
    )


def too_many_devices(claim: str, wanted: int) -> Refusal:
    """Return the refusal of a claim that needs more devices than an allocation can hold."""
    return Refusal(
        reason=TOO_MANY_DEVICES,
        message=f"{subject(claim)}: needs {wanted} devices, a claim holds at most {MAX_DEVICES_PER_CLAIM}",
        wake=Wake.CLAIMS | Wake.SLICES | Wake.CLASSES,
    )


def _refusals(name: str, asked: DeviceClaim, classes: Mapping[str, DeviceClass]) -> Iterator[Refusal]:
    names = [request.name for request in asked.requests]
    if len(set(names)) < len(names):
        yield _invalid(subject(name), "two of its requests have the same name")
    for request in asked.requests:
        yield from _of_request(name, request, classes)
    for constraint in asked.constraints:
        yield from _of_constraint(name, constraint, names)
    for entry in asked.config:
        yield from _of_names(name, "config", entry.requests, names)
    counted = (request.exactly for request in asked.requests if request.exactly is not None)
    wanted = sum(exactly.wanted for exactly in counted if exactly.mode == EXACT_COUNT)
    if wanted > MAX_DEVICES_PER_CLAIM:
        yield too_many_devices(name, wanted)


def _of_request(name: str, request: DeviceRequest, classes: Mapping[str, DeviceClass]) -> Iterator[Refusal]:
    where = subject(name, request.name)
    exactly = request.exactly
    if exactly is None:
        yield _unsupported(where, "firstAvailable")
        return
    if exactly.admin_access:
        yield _unsupported(where, "adminAccess")
    if exactly.capacity is not None and exactly.capacity.requests:
        yield _unsupported(where, "a capacity request")
    if exactly.mode not in {EXACT_COUNT, ALL_DEVICES}:
        yield _invalid(where, f"allocationMode is {exactly.mode}, expected {EXACT_COUNT} or {ALL_DEVICES}")
    if exactly.count < 0:
        yield _invalid(where, f"count is {exactly.count}, expected at least 1")
    if not exactly.device_class_name:
        yield _invalid(where, "it names no DeviceClass")
        return
    device_class = classes.get(exactly.device_class_name)
    if device_class is None:
        message = f'{where}: there is no DeviceClass "{exactly.device_class_name}"'
        yield Refusal(reason=CLASS_MISSING, message=message, wake=Wake.CLASSES)
        return
    yield from _of_selectors(where, selector_texts(exactly, device_class), len(device_class.spec.selectors))


def _of_selectors(where: str, texts: tuple[SelectorText, ...], of_class: int) -> Iterator[Refusal]:
    """Yield a refusal for each expression that does not compile; the first `of_class` ones are the class's."""
    try:
        selection(texts)
    except CompileError:
        for index, text in enumerate(texts):
            try:
                selection((text,))
            except CompileError as error:
                problem = " ".join(error.problem.split())
                message = (
                    f"{where}: {text.origin} does not compile: {problem} (line {error.line}, column {error.column})"
                )
                if index < of_class:
                    yield Refusal(reason=INVALID_CLASS, message=message, wake=Wake.CLASSES)
                else:
                    yield Refusal(reason=INVALID_CLAIM, message=message, wake=Wake.CLAIMS)


def _of_constraint(name: str, constraint: DeviceConstraint, names: list[str]) -> Iterator[Refusal]:
    if constraint.distinct_attribute is not None:
        yield _unsupported(subject(name), "distinctAttribute")
    elif constraint.match_attribute is None:
        yield _invalid(subject(name), "a constraint is of an unknown kind, expected matchAttribute")
    yield from _of_names(name, "constraint", constraint.requests, names)


def _of_names(name: str, part: str, used: tuple[str, ...], names: list[str]) -> Iterator[Refusal]:
    for unknown in (used_name for used_name in used if used_name not in names):
        yield _invalid(subject(name), f'a {part} names request "{unknown}", which the claim does not have')


def _invalid(where: str, problem: str) -> Refusal:
    return Refusal(reason=INVALID_CLAIM, message=f"{where}: {problem}", wake=Wake.CLAIMS)


def _unsupported(where: str, feature: str) -> Refusal:
    return Refusal(reason=UNSUPPORTED, message=f"{where}: {feature} is not supported yet", wake=Wake.CLAIMS)


def _texts(selectors: tuple[DeviceSelector, ...], owner: str) -> list[SelectorText]:
    """Return the expressions; a selector of an unknown kind has an empty one, which does not compile."""
    return [
        SelectorText(f"selector {number} {owner}", selector.cel.expression if selector.cel is not None else "")
        for number, selector in enumerate(selectors, start=1)
    ]
