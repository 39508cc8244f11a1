"""ResourceClaims and ResourceClaimTemplates: requests, constraints, configuration."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from dra_scheduling.model.claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    MAX_DEVICES_PER_CLAIM,
    DeviceClaim,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.slices import DeviceClass
from dra_simulator.check.findings import Remarks, error, warning
from dra_simulator.check.offer import Among, OfferedDevices, compile_remarks, match_remarks, selected

Wish = ExactDeviceRequest | DeviceSubRequest


class Input(NamedTuple):
    """What a claim is held against."""

    classes: Mapping[str, DeviceClass]
    offer: OfferedDevices


def claim_remarks(spec: ResourceClaimSpec, path: str, given: Input) -> Remarks:
    """Yield what is wrong or suspicious in the spec of a claim or template; `path` leads to the spec."""
    asked, here = spec.devices, f"{path}.devices"
    yield from _name_remarks(asked, here)
    for wish, place in _wishes(asked, here):
        yield from _wish_remarks(wish, place, given)
    yield from _count_remarks(asked, here)
    yield from _constraint_remarks(asked, here)


def _wishes(asked: DeviceClaim, path: str) -> Iterator[tuple[Wish, str]]:
    for number, request in enumerate(asked.requests):
        here = f"{path}.requests[{number}]"
        if request.exactly is not None:
            yield request.exactly, f"{here}.exactly"
        for position, alternative in enumerate(request.first_available):
            yield alternative, f"{here}.firstAvailable[{position}]"


def _wish_remarks(wish: Wish, path: str, given: Input) -> Remarks:
    if wish.allocation_mode not in {"", EXACT_COUNT, ALL_DEVICES}:
        yield error(f"{path}.allocationMode", f"expected {EXACT_COUNT} or {ALL_DEVICES}, got {wish.allocation_mode}")
    if wish.count < 0:
        yield error(f"{path}.count", f"expected at least 1, got {wish.count}")
    elif wish.count and wish.allocation_mode == ALL_DEVICES:
        yield error(f"{path}.count", f"expected none with allocationMode {ALL_DEVICES}, got {wish.count}")
    for name, amount in wish.capacity.requests.items() if wish.capacity is not None else ():
        if amount.nano < 0:
            yield error(f'{path}.capacity.requests["{name}"]', f"expected no negative amount, got {amount}")
    yield from compile_remarks(wish.selectors, f"{path}.selectors")
    device_class = given.classes.get(wish.device_class_name)
    if device_class is None:
        wanted = f"expected a DeviceClass of the input, got {wish.device_class_name or 'none'}"
        # Applications rarely bring the classes along; where there are some, a missing one is most likely a typo.
        yield (error if given.classes else warning)(f"{path}.deviceClassName", wanted)
        return
    of_class = selected(device_class.spec.selectors, given.offer, given.offer.everything)
    if of_class is None:
        return
    yield from match_remarks(wish.selectors, f"{path}.selectors", given.offer, Among(of_class, "of its class"))
    left = selected(wish.selectors, given.offer, of_class)
    if left is not None and 0 < left.count < wish.count <= MAX_DEVICES_PER_CLAIM:
        yield warning(f"{path}.count", f"wants {wish.count} devices, and the input has {left.count} that match")


def _name_remarks(asked: DeviceClaim, path: str) -> Remarks:
    yield from _repeated((request.name for request in asked.requests), f"{path}.requests", "requests")
    for number, request in enumerate(asked.requests):
        names = (alternative.name for alternative in request.first_available)
        yield from _repeated(names, f"{path}.requests[{number}].firstAvailable", "alternatives")


def _repeated(names: Iterable[str], path: str, what: str) -> Remarks:
    seen = Counter(names)
    for name in sorted(name for name, times in seen.items() if times > 1):
        yield error(path, f"expected {what} of different names, {name} is there {seen[name]} times")


def _count_remarks(asked: DeviceClaim, path: str) -> Remarks:
    if not asked.requests:
        told = "expected at least one request: without any, the claim is allocated no device"
        yield warning(f"{path}.requests", told)
    wanted = sum(_at_least(request) for request in asked.requests)
    if wanted > MAX_DEVICES_PER_CLAIM:
        yield error(f"{path}.requests", f"expected at most {MAX_DEVICES_PER_CLAIM} devices in a claim, got {wanted}")


def _at_least(request: DeviceRequest) -> int:
    """Return how many devices the request takes at least; of alternatives, the smallest."""
    wishes = (request.exactly,) if request.exactly is not None else request.first_available
    return min(1 if wish.allocation_mode == ALL_DEVICES else max(wish.count, 1) for wish in wishes)


def _constraint_remarks(asked: DeviceClaim, path: str) -> Remarks:
    names = {request.name for request in asked.requests}
    names |= {f"{request.name}/{sub.name}" for request in asked.requests for sub in request.first_available}
    for number, constraint in enumerate(asked.constraints):
        here = f"{path}.constraints[{number}]"
        yield from _reference_remarks(constraint.requests, names, here)
        if (constraint.match_attribute is None) == (constraint.distinct_attribute is None):
            yield error(here, "expected exactly one of matchAttribute, distinctAttribute")
        for field, attribute in (
            ("matchAttribute", constraint.match_attribute),
            ("distinctAttribute", constraint.distinct_attribute),
        ):
            if attribute is not None and "/" not in attribute:
                expected = f"expected a name with its domain, such as example.com/numa, got {attribute!r}"
                yield error(f"{here}.{field}", expected)
    for number, entry in enumerate(asked.config):
        yield from _reference_remarks(entry.requests, names, f"{path}.config[{number}]")


def _reference_remarks(used: tuple[str, ...], names: set[str], path: str) -> Remarks:
    for number, name in enumerate(used):
        if name not in names:
            yield error(f"{path}.requests[{number}]", f"expected a request of the claim, got {name}")
