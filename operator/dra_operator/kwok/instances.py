"""Which machine a NodeClaim gets: the cheapest that it allows and that can be had."""

from collections.abc import Iterable

import msgspec

from dra_scheduling.features import Features
from dra_scheduling.instancetypes import (
    CAPACITY_TYPE_LABEL,
    INSTANCE_TYPE_LABEL,
    ZONE_LABEL,
    Expanded,
    expand,
    offering_requirements,
)
from dra_scheduling.inventory.templates import required
from dra_scheduling.model.instancetypes import InstanceOffering, InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.quantity import Quantity
from dra_scheduling.requirements import Requirements

FINALIZER = "dra-scheduler.dev/instance"
"""On NodeClaims that have a machine, or are about to: it is taken away before they go."""
ARCHITECTURE = "kubernetes.io/arch"
OPERATING_SYSTEM = "kubernetes.io/os"
USUAL_LABELS = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux"}
NOTHING = Quantity.from_int(0)


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a type under one offering, with the labels that its NodeClaim and node get."""

    expanded: Expanded
    labels: dict[str, str]


class Catalogue:
    """The InstanceTypes that are sound, each made ready once."""

    __slots__ = ("_features", "_types")

    def __init__(self, features: Features) -> None:
        self._features = features
        self._types: dict[str, tuple[InstanceType, Expanded]] = {}

    def apply(self, value: InstanceType) -> bool:
        """Take over a type, and return whether its machines have changed; one that is not sound cannot be had."""
        result = expand(value, self._features)
        before = self._types.pop(value.name, None)
        if not isinstance(result, Expanded):
            return False
        self._types[value.name] = (value, result)
        return before is None or before[1] is not result

    def remove(self, name: str) -> None:
        """Forget the object of that name."""
        self._types.pop(name, None)

    def of_class(self, node_class: str) -> tuple[Expanded, ...]:
        """Return the types of a node class, by the names of their objects."""
        return tuple(
            self._types[name][1] for name in sorted(self._types) if self._types[name][0].belongs_to(node_class)
        )

    def launched(self, claim: NodeClaim) -> Expanded | None:
        """Return the type that the NodeClaim's labels name."""
        name = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
        found = (one for one in self.of_class(claim.spec.node_class_ref.name) if one.name == name)
        return next(found, None)


def chosen(claim: NodeClaim, types: Iterable[Expanded]) -> Instance | None:
    """Return the cheapest machine that the NodeClaim allows, None where none can be had."""
    wanted = Requirements.of_new_node(*required(claim.spec.requirements))
    named = wanted.of(INSTANCE_TYPE_LABEL)
    found: list[tuple[Quantity, str, InstanceOffering, Expanded, Requirements]] = []
    for one in types:
        needs = tuple(one.requirements.by_key.values())
        if not named.has(one.name) or not _has_room(one, claim) or wanted.conflict(needs) is not None:
            continue
        within = wanted.narrowed(needs)
        cheapest = next(iter(one.offerings_within(within)), None)
        if cheapest is not None:
            found.append((cheapest.price, one.name, cheapest, one, within.narrowed(offering_requirements(cheapest))))
    if not found:
        return None
    _, _, _, expanded, known = min(found, key=lambda entry: entry[:2])
    return Instance(expanded=expanded, labels=_labels(known))


def is_decided(claim: NodeClaim) -> bool:
    """Whether the NodeClaim says already which machine it gets."""
    named = (INSTANCE_TYPE_LABEL, ZONE_LABEL, CAPACITY_TYPE_LABEL)
    return FINALIZER in claim.metadata.finalizers and all(key in claim.metadata.labels for key in named)


def _has_room(expanded: Expanded, claim: NodeClaim) -> bool:
    requests = claim.spec.resources.requests
    return all(amount <= expanded.offered.get(name, NOTHING) for name, amount in requests.items())


def _labels(known: Requirements) -> dict[str, str]:
    """Return one value for each label that has to have one."""
    choices = {key: one.values for key, one in sorted(known.by_key.items()) if one.values and not one.excludes}
    return USUAL_LABELS | {key: min(values) for key, values in choices.items()}
