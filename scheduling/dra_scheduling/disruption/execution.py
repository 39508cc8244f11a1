"""How a decision is carried out, as a function of what is written: whatever was killed, the next look goes on.

What stands in for a node is made first. Then the node says that it goes, takes no pods any more, waits until everything
that stands in for it is initialized, and is looked at once more. Only then is its NodeClaim deleted.
"""

from collections.abc import Iterator

from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.candidates import cannot_be_moved, is_being_bound_to, still_replaced
from dra_scheduling.disruption.decision_annotations import RETRY_AFTER, DecisionRecord, record_of, standing_in
from dra_scheduling.disruption.disruption_steps import (
    AbandonDecision,
    Close,
    Create,
    MarkNodeClaim,
    Remove,
    Reopen,
    Step,
)
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.methods import DRIFTED, EMPTY, Decision
from dra_scheduling.disruption.next_decision import expired
from dra_scheduling.disruption.simulate_scheduling import WhatIfOptions, simulation
from dra_scheduling.inventory import nominees_of
from dra_scheduling.inventory.replacements import DISRUPTION, REPLACES, is_to_go
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.nodeclaims.lifecycle_steps import DISRUPTED_TAINT, INITIALIZED, is_own
from dra_scheduling.provisioning.in_flight_nodeclaims import has_failed

EXPIRED = "Expired"
GIVEN_UP = "DisruptionGivenUp"
REPLACEMENT_SECONDS = 3_600.0
"""So long a replacement may take before the decision is given up; its own deadlines are usually shorter."""
PAUSE_SECONDS = 300.0
"""So long a node is left alone after that."""
WRITING_SECONDS = 60.0
"""After so long a replacement whose nodes do not say that they go is one that was given up half-way."""


def first_steps(decision: Decision, now: str) -> tuple[Step, ...]:
    """Return the writes of a new decision, to be made in this order; `now` is RFC 3339 text."""
    record = DecisionRecord(
        reason=decision.reason,
        message=decision.message,
        since=now,
        node_claims=tuple(claim.name for claim in decision.claims),
        replacements=tuple(claim.name for claim in decision.created),
    )
    made = (Create(claim=standing_in(claim, record)) for claim in decision.created)
    return (*made, *(_mark(claim, record) for claim in decision.claims))


def is_under_way(cluster: Cluster) -> bool:
    """Whether any decision is to be carried on, so that `next_steps` may have something to say before the next look."""
    return any(
        (DISRUPTION in claim.metadata.annotations and not claim.metadata.is_deleting) or still_replaced(cluster, claim)
        for claim in cluster.inventory.claims.values()
    )


def next_steps(outlook: DisruptionView, options: WhatIfOptions) -> tuple[Step, ...]:
    """Return what is to be written about decisions that were made already, and about what was left of others."""
    now = seconds_of(options.now)
    found: list[Step] = [
        Remove(claim=claim, reason=EXPIRED, notice=f"it has lived for {claim.spec.expire_after}")
        for claim in expired(outlook.cluster, now)
    ]
    done = {step.claim.name for step in found if isinstance(step, Remove)}
    for name in sorted(outlook.cluster.inventory.claims):
        claim = outlook.cluster.inventory.claims[name]
        if is_own(claim) and not claim.metadata.is_deleting and name not in done:
            found += _steps_of(outlook, claim, options, now)
    return tuple(found)


def _steps_of(outlook: DisruptionView, claim: NodeClaim, options: WhatIfOptions, now: float) -> Iterator[Step]:
    if DISRUPTION in claim.metadata.annotations:
        yield from _carried_on(outlook, claim, options, now)
        return
    node = _node_of(outlook, claim)
    if node is not None and _is_closed(node):
        yield Reopen(node=node.name, uid=node.metadata.uid)
    if REPLACES in claim.metadata.annotations:
        yield from _left_over(outlook, claim, now)


def _carried_on(outlook: DisruptionView, claim: NodeClaim, options: WhatIfOptions, now: float) -> Iterator[Step]:
    record = record_of(claim)
    problem = "what is written about it cannot be read" if record is None else _problem(outlook, record, now)
    if record is None or problem:
        yield from _given_up(outlook, claim, record, problem, now)
        return
    node = _node_of(outlook, claim)
    if node is not None and not _is_closed(node):
        yield Close(node=node.name, uid=node.metadata.uid)
    elif node is None:
        yield _remove(claim, record)
    elif _are_ready(outlook, record) and not is_being_bound_to(outlook, node.name):
        problem = _objection(outlook, claim, node, record, options)
        if problem:
            yield from _given_up(outlook, claim, record, problem, now)
        else:
            yield _remove(claim, record)


