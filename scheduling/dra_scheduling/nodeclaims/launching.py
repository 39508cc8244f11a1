"""Which machine a NodeClaim gets: the cheapest that it allows and that can be had."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, Expanded, offering_requirements
from dra_scheduling.inventory.nodepool_templates import required
from dra_scheduling.inventory.reservations import InUse
from dra_scheduling.model.instancetypes import InstanceOffering
from dra_scheduling.model.nodeclaims import NodeClaim
from kube_cel.quantity import Quantity

ARCHITECTURE = "kubernetes.io/arch"
OPERATING_SYSTEM = "kubernetes.io/os"
USUAL_LABELS = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux"}
NOTHING = Quantity.from_int(0)
NOTHING_IN_USE: InUse = {}


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a type under one offering, with the labels that its NodeClaim and node get."""

    expanded: Expanded
    offering: InstanceOffering
    labels: dict[str, str]


def chosen(claim: NodeClaim, types: Iterable[Expanded], in_use: InUse = NOTHING_IN_USE) -> Instance | None:
    """Return the cheapest machine that the NodeClaim allows, None where none can be had.

    `in_use` says how many machines of an offering there are already: no more are made than its capacity.
    """
    asked = Requirements.of_new_node(*required(claim.spec.requirements))
    named = asked.of(INSTANCE_TYPE_LABEL)
    found: list[tuple[Quantity, str, InstanceOffering, Expanded, Requirements]] = []
    for one in types:
        needs = tuple(one.requirements.by_key.values())
        # A label that the NodeClaim does not mention may be whatever the type says.
        wanted = replace(asked, open_keys=asked.open_keys | one.requirements.by_key.keys())
        if not named.has(one.name) or not _has_room(one, claim) or wanted.conflict(needs) is not None:
            continue
        within = wanted.narrowed(needs)
        had = (offering for offering in one.offerings_within(within) if _is_left(one.name, offering, in_use))
        cheapest = next(had, None)
        if cheapest is not None:
            found.append((cheapest.price, one.name, cheapest, one, within.narrowed(offering_requirements(cheapest))))
    if not found:
        return None
    _, _, offering, expanded, known = min(found, key=lambda entry: entry[:2])
    return Instance(expanded=expanded, offering=offering, labels=_labels(known))


def _is_left(name: str, offering: InstanceOffering, in_use: InUse) -> bool:
    """Whether another machine can be had under the offering."""
    there = in_use.get((name, offering.zone, offering.capacity_type), 0)
    return offering.capacity is None or there < offering.capacity


def _has_room(expanded: Expanded, claim: NodeClaim) -> bool:
    requests = claim.spec.resources.requests
    return all(amount <= expanded.offered.get(name, NOTHING) for name, amount in requests.items())


def _labels(known: Requirements) -> dict[str, str]:
    """Return one value for each label that has to have one."""
    choices = {key: one.values for key, one in sorted(known.by_key.items()) if one.values and not one.excludes}
    return USUAL_LABELS | {key: min(values) for key, values in choices.items()}
