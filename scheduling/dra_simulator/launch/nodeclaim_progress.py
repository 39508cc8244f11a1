"""What NodeClaims are, and what each of them waits for."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, NODE_POOL_LABEL, ZONE_LABEL, Expanded
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.instancetypes import Failure
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.nodeclaims import NodeSlices, shut_by
from dra_scheduling.nodeclaims.initialization import first_unmet, gate_drivers
from dra_scheduling.nodeclaims.launch_failures import has_failed as failed_at
from dra_scheduling.nodeclaims.lifecycle_steps import (
    CONSOLIDATABLE,
    DEVICES_AS_PROMISED,
    DISRUPTION_REASON,
    DRAINED,
    DRIFTED,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
)
from dra_scheduling.provisioning.in_flight_nodeclaims import has_failed
from dra_simulator.launch.host_tables import types_of

PHASES = (LAUNCHED, REGISTERED, INITIALIZED)
PLANNED, FAILED, DELETING = "Planned", "Failed", "Deleting"
UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))
NOTHING_MISSING = "nothing is missing, and whoever looks after it has not said so yet"
ENOUGH = 2
"""So many of a unit are told in it: 100 minutes are 100m, 130 are 2h."""


class NodeClaimProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A NodeClaim and where it stands; `waits_for` is empty once it is done. `age` is empty where nobody knows.

    `disruption` is what it says of its going: why it goes, how it differs from its pool, if it may be consolidated.
    """

    node_claim: str
    node_pool: str
    instance_type: str
    instance_types: int
    zone: str
    node: str
    age: str
    phase: str
    waits_for: tuple[str, ...]
    missing_drivers: tuple[str, ...]
    disruption: tuple[str, ...]
    pods: tuple[str, ...]


class NodeClaimSurroundings(msgspec.Struct, frozen=True):
    """What a NodeClaim is held against: the cluster, local slices, and the time (RFC 3339, or empty)."""

    cluster: Cluster
    slices: NodeSlices
    now: str


def standing(claim: NodeClaim, expanded: Expanded | None, around: NodeClaimSurroundings) -> NodeClaimProgress:
    """Return where the NodeClaim stands; `expanded` is of the type that was launched, None where it is not known."""
    labels = claim.metadata.labels
    state = around.cluster.node_of(claim)
    node = None if state is None else state.node
    missing = tuple(_missing(claim, node, expanded, around.slices))
    return NodeClaimProgress(
        node_claim=claim.name,
        node_pool=labels.get(NODE_POOL_LABEL, ""),
        instance_type=labels.get(INSTANCE_TYPE_LABEL, ""),
        instance_types=len(types_of(claim)),
        zone=labels.get(ZONE_LABEL, ""),
        node=claim.status.node_name or (node.name if node is not None else ""),
        age=age_text(claim.metadata.creation_timestamp, around.now),
        phase=_phase(claim),
        waits_for=(*_waits(claim, node, expanded, around.slices), *_rests(claim, around)),
        missing_drivers=missing,
        disruption=tuple(_disruption(claim)),
        pods=tuple(str(nominee.key) for nominee in nominees_of(claim)),
    )


def age_text(since: str, now: str) -> str:
    """Return how long ago that was, as kubectl says it; empty where either time is not known."""
    try:
        seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds())
    except (TypeError, ValueError):
        return ""
    unit = next(((size, name) for size, name in UNITS if seconds >= ENOUGH * size), (1, "s"))
    return f"{max(seconds, 0) // unit[0]}{unit[1]}"


def time_now() -> str:
    """Return the time of day, RFC 3339."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _phase(claim: NodeClaim) -> str:
    if claim.metadata.is_deleting:
        return DELETING
    if has_failed(claim):
        return FAILED
    reached = PLANNED
    for kind in PHASES:
        if not _holds(claim, kind):
            break
        reached = kind
    return reached


def _waits(claim: NodeClaim, node: Node | None, expanded: Expanded | None, slices: NodeSlices) -> Iterator[str]:
    if claim.metadata.is_deleting:
        drained = _holds(claim, DRAINED) or node is None
        yield "its machine to be taken away" if drained else f"pods to leave node {claim.status.node_name}"
        return
    phase = next((kind for kind in PHASES if not _holds(claim, kind)), None)
    promised = claim.condition(DEVICES_AS_PROMISED)
    if phase is None:
        if promised is not None and promised.status == "False":
            yield f"{promised.type}: {promised.reason}: {promised.message}"
        return
    said = claim.condition(phase)
    is_said = said is not None and bool(said.message)
    if phase == INITIALIZED and node is not None and not (said is not None and said.status == "False"):
        unmet = first_unmet(claim, node, gate_drivers(claim, expanded), slices)
        yield f"{phase}: {NOTHING_MISSING if unmet is None else f'{unmet.reason}: {unmet.message}'}"
    elif said is not None and is_said:
        yield f"{phase}: {said.reason}: {said.message}"
    else:
        yield f"{phase}: {_usual(phase, claim)}"


def _rests(claim: NodeClaim, around: NodeClaimSurroundings) -> Iterator[str]:
    """Yield until when no machine like one that has failed is made."""
    kind, node_class = claim.metadata.labels.get(INSTANCE_TYPE_LABEL, ""), claim.spec.node_class_ref.name
    for failure in (one for one in Failure if failed_at(claim, one)):
        for value in around.cluster.inventory.instance_types.values():
            until = value.status.row(failure)[1]
            if (
                value.instance_type == kind
                and value.belongs_to(node_class)
                and seconds_of(until) > seconds_of(around.now)
            ):
                whom = " for pods with devices" if failure is Failure.DEVICES else ""
                yield f"InstanceType {value.name} rests until {until}{whom}"


def _disruption(claim: NodeClaim) -> Iterator[str]:
    for kind in (DISRUPTION_REASON, DRIFTED, CONSOLIDATABLE):
        said = claim.condition(kind)
        if said is not None and said.is_true:
            yield ": ".join(dict.fromkeys(part for part in (kind, said.reason, said.message) if part))


def _usual(phase: str, claim: NodeClaim) -> str:
    if phase == LAUNCHED:
        group = claim.spec.node_class_ref.group
        return f"no provider of {group} has launched it"
    return f"no node with its provider id is there{' any more' if phase == INITIALIZED else ''}"


def _missing(claim: NodeClaim, node: Node | None, expanded: Expanded | None, slices: NodeSlices) -> Iterable[str]:
    if claim.metadata.is_deleting or _holds(claim, INITIALIZED):
        return ()
    drivers = gate_drivers(claim, expanded)
    return (one for one in drivers if node is None or shut_by((one,), node.name, slices) is not None)


def _holds(claim: NodeClaim, kind: str) -> bool:
    condition = claim.condition(kind)
    return condition is not None and condition.is_true
