"""What a ResourceClaim asks for, with its classes looked up and its selectors compiled: the same for every node."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from dra_scheduling.allocation.claim_validation import (
    Asked,
    Called,
    Title,
    alternative_refusal,
    first_refusal,
    selector_texts,
)
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.devices.attributes import AttributeSource
from dra_scheduling.devices.selections import DeviceCriteria, selection, wish
from dra_scheduling.model.claims import (
    EXACT_COUNT,
    DeviceAllocationConfiguration,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.slices import DeviceClass, DeviceClassConfiguration
from kube_cel import Derivation, compile_derivation

FROM_CLASS = "FromClass"
FROM_CLAIM = "FromClaim"
BEST_SCORE = 8


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """One way to serve a request, for most requests the only one.

    `name` is what results call it: `request` or `request/alternative`. `wanted` is the number of devices; 0 stands for
    all that match. `selectors` are its own, as text. `rank` is its place in `firstAvailable`, from 0 on. `derived` are
    attributes that devices have for this request only, whatever they publish under these names.
    """

    name: str
    class_name: str
    wish: DeviceCriteria
    wanted: int
    selectors: tuple[str, ...] = ()
    rank: int = 0
    is_admin: bool = False
    class_config: tuple[DeviceClassConfiguration, ...] = ()
    derived: dict[str, Derivation] = {}

    def source_of(self, attribute: str) -> AttributeSource:
        """Return where constraints find the values of an attribute."""
        return self.derived.get(attribute, attribute)

    @property
    def wants_all(self) -> bool:
        """Whether every matching device of a node is taken."""
        return self.wanted == 0


class ParsedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: its alternatives, the preferred one first. Those that no node can serve are `left_out`, with why."""

    name: str
    alternatives: tuple[Alternative, ...]
    left_out: tuple[Refusal, ...] = ()
    is_list: bool = False

    def score_of(self, alternative: Alternative) -> int:
        """Return what a node is worth that serves this alternative, as kube-scheduler counts it."""
        return max(BEST_SCORE - alternative.rank, 0) if self.is_list else 0


class ConstraintKind(Enum):
    """What a constraint demands of the values of its attribute."""

    MATCH = "matchAttribute"
    DISTINCT = "distinctAttribute"


