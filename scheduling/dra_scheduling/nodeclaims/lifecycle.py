"""The next step of a NodeClaim's life: launched by its provider, registered, initialized, ready.

A pure function of what the API shows. So a process may be killed before or after any of its writes, or write twice:
the next look finds what is left to be done.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.instancetypes import Expanded
from dra_scheduling.inventory.nodepool_validation import requirement_faults
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.conditions import Condition, condition_of, with_condition
from dra_scheduling.model.instancetypes import Failure, InstanceType
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import REGISTERED_LABEL, Node
from dra_scheduling.nodeclaims.initialization import first_unmet, gate_drivers
from dra_scheduling.nodeclaims.initialization_gate import TIMEOUT, shut_by
from dra_scheduling.nodeclaims.launch_failures import (
    LAUNCH_TIMEOUT,
    PROOFS,
    REGISTRATION_TIMEOUT,
    failed,
    has_failed,
    succeeded,
)
from dra_scheduling.nodeclaims.lifecycle_steps import (
    DEVICES_AS_PROMISED,
    DRIVERS_TAINT,
    INITIALIZED,
    INITIALIZED_LABEL,
    LAUNCHED,
    READY,
    REGISTERED,
    TERMINATION,
    UNREGISTERED_TAINT,
    ChangeNode,
    ChangeStatus,
    Delete,
    Notice,
    Protect,
    Step,
    Wait,
)
from dra_scheduling.nodeclaims.node_slices import NodeSlices
from dra_scheduling.nodeclaims.nodepool_status import validation
from dra_scheduling.nodeclaims.promised_devices import MISSING, compared

NOT_FOUND = "NodeNotFound"
SEVERAL = "MultipleNodesFound"
COUNTING_SECONDS = 600.0


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """How long each part of the life may take, in seconds. With a gate of 0 nodes do not wait for their drivers."""

    launch: float = 300.0
    registration: float = 900.0
    gate: float = 900.0


class NodeClaimSituation(msgspec.Struct, frozen=True, kw_only=True):
    """All that a step depends on.

    `nodes` are those with the NodeClaim's provider id. `instance_type` and `expanded` are of the type that was
    launched, None where it is not known or not sound. `now` is RFC 3339 text.
    """

    claim: NodeClaim
    nodes: tuple[Node, ...]
    slices: NodeSlices
    now: str
    instance_type: InstanceType | None = None
    expanded: Expanded | None = None
    deadlines: Deadlines = Deadlines()

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers that have to publish on the node before it is initialized."""
        return gate_drivers(self.claim, self.expanded) if self.deadlines.gate > 0 else ()

    def is_over(self, time: float) -> bool:
        """Whether that time has come."""
        return seconds_of(self.now) >= time


def next_step(at: NodeClaimSituation) -> Step:
    """Return what is to be written next of a NodeClaim of ours that is not being deleted."""
    claim = at.claim
    if TERMINATION not in claim.metadata.finalizers:
        return Protect()
    launched = claim.condition(LAUNCHED)
    if launched is None or not launched.is_true:
        return _launching(at, launched)
    initialized = claim.condition(INITIALIZED)
    if initialized is not None and initialized.status == "False":
        return _given_up(at, Failure.DEVICES)
    if has_failed(claim, Failure.REGISTRATION):
        return _given_up(at, Failure.REGISTRATION)
    if len(at.nodes) != 1:
        return _without_node(at, launched, is_registered=_holds(claim, REGISTERED))
    return _with_node(at, at.nodes[0])


def _with_node(at: NodeClaimSituation, node: Node) -> Step:
    # A node that was deleted and came back has to begin anew.
    is_new = not _holds(at.claim, REGISTERED) or REGISTERED_LABEL not in node.metadata.labels
    if is_new and (registration := _registration(at.claim, node)) is not None:
        return registration
    if at.instance_type is not None and (better := succeeded(at.instance_type, at.claim, Failure.REGISTRATION)):
        return better
    return _settled(at, node) if _holds(at.claim, INITIALIZED) else _initializing(at, node)


def _holds(claim: NodeClaim, kind: str) -> bool:
    condition = claim.condition(kind)
    return condition is not None and condition.is_true


def gate_begins(claim: NodeClaim, node: Node) -> float:
    """Return since when the drivers can have published: the node is registered and ready. Seconds since 1970."""
    registered, ready = claim.condition(REGISTERED), node.ready
    return max(
        seconds_of(registered.last_transition_time if registered is not None else ""),
        seconds_of(ready.last_transition_time if ready is not None else ""),
    )


