"""Takes the steps of NodeClaims, reports them, and returns when to look again.

Steps that cannot be taken back are taken only when everything has been seen that may speak against them.
"""

import time
from collections.abc import Iterable
from http import HTTPStatus

from dra_kube.api import Json
from dra_kube.errors import ApiError
from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.kinds import INSTANCE_TYPES, NODES, PODS, SLICES
from dra_operator.logs import log
from dra_operator.metrics import NODECLAIM_STEPS
from dra_operator.pacing import Clock
from dra_operator.roles.nodeclaims.writer import Blocked, StepWriter
from dra_operator.watch.freshness import Freshness, on_node
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.nodeclaims import ChangeNode, ChangeStatus, ChangeType, Delete, Evict, Protect, Release, Step, Wait
from dra_scheduling.nodeclaims.lifecycle_steps import DEVICES_AS_PROMISED, DRAINED, INITIALIZED, REGISTERED
from dra_scheduling.nodeclaims.lifecycle_steps import Notice as Told
from dra_scheduling.wire import KubernetesObject

RECHECK_SECONDS = 1.0
"""The news of a write leads on to the next step; this is for news that does not come."""
MOST_REMEMBERED = 10_000
EVICTION_BLOCKED = "EvictionBlocked"
STEP_REFUSED = "StepRefused"
REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY})
IRREVERSIBLE = frozenset(
    {(REGISTERED, "False"), (INITIALIZED, "False"), (DEVICES_AS_PROMISED, "False"), (DRAINED, "True")}
)
"""What a NodeClaim says before its node is given up or its machine is taken away."""
Write = ChangeNode | ChangeStatus | ChangeType | Delete | Protect | Release

_log = log("nodeclaims")


class Stepper:
    """Steps as requests and Events."""

    def __init__(self, writer: StepWriter, recorder: Recorder, clock: Clock) -> None:
        self._clock = clock
        self._writer = writer
        self._recorder = recorder
        self._told: dict[tuple[str, str], None] = {}

    async def take(self, claim: NodeClaim, step: Step, instance_type: InstanceType | None) -> float | None:
        """Take one step; return after how many seconds to look again, None for not before something changes.

        Raises `ApiError`.
        """
        if isinstance(step, Wait):
            for notice in step.notices:
                self._tell_once(claim, claim.metadata.uid, notice)
            return _pause_until(step.until)
        line = _log.bind(nodeclaim=claim.name, step=type(step).__name__)
        if isinstance(step, Evict):
            pause = await self._evict(claim, step)
        else:
            await self._write_or_tell(claim, step, instance_type)
            pause = RECHECK_SECONDS
        NODECLAIM_STEPS.labels(type(step).__name__).inc()
        line.info("step", node=claim.status.node_name)
        return pause

    async def _write_or_tell(self, claim: NodeClaim, step: Write, instance_type: InstanceType | None) -> None:
        try:
            await self._write(claim, step, instance_type)
        except ApiError as error:
            if error.code in REFUSED:
                self._tell_once(claim, claim.metadata.uid, Told(reason=STEP_REFUSED, message=str(error)))
            raise

    async def _write(self, claim: NodeClaim, step: Write, instance_type: InstanceType | None) -> None:
        concerned: KubernetesObject = claim
        match step:
            case ChangeNode():
                await self._writer.change_node(step)
            case ChangeStatus():
                await self._writer.change_status(claim, step)
            case ChangeType():
                concerned = instance_type or claim
                if instance_type is not None:
                    await self._writer.change_type(instance_type, step)
            case Delete():
                await self._writer.delete(claim)
            case Protect() | Release():
                await self._writer.hold(claim, is_held=isinstance(step, Protect))
                return
        for notice in step.notices:
            self._tell(concerned, notice)

    async def _evict(self, claim: NodeClaim, step: Evict) -> float:
        blocked = [found for pod in step.pods if (found := await self._evict_pod(claim, pod)) is not None]
        for pod in step.forced:
            await self._writer.end(pod)
        until = _pause_until(step.until)
        pauses = [one.until - self._clock() for one in blocked] + ([until] if until is not None else [])
        # Where all that is left is blocked there is no need to look before the first pause is over.
        is_under_way = len(blocked) < len(step.pods) or bool(step.forced)
        return max(0.0, min([*pauses, RECHECK_SECONDS] if is_under_way else pauses))

    async def _evict_pod(self, claim: NodeClaim, pod: Pod) -> Blocked | None:
        found = await self._writer.evict(pod)
        if found is not None:
            message = f"pod {pod.key} may not be evicted now: {found.why}"
            self._tell_once(claim, pod.metadata.uid, Told(reason=EVICTION_BLOCKED, message=message))
        return found

    def _tell_once(self, value: KubernetesObject, uid: str, notice: Told) -> None:
        if (uid, notice.reason) in self._told:
            return
        if len(self._told) >= MOST_REMEMBERED:
            self._told.clear()
        self._told[uid, notice.reason] = None
        self._tell(value, notice)

    def _tell(self, value: KubernetesObject, notice: Told) -> None:
        severity = EventType.WARNING if notice.is_warning else EventType.NORMAL
        self._recorder.tell(
            EventMessage(regarding=Regarding.of(value), severity=severity, reason=notice.reason, message=notice.message)
        )


def _pause_until(until: str) -> float | None:
    return max(0.0, seconds_of(until) - time.time()) if until else None


def is_irreversible(claim: NodeClaim, step: Step) -> bool:
    """Whether nothing makes up for the step where it was taken too early."""
    match step:
        case Delete() | Release():
            return True
        case ChangeType(failures=failures):
            return failures > 0
        case ChangeStatus(status=status):
            said = {(one.type, one.status) for one in claim.status.conditions}
            return any((one.type, one.status) in IRREVERSIBLE - said for one in status.conditions)
        case _:
            return False


async def is_cache_current(freshness: Freshness, claim: NodeClaim, nodes: Iterable[Node]) -> bool:
    """Whether all has been seen that belongs to a NodeClaim with these nodes, as it is now. Raises `ApiError`."""
    provider = claim.status.provider_id
    if not provider:
        return True
    if claim.status.node_name:
        is_seen = await freshness.has(NODES, claim.status.node_name)
    else:
        is_seen = await freshness.has_all(NODES, includes=lambda node: _provider_of(node) == provider)
    if not claim.metadata.is_deleting:
        is_seen = is_seen and await freshness.has_all(INSTANCE_TYPES)
    on_nodes = PODS if claim.metadata.is_deleting else SLICES
    for node in nodes:
        is_seen = is_seen and await freshness.has_all(on_nodes, on_node(node.name))
    return is_seen


def _provider_of(node: Json) -> str:
    return str((node.get("spec") or {}).get("providerID") or "")
