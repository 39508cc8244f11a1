"""What an InstanceType says about labels: its requirements, and the offerings under which it can be had."""

from collections.abc import Iterator

from dra_scheduling.basics.requirements import Requirement, Requirements, under_present_name
from dra_scheduling.instancetypes.instance_type_faults import Findings
from dra_scheduling.model.instancetypes import INSTANCE_TYPE_LABEL, InstanceOffering, InstanceTypeSpec
from dra_scheduling.model.pods import NODE_POOL_LABEL
from kube_cel.quantity import Quantity

CAPACITY_TYPE_LABEL = "karpenter.sh/capacity-type"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"
OF_THE_NODE = frozenset({HOSTNAME_LABEL, NODE_POOL_LABEL})
MOST_CHARACTERS = 63
ZERO = Quantity.from_int(0)


def offering_requirements(offering: InstanceOffering) -> tuple[Requirement, ...]:
    """Return what a node under this offering has for zone and capacity type."""
    return (
        Requirement(key=CAPACITY_TYPE_LABEL, values=frozenset((offering.capacity_type,))),
        Requirement(key=ZONE_LABEL, values=frozenset((offering.zone,))),
    )


def sorted_offerings(spec: InstanceTypeSpec) -> tuple[InstanceOffering, ...]:
    """Return the offerings, cheapest first; equal prices go by zone and capacity type."""
    return tuple(sorted(spec.offerings, key=lambda one: (one.price, one.zone, one.capacity_type)))


def type_requirements(name: str, spec: InstanceTypeSpec, findings: Findings) -> Requirements:
    """Return what is known of the labels of a node of the type: its name, its own labels, and where it can be had.

    Offerings count that are available; where none is, all of them do.
    """
    if len(name) > MOST_CHARACTERS:
        findings.fault("metadata.name", f"is the value of a label, expected {MOST_CHARACTERS} characters at most")
    own = _own_requirements(name, spec, findings)
    _check_offerings(spec, own, findings)
    offerings = [one for one in spec.offerings if one.available] or spec.offerings
    zones = Requirement(key=ZONE_LABEL, values=frozenset(one.zone for one in offerings))
    kinds = Requirement(key=CAPACITY_TYPE_LABEL, values=frozenset(one.capacity_type for one in offerings))
    return own.narrowed((zones, kinds))


def certain_labels(requirements: Requirements) -> dict[str, str]:
    """Return the labels that can have one value only."""
    return {
        key: next(iter(one.values))
        for key, one in sorted(requirements.by_key.items())
        if not one.excludes and not one.may_be_absent and len(one.values) == 1
    }


def _own_requirements(name: str, spec: InstanceTypeSpec, findings: Findings) -> Requirements:
    known = {INSTANCE_TYPE_LABEL: Requirement(key=INSTANCE_TYPE_LABEL, values=frozenset((name,)))}
    for number, written in enumerate(spec.requirements):
        path = f"spec.requirements[{number}]"
        wanted = under_present_name(Requirement.of(written))
        if wanted.key in OF_THE_NODE:
            findings.fault(f"{path}.key", f"{wanted.key} is not a label of a type, each node has its own")
        before = known.get(wanted.key)
        both = wanted if before is None else before.intersect(wanted)
        if both.is_impossible:
            findings.fault(path, f"no node can meet this and what else is said of {wanted.key}")
        known[wanted.key] = both
    return Requirements.of_new_node(*known.values())


def _check_offerings(spec: InstanceTypeSpec, own: Requirements, findings: Findings) -> None:
    seen: dict[tuple[str, str], int] = {}
    if not spec.offerings:
        findings.fault("spec.offerings", "expected at least one offering")
    for number, offering in enumerate(spec.offerings):
        path = f"spec.offerings[{number}]"
        before = seen.setdefault((offering.zone, offering.capacity_type), number)
        if before != number:
            where = f"{offering.capacity_type} in {offering.zone}"
            findings.fault(path, f"{where} is offered by spec.offerings[{before}] already")
        for message in _wrong_in(offering):
            findings.fault(path, message)
        conflict = own.conflict(offering_requirements(offering))
        if conflict is not None:
            findings.fault(path, f"spec.requirements do not allow this {conflict.key}")


def _wrong_in(offering: InstanceOffering) -> Iterator[str]:
    if offering.price < ZERO:
        yield f"price is {offering.price}, expected 0 or more"
    if offering.capacity is not None and offering.capacity < 0:
        yield f"capacity is {offering.capacity}, expected 0 or more"
    if not offering.zone or not offering.capacity_type:
        yield "expected a zone and a capacityType"