def _launching(at: NodeClaimSituation, launched: Condition | None) -> Step:
    if launched is not None and launched.status == "False":
        if launched.reason == LAUNCH_TIMEOUT:
            return Delete()
        return Delete(notices=(Notice(reason="LaunchFailed", message=launched.message or launched.reason),))
    deadline = seconds_of(at.claim.metadata.creation_timestamp) + at.deadlines.launch
    if not at.is_over(deadline):
        faults = tuple(requirement_faults(at.claim.spec.requirements, {}, "spec.requirements"))
        return (_shown(at, (validation(faults),)) if faults else None) or Wait(until=time_of(deadline))
    # Said before it is done, so that its pods are not planned for as if nothing had been wrong.
    return _late(at, LAUNCHED, LAUNCH_TIMEOUT, f"no provider has launched it within {at.deadlines.launch:g} s")


def _without_node(at: NodeClaimSituation, launched: Condition, *, is_registered: bool) -> Step:
    if is_registered and not at.nodes:
        name = at.claim.status.node_name
        return Delete(notices=(Notice(reason="NodeGone", message=f"node {name} is gone"),))
    if is_registered:
        return Wait()
    # A provider that does not say when it launched the machine did so after the NodeClaim was there.
    begun = max(seconds_of(launched.last_transition_time), seconds_of(at.claim.metadata.creation_timestamp))
    deadline = begun + at.deadlines.registration
    if at.is_over(deadline):
        message = f"no node has registered within {at.deadlines.registration:g} s of the launch"
        return _late(at, REGISTERED, REGISTRATION_TIMEOUT, message)
    machine = f"provider id {at.claim.status.provider_id}"
    reason, message = NOT_FOUND, f"no node with {machine} is there yet"
    if at.nodes:
        names = ", ".join(sorted(node.name for node in at.nodes))
        reason, message = SEVERAL, f"nodes {names} have {machine}"
    found = _shown(at, (Condition(type=REGISTERED, status="Unknown", reason=reason, message=message),))
    return found or Wait(until=time_of(deadline))


def _late(at: NodeClaimSituation, kind: str, reason: str, message: str) -> Step:
    late = Condition(type=kind, status="False", reason=reason, message=message)
    return _shown(at, (late,), notices=(Notice(reason=reason, message=message),)) or Wait()


def _registration(claim: NodeClaim, node: Node) -> ChangeNode | None:
    labels = {**claim.metadata.labels, REGISTERED_LABEL: "true"}
    owner = OwnerReference(
        api_version="karpenter.sh/v1",
        kind="NodeClaim",
        name=claim.name,
        uid=claim.metadata.uid,
        block_owner_deletion=True,
    )
    has_owner = any(one.uid == owner.uid for one in node.metadata.owner_references)
    is_tainted = _has(node, UNREGISTERED_TAINT)
    if has_owner and not is_tainted and node.metadata.labels.get(REGISTERED_LABEL) == "true":
        return None
    # Start-up taints once only: others take them off again.
    wanted = () if REGISTERED_LABEL in node.metadata.labels else (*claim.spec.taints, *claim.spec.startup_taints)
    return ChangeNode(
        name=node.name,
        uid=node.metadata.uid,
        labels=labels,
        owner=owner,
        added=tuple(one for one in wanted if not _has(node, one)),
        removed=(UNREGISTERED_TAINT,) if is_tainted else (),
    )


def _initializing(at: NodeClaimSituation, node: Node) -> Step:
    unmet = first_unmet(at.claim, node, at.drivers, at.slices)
    if unmet is None:
        return _opening(node) or _open(at, node)
    if node.metadata.labels.get(INITIALIZED_LABEL) == "true":
        # Pods may be there since a process was killed between label and condition.
        return _open(at, node)
    deadline = gate_begins(at.claim, node) + at.deadlines.gate
    # Only the drivers' time is limited: what else keeps a node back is not mended by another one.
    is_limited = unmet.is_gate and at.claim.condition(REGISTERED) is not None
    if is_limited and at.is_over(deadline):
        message = f"{unmet.message}, {at.deadlines.gate:g} s after the node was there"
        late = Condition(type=INITIALIZED, status="False", reason=TIMEOUT, message=message)
        notice = Notice(reason=TIMEOUT, message=message)
        return _shown(at, (_registered(), late), node, notices=(notice,)) or Wait()
    waiting = Condition(type=INITIALIZED, status="Unknown", reason=unmet.reason, message=unmet.message)
    return _shown(at, (_registered(), waiting), node) or Wait(until=time_of(deadline) if is_limited else "")


