"""What NodeClaims say of disruption in their status: that they have drifted, may be consolidated, and why they go.

Names and meaning are Karpenter's: each condition is True or not there. They follow from what the API shows and from
when pods came or went, so that nothing is lost with the process that writes them.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.disruption.candidates import rest_of
from dra_scheduling.disruption.decision_annotations import record_of
from dra_scheduling.disruption.drift import Difference
from dra_scheduling.disruption.execution import EXPIRED
from dra_scheduling.disruption.methods import DRIFTED, EMPTY, UNDERUTILIZED
from dra_scheduling.disruption.next_decision import has_expired
from dra_scheduling.model.conditions import Condition, with_condition, without_condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.nodeclaims.lifecycle_steps import (
    CONSOLIDATABLE,
    DISRUPTION_REASON,
    INITIALIZED,
    LAUNCHED,
    TERMINATION,
    ChangeStatus,
    Step,
    Wait,
)
from dra_scheduling.nodeclaims.lifecycle_steps import DRIFTED as DRIFTED_CONDITION

REASONS = frozenset({DRIFTED, EMPTY, EXPIRED, UNDERUTILIZED})
EVENT_SECONDS = 10.0
"""So often at most it is written down that pods came or went, while they do."""
MOST_WORDS = 1_000


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """All that the conditions of a NodeClaim depend on.

    `pool` is None where it is gone or going: its NodeClaims go with it as they are. `last_pod_event` is when a pod came
    to its node or went, as far as that was seen (seconds since 1970); `now` is RFC 3339 text.
    """

    claim: NodeClaim
    pool: NodePool | None
    difference: Difference | None
    now: str
    last_pod_event: float = 0.0

    @property
    def quiet_at(self) -> float | None:
        """From when on the node may be consolidated if no pod comes or goes before, None for never."""
        initialized = self.claim.condition(INITIALIZED)
        if self.pool is None or self.pool.spec.replicas is not None or initialized is None or not initialized.is_true:
            return None
        rest = rest_of(self.pool)
        since = (seconds_of(initialized.last_transition_time), self.last_pod_event, self.written)
        return None if rest is None else max(since) + rest

    @property
    def written(self) -> float:
        """When pods came or went last, as it is written."""
        return seconds_of(self.claim.status.last_pod_event_time)


def beside(step: Step, at: Prospect) -> Step:
    """Return the step, or where it writes nothing the one that shows the conditions of a NodeClaim that lives."""
    if not isinstance(step, Wait):
        return step
    shown = _shown(at)
    if isinstance(shown, ChangeStatus):
        return shown
    times = [time for time in (step.until, shown.until) if time]
    return replace(step, until=min(times, key=seconds_of, default=""))


def last_words(claim: NodeClaim, now: str) -> ChangeStatus | None:
    """Return the write that says why a NodeClaim is being deleted, None where that is said or nobody knows."""
    if TERMINATION not in claim.metadata.finalizers or claim.condition(DISRUPTION_REASON) is not None:
        return None
    reason = _reason(claim)
    if reason is None and has_expired(claim, seconds_of(claim.metadata.deletion_timestamp)):
        message = f"it has lived for {claim.spec.expire_after}"
        reason = Condition(type=DISRUPTION_REASON, status="True", reason=EXPIRED, message=message)
    if reason is None:
        return None
    conditions = with_condition(claim.status.conditions, _stamped(reason, claim, now))
    return ChangeStatus(status=replace(claim.status, conditions=conditions))


def _shown(at: Prospect) -> ChangeStatus | Wait:
    now, quiet_at = seconds_of(at.now), at.quiet_at
    conditions = at.claim.status.conditions
    for kind, found in _found(at, is_quiet=quiet_at is not None and now >= quiet_at):
        if found is None:
            conditions = without_condition(conditions, kind)
        else:
            conditions = with_condition(conditions, _stamped(found, at.claim, at.now))
    status = replace(at.claim.status, conditions=conditions)
    # Only whoever consolidates wants to know.
    is_unwritten = quiet_at is not None and at.last_pod_event > at.written
    if is_unwritten and (conditions != at.claim.status.conditions or now >= _due(at)):
        status = replace(status, last_pod_event_time=time_of(at.last_pod_event))
    if status != at.claim.status:
        return ChangeStatus(status=status)
    times = [quiet_at] if quiet_at is not None and quiet_at > now else []
    times += [_due(at)] if is_unwritten else []
    return Wait(until=time_of(min(times)) if times else "")


def _found(at: Prospect, *, is_quiet: bool) -> Iterator[tuple[str, Condition | None]]:
    yield DISRUPTION_REASON, _reason(at.claim)
    if at.pool is None:
        return
    launched = at.claim.condition(LAUNCHED)
    drifted = None
    if at.difference is not None and launched is not None and launched.is_true:
        reason, message = at.difference.reason, at.difference.message
        drifted = Condition(type=DRIFTED_CONDITION, status="True", reason=reason, message=message)
    yield DRIFTED_CONDITION, drifted
    yield CONSOLIDATABLE, Condition(type=CONSOLIDATABLE, status="True", reason=CONSOLIDATABLE) if is_quiet else None


def _reason(claim: NodeClaim) -> Condition | None:
    record = record_of(claim)
    if record is None:
        return None
    # What somebody else has written there need not be a word.
    reason = record.reason if record.reason in REASONS else DISRUPTION_REASON
    return Condition(type=DISRUPTION_REASON, status="True", reason=reason, message=record.message[:MOST_WORDS])


def _due(at: Prospect) -> float:
    initialized = at.claim.condition(INITIALIZED)
    since = seconds_of(initialized.last_transition_time) if initialized is not None else 0.0
    return max(at.written, since) + EVENT_SECONDS


def _stamped(condition: Condition, claim: NodeClaim, now: str) -> Condition:
    return replace(condition, last_transition_time=now, observed_generation=claim.metadata.generation)