class ConstraintRule(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint. `scope` names what it binds by index: requests of the claim, and alternatives of the request."""

    kind: ConstraintKind
    attribute: str
    scope: frozenset[tuple[int, int]]


class ParsedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that can be searched for; `config` is its own, without that of classes.

    `has_admin_access` says whether a request asks for it; alternatives of a list never do.
    """

    title: Title
    requests: tuple[ParsedRequest, ...]
    rules: tuple[ConstraintRule, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()
    has_admin_access: bool = False

    @property
    def name(self) -> str:
        """What tables and messages call the claim."""
        return self.title.name

    def config_of(self, chosen: Sequence[Alternative]) -> tuple[DeviceAllocationConfiguration, ...]:
        """Return what an allocation carries for the chosen alternatives, one a request: of classes, then of the claim.

        An entry for alternatives that were not chosen is left out; one that covers every request names none.
        """
        return (*self._class_config(chosen), *self._claim_config(chosen))

    def count_config(self, chosen: Mapping[int, Alternative]) -> int:
        """Return how many entries an allocation carries at least, for alternatives chosen of some requests by index."""
        classes = {alternative.class_name: len(alternative.class_config) for alternative in chosen.values()}
        names = {name for index, one in chosen.items() for name in (self.requests[index].name, one.name)}
        return sum(classes.values()) + sum(not one.requests or bool(names & {*one.requests}) for one in self.config)

    def _class_config(self, chosen: Sequence[Alternative]) -> Iterator[DeviceAllocationConfiguration]:
        users: dict[str, list[Alternative]] = {}
        for alternative in chosen:
            users.setdefault(alternative.class_name, []).append(alternative)
        for using in users.values():
            names = tuple(alternative.name for alternative in using)
            for entry in using[0].class_config:
                scope = () if len(names) == len(chosen) else names
                yield DeviceAllocationConfiguration(source=FROM_CLASS, requests=scope, opaque=entry.opaque)

    def _claim_config(self, chosen: Sequence[Alternative]) -> Iterator[DeviceAllocationConfiguration]:
        for entry in self.config:
            named = set(entry.requests)
            covered = sum(
                request.name in named or alternative.name in named
                for request, alternative in zip(self.requests, chosen, strict=True)
            )
            if covered or not named:
                scope = () if covered == len(chosen) else entry.requests
                yield DeviceAllocationConfiguration(source=FROM_CLAIM, requests=scope, opaque=entry.opaque)


def parse_claim(
    name: Called,
    spec: ResourceClaimSpec,
    classes: Mapping[str, DeviceClass],
    features: Features = DEFAULT_FEATURES,
) -> ParsedClaim | Refusal:
    """Return the claim ready for a search, or the refusal that holds on every node.

    `name` is what messages call the claim. Selectors of a class come before those of the request.
    """
    refusal = first_refusal(name, spec, classes, features)
    if refusal is not None:
        return refusal
    asked = spec.devices
    requests = tuple(_request(name, request, classes, features) for request in asked.requests)
    title = name if isinstance(name, Title) else Title(name)
    return ParsedClaim(
        title=title,
        requests=requests,
        rules=tuple(_rules(asked, requests)),
        config=asked.config,
        has_admin_access=any(one.is_admin for request in requests for one in request.alternatives),
    )


def _request(
    claim: Called, request: DeviceRequest, classes: Mapping[str, DeviceClass], features: Features
) -> ParsedRequest:
    if request.exactly is not None:
        only = _alternative(request.name, request.exactly, classes)
        return ParsedRequest(name=request.name, alternatives=(only,))
    alternatives, left_out = [], []
    for rank, asked in enumerate(request.first_available):
        full_name = f"{request.name}/{asked.name}"
        refusal = alternative_refusal(claim, full_name, asked, classes, features)
        if refusal is None:
            alternatives.append(msgspec.structs.replace(_alternative(full_name, asked, classes), rank=rank))
        else:
            left_out.append(refusal)
    return ParsedRequest(name=request.name, alternatives=tuple(alternatives), left_out=tuple(left_out), is_list=True)


def _alternative(name: str, asked: Asked, classes: Mapping[str, DeviceClass]) -> Alternative:
    device_class = classes[asked.device_class_name]
    requested = asked.capacity.requests if asked.capacity is not None else {}
    amounts = tuple(sorted((capacity, quantity.nano) for capacity, quantity in requested.items()))
    return Alternative(
        name=name,
        class_name=asked.device_class_name,
        wish=wish(selection(selector_texts(asked, device_class)), asked.tolerations, amounts),
        wanted=asked.wanted if asked.mode == EXACT_COUNT else 0,
        selectors=tuple(item.cel.expression for item in asked.selectors if item.cel is not None),
        is_admin=isinstance(asked, ExactDeviceRequest) and asked.admin_access,
        class_config=device_class.spec.config,
        derived={each.name: compile_derivation(each.expression) for each in asked.derived_attributes},
    )


def _rules(asked: DeviceClaim, requests: Sequence[ParsedRequest]) -> Iterator[ConstraintRule]:
    for constraint in asked.constraints:
        match, distinct = constraint.match_attribute, constraint.distinct_attribute
        scope = frozenset(
            (number, position)
            for number, request in enumerate(requests)
            for position, alternative in enumerate(request.alternatives)
            if not constraint.requests or {request.name, alternative.name} & set(constraint.requests)
        )
        if scope and match is not None:
            yield ConstraintRule(kind=ConstraintKind.MATCH, attribute=match, scope=scope)
        elif scope and distinct is not None:
            yield ConstraintRule(kind=ConstraintKind.DISTINCT, attribute=distinct, scope=scope)