def _opening(node: Node) -> ChangeNode | None:
    removed = tuple(one for one in node.spec.taints if one.key == DRIVERS_TAINT)
    if node.metadata.labels.get(INITIALIZED_LABEL) == "true" and not removed:
        return None
    return ChangeNode(name=node.name, uid=node.metadata.uid, labels={INITIALIZED_LABEL: "true"}, removed=removed)


def _open(at: NodeClaimSituation, node: Node) -> Step:
    notice = Notice(reason=INITIALIZED, message=f"node {node.name} is ready for pods", is_warning=False)
    initialized = Condition(type=INITIALIZED, status="True", reason=INITIALIZED)
    found = _comparison(at, node)
    conditions = (_registered(), initialized) if found is None else (_registered(), initialized, found)
    return _shown(at, conditions, node, notices=(notice, *_complaints(found))) or Wait()


def _settled(at: NodeClaimSituation, node: Node) -> Step:
    if node.metadata.labels.get(INITIALIZED_LABEL) != "true":
        unmet = first_unmet(at.claim, node, at.drivers, at.slices)
        return (_opening(node) if unmet is None else None) or Wait()
    said = at.claim.condition(DEVICES_AS_PROMISED)
    counted = None
    if said is not None and at.instance_type is not None:
        if said.is_true:
            counted = succeeded(at.instance_type, at.claim, Failure.DEVICES)
        elif said.reason == MISSING:
            counted = failed(at.instance_type, at.claim, Failure.DEVICES, at.now)
    return counted or _compared_later(at, node, said) or Wait()


def _compared_later(at: NodeClaimSituation, node: Node, said: Condition | None) -> ChangeStatus | None:
    """Return what is to be said of devices where nothing was so far, or where what was missing has come."""
    if said is not None and said.is_true:
        return None
    found = _comparison(at, node)
    if found is None or (said is not None and not found.is_true):
        return None
    return _shown(at, (found,), node, notices=_complaints(found))


def _comparison(at: NodeClaimSituation, node: Node) -> Condition | None:
    # What a driver has published in part says nothing: it may be starting again.
    if shut_by(at.drivers, node.name, at.slices) is not None:
        return None
    return compared(at.drivers, at.expanded, node.name, at.slices)


def _complaints(found: Condition | None) -> tuple[Notice, ...]:
    return () if found is None or found.is_true else (Notice(reason=found.reason, message=found.message),)


def _given_up(at: NodeClaimSituation, failure: Failure) -> Step:
    said = at.claim.condition(PROOFS[failure])
    since = seconds_of(said.last_transition_time) if said is not None else 0.0
    # What cannot be counted, with an older definition of types or without the right to, is no reason to keep it.
    if at.instance_type is not None and not at.is_over(since + COUNTING_SECONDS):
        counted = failed(at.instance_type, at.claim, failure, at.now)
        if counted is not None:
            return counted
    return Delete()


def _registered() -> Condition:
    return Condition(type=REGISTERED, status="True", reason=REGISTERED)


def _shown(
    at: NodeClaimSituation, conditions: Iterable[Condition], node: Node | None = None, *, notices: Iterable[Notice] = ()
) -> ChangeStatus | None:
    """Return the write that shows these conditions and what follows for Ready, None where all of it is shown."""
    shown = at.claim.status.conditions
    for one in conditions:
        shown = with_condition(shown, _written(at, one))
    shown = with_condition(shown, _written(at, _readiness(shown)))
    name = at.claim.status.node_name if node is None else node.name
    status = replace(at.claim.status, conditions=shown, node_name=name)
    return None if status == at.claim.status else ChangeStatus(status=status, notices=tuple(notices))


def _written(at: NodeClaimSituation, condition: Condition) -> Condition:
    return replace(condition, last_transition_time=at.now, observed_generation=at.claim.metadata.generation)


def _readiness(conditions: tuple[Condition, ...]) -> Condition:
    parts = [condition_of(conditions, kind) or Condition(type=kind) for kind in (LAUNCHED, REGISTERED, INITIALIZED)]
    for status in ("False", "Unknown"):
        lacking = next((one for one in parts if one.status == status), None)
        if lacking is not None:
            return Condition(
                type=READY, status=status, reason=lacking.reason or f"{lacking.type}Unknown", message=lacking.message
            )
    return Condition(type=READY, status="True", reason=READY)


def _has(node: Node, taint: Taint) -> bool:
    return any((one.key, one.effect) == (taint.key, taint.effect) for one in node.spec.taints)
