"""Where a host may be for rules that look across nodes: in which zone, or any other group that a label makes.

A node that is there is in its groups. One to come may still be in several: each choice of open ones is an alternative,
the preferred one first, and a host that takes a pod under it is held to it, so that the next pod can count the first.
"""

from collections.abc import Iterator
from itertools import islice, product

from msgspec.structs import replace

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import Requirement, merged
from dra_scheduling.fit.rule import Check, DomainRule
from dra_scheduling.fit.rules import first_refusal
from dra_scheduling.provisioning.host_rules import as_host_refusal
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.planned_node import HOSTNAME, PlannedNode
from dra_scheduling.provisioning.pod_requirements import MAX_VARIANTS, Variant


def in_open_domains(host: PlannedNode, asked: PendingPod, variant: Variant) -> Iterator[Variant] | Refusal:
    """Return the variant once for each choice of groups that are open to the pod, or why there is none."""
    if host.spec.node is not None:
        refusal = first_refusal(asked.domain_checks, host.under(host.requirements))
        return iter((variant,)) if refusal is None else as_host_refusal(refusal)
    choices: list[list[Requirement]] = []
    for key in dict.fromkeys(domains.key for check in asked.domain_checks if (domains := check.domains) is not None):
        found = _open_values(key, host, asked, variant)
        if isinstance(found, Refusal):
            return as_host_refusal(found)
        if found:
            choices.append([Requirement(key=key, values=frozenset((value,))) for value in found])
    return (_within(variant, choice) for choice in islice(product(*choices), MAX_VARIANTS))


def _open_values(key: str, host: PlannedNode, asked: PendingPod, variant: Variant) -> list[str] | Refusal:
    """Return the values that are open to the pod, the preferred one first; none where the label does not matter."""
    checks = [one for one in asked.domain_checks if one.domains is not None and one.domains.key == key]
    possible = _possible_values(key, host, variant)
    refusal: Refusal | None = None
    for check in checks:
        domains = check.domains
        if domains is None:
            continue
        if not possible and domains.missing is not None:
            return domains.missing
        for value in sorted(possible):
            wrong = domains.refusal_of(value)
            if wrong is not None:
                refusal = refusal or wrong
                possible = possible - {value}
    if not possible and refusal is not None:
        return refusal
    # A host is told from all others by its name, which nobody has to require of it.
    return [] if key == HOSTNAME else sorted(possible, key=lambda value: (_preference(checks, value), value))


def _possible_values(key: str, host: PlannedNode, variant: Variant) -> frozenset[str]:
    if key == HOSTNAME:
        return frozenset((host.spec.name,))
    known = host.requirements
    wanted = variant.requirements or ()
    within = known.narrowed(wanted) if known.conflict(wanted) is None else known
    return frozenset(host.spec.table.values_of(key, host.types, within))


def _preference(checks: list[Check], value: str) -> int:
    return sum(check.rule.preference(check.prepared, value) for check in checks if isinstance(check.rule, DomainRule))


def _within(variant: Variant, choice: tuple[Requirement, ...]) -> Variant:
    if variant.requirements is None:
        return variant
    return replace(variant, requirements=merged((*variant.requirements, *choice)))
