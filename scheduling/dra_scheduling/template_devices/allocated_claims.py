"""The claims that have devices already: what they require of a candidate, one after the other."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.requirements import NODE_NAME_FIELD, Requirement, Requirements, matches, merged, on_new_nodes
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.template_devices.claim_records import ClaimRecord, Records
from dra_scheduling.template_devices.device_host import DeviceHost
from dra_scheduling.template_devices.published_devices import Term
from dra_scheduling.template_devices.replanned_claims import Replanning

NOT_REACHABLE = "ClaimNotReachable"
IN_CLUSTER = "in-cluster allocation topology is incompatible with NodeClaim requirements"
IN_MEMORY = "in-memory allocation topology is incompatible with NodeClaim requirements"
BOUND = "claim is bound to a different in-flight NodeClaim"


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from the claims with devices: tightened requirements, and the types that all of them leave.

    `added` is what they require by themselves; `searched` are the claims without devices.
    """

    requirements: Requirements
    added: tuple[Requirement, ...]
    searched: tuple[ResourceClaim, ...]
    types: frozenset[str]


class GivenDevices(msgspec.Struct, frozen=True, kw_only=True):
    """What tells whether a claim has devices: the plan so far, and who goes."""

    records: Records
    replanning: Replanning


def settle(claims: tuple[ResourceClaim, ...], candidate: DeviceHost, given: GivenDevices) -> Settled | Refusal:
    """Return what the claims leave of the candidate, or the first claim that rules it out.

    A claim that was given devices in this plan stands for itself, even if it was allocated before: it is planned once.
    """
    known, added = candidate.requirements, list[Requirement]()
    types = frozenset(one.name for one in candidate.types)
    searched = []
    for claim in claims:
        record = given.records.get(claim.key)
        allocation = claim.status.allocation
        if record is not None:
            found = _of_record(claim, record, candidate, known)
            if record.candidate == candidate.name:
                types &= frozenset(record.by_type)
        elif allocation is not None and not given.replanning.concerns(claim):
            found = _of_selector(claim, allocation.node_selector, candidate, known)
        else:
            searched.append(claim)
            continue
        if isinstance(found, Refusal):
            return found
        known = known.narrowed(found)
        added += found
    return Settled(requirements=known, added=merged(added), searched=tuple(searched), types=types)


def _of_record(claim: ResourceClaim, record: ClaimRecord, candidate: DeviceHost, known: Requirements) -> Term | Refusal:
    if record.candidate == candidate.name:
        return record.requirements
    if record.is_bound:
        return _refusal(claim, BOUND, f"its devices are those of {record.candidate}")
    wrong = known.conflict(record.requirements)
    return record.requirements if wrong is None else _refusal(claim, IN_MEMORY, f"they differ in {wrong.key}")


def _of_selector(
    claim: ResourceClaim, selector: NodeSelector | None, candidate: DeviceHost, known: Requirements
) -> Term | Refusal:
    if selector is None:
        return ()
    node = candidate.node
    if node is not None:
        fits = matches(selector, node.name, node.labels)
        return () if fits else _refusal(claim, IN_CLUSTER, f"node {node.name} is not selected")
    terms = [term for term in map(on_new_nodes, selector.node_selector_terms) if term is not None]
    if not terms:
        return _refusal(claim, IN_CLUSTER, f"it selects nodes by {NODE_NAME_FIELD}, which a new node cannot match")
    possible = [term for term in terms if known.conflict(term) is None]
    if not possible:
        wrong = known.conflict(terms[0])
        return _refusal(claim, IN_CLUSTER, f"they differ in {wrong.key}" if wrong is not None else "")
    return _union(possible)


def _union(terms: list[Term]) -> Term:
    """Return one term for all of them if they list values of the same label, otherwise the first."""
    keys = {tuple(wanted.key for wanted in term) for term in terms}
    first = terms[0]
    plain = all(len(term) == 1 and not term[0].excludes and not term[0].may_be_absent for term in terms)
    if len(keys) == 1 and plain:
        values = frozenset[str]().union(*(term[0].values for term in terms))
        return (msgspec.structs.replace(first[0], values=values),)
    return first


def _refusal(claim: ResourceClaim, phrase: str, detail: str) -> Refusal:
    return Refusal(
        reason=NOT_REACHABLE,
        message=f'claim "{claim.metadata.name}": {phrase}',
        wake=ClusterEvent.NODE | ClusterEvent.CLAIMS,
        details=(detail,) if detail else (),
    )