def _problem(outlook: DisruptionView, record: DecisionRecord, now: float) -> str:
    """Return in words why the decision cannot come to its end, empty if it still can."""
    claims = outlook.cluster.inventory.claims
    for name in record.replacements:
        claim = claims.get(name)
        if claim is None or is_to_go(claim) or has_failed(claim):
            return f"NodeClaim {name}, which was to replace it, did not come up"
    if record.replacements and not _are_ready(outlook, record) and now > seconds_of(record.since) + REPLACEMENT_SECONDS:
        return "what was to replace it took too long to come up"
    return ""


def _objection(
    outlook: DisruptionView, claim: NodeClaim, node: Node, record: DecisionRecord, options: WhatIfOptions
) -> str:
    """Return in words what has changed since the decision was made, empty if it still is a good one."""
    if held := outlook.held_by_others(node.name):
        return held
    if record.reason == EMPTY:
        return "there are pods on it again" if outlook.moving_from(node.name) else ""
    protection = cannot_be_moved(outlook, node.name, seconds_of(options.now))
    if protection and not (record.reason == DRIFTED and claim.spec.termination_grace_period):
        return protection
    together = [name for name in (_staying_node(outlook, one) for one in record.node_claims) if name]
    with simulation(outlook, together, options) as scenario:
        if scenario.is_possible and scenario.opened:
            return "its pods would need another new node by now"
        return scenario.obstacle


def _given_up(
    outlook: DisruptionView, claim: NodeClaim, record: DecisionRecord | None, problem: str, now: float
) -> Iterator[Step]:
    """Take back what was begun; what nobody needs goes first, as long as the node still says what it was made for."""
    for name in record.replacements if record is not None else ():
        made = outlook.cluster.inventory.claims.get(name)
        if made is not None and not made.metadata.is_deleting and not _is_useful(outlook, made):
            yield Remove(claim=made, reason=GIVEN_UP, notice=f"NodeClaim {claim.name} stays: {problem}")
    yield AbandonDecision(claim=claim, retry_after=time_of(now + PAUSE_SECONDS), notice=problem)


def _left_over(outlook: DisruptionView, claim: NodeClaim, now: float) -> Iterator[Step]:
    """Yield what is to be done about a replacement whose nodes do not all say that they go."""
    record = record_of(claim, REPLACES)
    if record is None:
        return
    claims = outlook.cluster.inventory.claims
    late = now > seconds_of(record.since) + WRITING_SECONDS
    staying = [one for name in record.node_claims if (one := claims.get(name)) is not None and not is_to_go(one)]
    given_up = any(
        seconds_of(one.metadata.annotations.get(RETRY_AFTER, "")) > seconds_of(record.since) for one in staying
    )
    if not staying or given_up:
        return
    if all(name in claims for name in record.replacements):
        for one in staying:
            yield _mark(one, record)
    elif late and not _is_useful(outlook, claim):
        yield Remove(claim=claim, reason=GIVEN_UP, notice="other NodeClaims that it was to come with were not made")


def _are_ready(outlook: DisruptionView, record: DecisionRecord) -> bool:
    for name in record.replacements:
        claim = outlook.cluster.inventory.claims.get(name)
        initialized = claim.condition(INITIALIZED) if claim is not None else None
        state = outlook.cluster.nodes.get(claim.status.node_name) if claim is not None else None
        if initialized is None or not initialized.is_true or state is None or state.node.is_being_set_up:
            return False
    return True


def _is_useful(outlook: DisruptionView, claim: NodeClaim) -> bool:
    """Whether the NodeClaim is a node by now, or pods wait for it: what else becomes of it is decided as for any."""
    initialized = claim.condition(INITIALIZED)
    if initialized is not None and initialized.is_true:
        return True
    for nominee in nominees_of(claim):
        pod = outlook.cluster.pod(nominee.key)
        if pod is not None and pod.metadata.uid == nominee.uid and outlook.cluster.is_pending(pod):
            return True
    return False


def _staying_node(outlook: DisruptionView, name: str) -> str:
    claim = outlook.cluster.inventory.claims.get(name)
    return claim.status.node_name if claim is not None and not claim.metadata.is_deleting else ""


def _node_of(outlook: DisruptionView, claim: NodeClaim) -> Node | None:
    state = outlook.cluster.nodes.get(claim.status.node_name)
    return state.node if state is not None else None


def _is_closed(node: Node) -> bool:
    wanted = (DISRUPTED_TAINT.key, DISRUPTED_TAINT.effect)
    return any((taint.key, taint.effect) == wanted for taint in node.spec.taints)


def _mark(claim: NodeClaim, record: DecisionRecord) -> MarkNodeClaim:
    return MarkNodeClaim(claim=claim, record=record, notice=f"is to go ({record.reason}): {record.message}")


def _remove(claim: NodeClaim, record: DecisionRecord) -> Remove:
    return Remove(claim=claim, reason=record.reason, notice=record.message)
