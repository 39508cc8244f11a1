"""What a ResourceClaim asks for, with its classes looked up and its selectors compiled: the same for every node."""

from collections.abc import Mapping

import msgspec

from dra_scheduling.allocation.claimchecks import first_refusal, selector_texts
from dra_scheduling.model.claims import (
    EXACT_COUNT,
    DeviceAllocationConfiguration,
    DeviceClaim,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.nodeselection import Toleration
from dra_scheduling.model.slices import DeviceClass
from dra_scheduling.pools.selections import Selection, selection
from dra_scheduling.reasons import Refusal

FROM_CLASS = "FromClass"
FROM_CLAIM = "FromClaim"


class ParsedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `wanted` is the number of devices; 0 stands for all that match. `selectors` are its own, as text."""

    name: str
    class_name: str
    selection: Selection
    wanted: int
    selectors: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def wants_all(self) -> bool:
        """Whether the request takes every matching device of a node."""
        return self.wanted == 0


class MatchRule(msgspec.Struct, frozen=True):
    """The devices of these requests (by index in the claim) have one and the same value of an attribute."""

    attribute: str
    requests: tuple[int, ...]


class ParsedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that can be searched for. `config` is what its allocation carries, `wanted` the sum of all counts."""

    name: str
    requests: tuple[ParsedRequest, ...]
    rules: tuple[MatchRule, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()
    wanted: int = 0


def parse_claim(name: str, spec: ResourceClaimSpec, classes: Mapping[str, DeviceClass]) -> ParsedClaim | Refusal:
    """Return the claim ready for a search, or the refusal that holds on every node.

    `name` is what messages call the claim. Selectors of a class come before those of the request.
    """
    refusal = first_refusal(name, spec, classes)
    if refusal is not None:
        return refusal
    asked = spec.devices
    names = tuple(request.name for request in asked.requests)
    requests = tuple(
        _request(request.name, request.exactly, classes) for request in asked.requests if request.exactly is not None
    )
    return ParsedClaim(
        name=name,
        requests=requests,
        rules=_rules(asked, names),
        config=(*_class_config(requests, classes), *_claim_config(asked, names)),
        wanted=sum(request.wanted for request in requests),
    )


def _request(name: str, exactly: ExactDeviceRequest, classes: Mapping[str, DeviceClass]) -> ParsedRequest:
    return ParsedRequest(
        name=name,
        class_name=exactly.device_class_name,
        selection=selection(selector_texts(exactly, classes[exactly.device_class_name])),
        wanted=exactly.wanted if exactly.mode == EXACT_COUNT else 0,
        selectors=tuple(item.cel.expression for item in exactly.selectors if item.cel is not None),
        tolerations=exactly.tolerations,
    )


def _rules(asked: DeviceClaim, names: tuple[str, ...]) -> tuple[MatchRule, ...]:
    return tuple(
        MatchRule(rule.match_attribute, tuple(sorted({names.index(name) for name in rule.requests or names})))
        for rule in asked.constraints
        if rule.match_attribute is not None and names
    )


def _class_config(
    requests: tuple[ParsedRequest, ...], classes: Mapping[str, DeviceClass]
) -> list[DeviceAllocationConfiguration]:
    """Return the configuration of every class once, for the requests that use the class."""
    users: dict[str, list[str]] = {}
    for request in requests:
        users.setdefault(request.class_name, []).append(request.name)
    names = tuple(request.name for request in requests)
    return [
        DeviceAllocationConfiguration(source=FROM_CLASS, requests=_scope(tuple(using), names), opaque=entry.opaque)
        for class_name, using in users.items()
        for entry in classes[class_name].spec.config
    ]


def _claim_config(asked: DeviceClaim, names: tuple[str, ...]) -> list[DeviceAllocationConfiguration]:
    return [
        DeviceAllocationConfiguration(source=FROM_CLAIM, requests=_scope(entry.requests, names), opaque=entry.opaque)
        for entry in asked.config
    ]


def _scope(named: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as an allocation lists them: none where they cover every request."""
    return () if set(named) >= set(names) else named
