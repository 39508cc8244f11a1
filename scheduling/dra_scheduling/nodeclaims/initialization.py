"""What a registered node has to show before pods are placed on it; the first check that fails decides."""

from collections.abc import Iterator

import msgspec

from dra_scheduling.instancetypes import Expanded
from dra_scheduling.inventory import requested_drivers
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.nodeclaims.initialization_gate import shut_by
from dra_scheduling.nodeclaims.lifecycle_steps import DRIVERS_TAINT, UNREGISTERED_TAINT
from dra_scheduling.nodeclaims.node_slices import NodeSlices

EPHEMERAL = frozenset(
    {
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        (UNREGISTERED_TAINT.key, UNREGISTERED_TAINT.effect),
    }
)
READINESS_PREFIX = "readiness.k8s.io/"


class Unmet(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node is not initialized: a reason, a sentence, and whether its DRA drivers are what it waits for."""

    reason: str
    message: str
    is_gate: bool = False


def first_unmet(claim: NodeClaim, node: Node, drivers: tuple[str, ...], slices: NodeSlices) -> Unmet | None:
    """Return the first thing that keeps the node from being initialized, None where nothing does."""
    checks = (_not_ready(node), _startup_taint(claim, node), _ephemeral_taint(node), _missing_resource(claim, node))
    found = next((one for one in checks if one is not None), None)
    if found is not None:
        return found
    shut = shut_by(drivers, node.name, slices)
    return None if shut is None else Unmet(reason=shut.reason, message=shut.message, is_gate=True)


def gate_drivers(claim: NodeClaim, expanded: Expanded | None) -> tuple[str, ...]:
    """Return the drivers that have to publish on the node: those asked for that a machine of its type has.

    The annotation was written for every type that the node could have become. Where the type is not known it is all
    that there is to go by.
    """
    asked = requested_drivers(claim)
    return asked if expanded is None else tuple(driver for driver in asked if driver in expanded.drivers)


def _not_ready(node: Node) -> Unmet | None:
    ready = node.ready
    if ready is not None and ready.status == "True":
        return None
    said = "has no condition Ready" if ready is None else f"has condition Ready={ready.status} ({ready.reason})"
    return Unmet(reason="NodeNotReady", message=f"node {node.name} {said}")


def _startup_taint(claim: NodeClaim, node: Node) -> Unmet | None:
    # The drivers' own taint goes with the gate.
    wanted = {(one.key, one.effect) for one in claim.spec.startup_taints if one.key != DRIVERS_TAINT}
    found = next((one for one in node.spec.taints if (one.key, one.effect) in wanted), None)
    return None if found is None else _tainted("StartupTaintsExist", "start-up taint", found)


def _ephemeral_taint(node: Node) -> Unmet | None:
    found = next(_ephemeral(node), None)
    return None if found is None else _tainted("KnownEphemeralTaintsExist", "taint", found)


def _ephemeral(node: Node) -> Iterator[Taint]:
    for one in node.spec.taints:
        if (one.key, one.effect) in EPHEMERAL or one.key.startswith(READINESS_PREFIX):
            yield one


def _tainted(reason: str, what: str, taint: Taint) -> Unmet:
    value = f"={taint.value}" if taint.value else ""
    return Unmet(reason=reason, message=f"{what} {taint.key}{value}:{taint.effect} is still on the node")


def _missing_resource(claim: NodeClaim, node: Node) -> Unmet | None:
    for name, wanted in sorted(claim.spec.resources.requests.items()):
        offered = node.status.allocatable.get(name)
        if not wanted.is_zero() and (offered is None or offered.is_zero()):
            return Unmet(reason="ResourceNotRegistered", message=f'node {node.name} offers no "{name}" yet')
    return None
