"""The next step of a NodeClaim that is being deleted: nothing new on its node, pods away, machine away, gone."""

from collections.abc import Iterable

from msgspec.structs import replace

from dra_scheduling.basics.times import duration_of, seconds_of, time_of
from dra_scheduling.model.conditions import Condition, with_condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.nodeclaims.lifecycle_steps import (
    DISRUPTED_TAINT,
    DO_NOT_DISRUPT,
    DRAINED,
    TERMINATION,
    ChangeNode,
    ChangeStatus,
    Evict,
    Release,
    Step,
    Wait,
)

DRAINING = "Draining"
ELAPSED = "TerminationGracePeriodElapsed"
MIRROR = "kubernetes.io/config.mirror"
LAST = frozenset({"system-cluster-critical", "system-node-critical"})
"""Priority classes whose pods go when all others have."""
USUAL_GRACE = 30
STUCK_SECONDS = 60.0
"""A pod whose own time to end is over for so long ends no more: its kubelet is gone."""


def termination_step(claim: NodeClaim, nodes: tuple[Node, ...], pods: Iterable[Pod], now: str) -> Step:
    """Return what is to be written next of a NodeClaim that is being deleted; `pods` are those on its nodes."""
    if TERMINATION not in claim.metadata.finalizers:
        return Wait()
    if not nodes:
        return Release()
    for node in nodes:
        if not any(_is_disrupted(one.key, one.effect) for one in node.spec.taints):
            return ChangeNode(name=node.name, uid=node.metadata.uid, added=(DISRUPTED_TAINT,))
    drained = claim.condition(DRAINED)
    if drained is not None and drained.is_true:
        # The provider takes the machine away, and the node with it.
        return Wait()
    return _draining(claim, pods, now)


def is_drained_from(pod: Pod) -> bool:
    """Whether a node may not go before the pod has gone."""
    metadata = pod.metadata
    owner = metadata.controller
    is_tied = MIRROR in metadata.annotations or (owner is not None and owner.kind in {"DaemonSet", "Node"})
    return not (pod.is_finished or is_tied or any(one.tolerates(DISRUPTED_TAINT) for one in pod.spec.tolerations))


def _draining(claim: NodeClaim, pods: Iterable[Pod], now: str) -> Step:
    end = _end_of(claim)
    time = seconds_of(now)
    left = [pod for pod in pods if is_drained_from(pod) and not _is_stuck(pod, time)]
    if not left:
        return _shown(claim, Condition(type=DRAINED, status="True", reason=DRAINED), now) or Wait()
    are_ending = all(pod.metadata.is_deleting for pod in left)
    if end is not None and time >= (end if are_ending else end + STUCK_SECONDS):
        message = f"pods were left when the termination grace period was over: {len(left)}"
        return _shown(claim, Condition(type=DRAINED, status="True", reason=ELAPSED, message=message), now) or Wait()
    draining = Condition(type=DRAINED, status="Unknown", reason=DRAINING, message="pods are being evicted")
    return _shown(claim, draining, now) or _eviction(left, end, time)


def _eviction(left: list[Pod], end: float | None, time: float) -> Step:
    ending = [seconds_of(pod.metadata.deletion_timestamp) + STUCK_SECONDS for pod in left if pod.metadata.is_deleting]
    staying = [pod for pod in left if not pod.metadata.is_deleting]
    forced_at = {pod.key: end - _grace(pod) for pod in staying} if end is not None else {}
    forced = [pod for pod in staying if pod.key in forced_at and time >= forced_at[pod.key]]
    others = [pod for pod in left if pod.spec.priority_class_name not in LAST]
    evicted = [
        pod
        for pod in staying
        if (pod.key not in forced_at or time < forced_at[pod.key])
        and pod.metadata.annotations.get(DO_NOT_DISRUPT) != "true"
        and (not others or pod.spec.priority_class_name not in LAST)
    ]
    times = [one for one in (*ending, *forced_at.values(), *((end,) if end is not None else ())) if one > time]
    until = time_of(min(times)) if times else ""
    if not evicted and not forced:
        return Wait(until=until)
    return Evict(pods=tuple(evicted), forced=tuple(forced), until=until)


def _end_of(claim: NodeClaim) -> float | None:
    seconds = duration_of(claim.spec.termination_grace_period)
    return None if seconds is None else seconds_of(claim.metadata.deletion_timestamp) + seconds


def _grace(pod: Pod) -> int:
    seconds = pod.spec.termination_grace_period_seconds
    return USUAL_GRACE if seconds is None else seconds


def _is_stuck(pod: Pod, time: float) -> bool:
    return pod.metadata.is_deleting and time >= seconds_of(pod.metadata.deletion_timestamp) + STUCK_SECONDS


def _is_disrupted(key: str, effect: str) -> bool:
    return (key, effect) == (DISRUPTED_TAINT.key, DISRUPTED_TAINT.effect)


def _shown(claim: NodeClaim, condition: Condition, now: str) -> ChangeStatus | None:
    written = replace(condition, last_transition_time=now, observed_generation=claim.metadata.generation)
    status = replace(claim.status, conditions=with_condition(claim.status.conditions, written))
    return None if status == claim.status else ChangeStatus(status=status)
