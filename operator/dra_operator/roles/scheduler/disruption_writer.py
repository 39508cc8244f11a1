"""Makes the writes that take nodes away, one after the other; the first that fails ends the list.

Whatever was not written is found out again from what is.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from dra_kube.api import MERGE_PATCH, Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.kinds import NODE_CLAIMS, NODES, PODS
from dra_operator.logs import log
from dra_operator.roles.scheduler.write_results import result_of
from dra_operator.watch.cache import Cache
from dra_operator.watch.freshness import Freshness, on_node
from dra_scheduling.cycle.events import DisruptionWrites, WriteResult
from dra_scheduling.disruption import AbandonDecision, Close, Create, MarkNodeClaim, Remove, Reopen, Stay, Step
from dra_scheduling.disruption.decision_annotations import RETRY_AFTER
from dra_scheduling.inventory.replacements import DISRUPTION, REPLACES
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.lifecycle_steps import DISRUPTED_TAINT
from dra_scheduling.wire import InvalidObjectError, read_as, write, write_value

DISRUPTING = "Disrupting"
DISRUPTED = "Disrupted"
GIVEN_UP = "DisruptionGivenUp"
UNCONSOLIDATABLE = "Unconsolidatable"

_log = log("disruption")


class DisruptionWriter:
    """One writer behind a queue. `ended` is told when the writes of a list of steps have ended, and how."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        recorder: Recorder,
        *,
        ended: Callable[[DisruptionWrites], None],
        may_write: Callable[[], bool],
    ) -> None:
        self._api = api
        self._cache = cache
        self._freshness = Freshness(api, cache)
        self._recorder = recorder
        self._ended = ended
        self._may_write = may_write
        self._waiting: asyncio.Queue[tuple[Step, ...]] = asyncio.Queue()

    def submit(self, steps: tuple[Step, ...]) -> None:
        """Make these writes soon."""
        self._waiting.put_nowait(steps)

    async def run(self) -> None:
        """Be the writer, until cancelled."""
        while True:
            await self.write(await self._waiting.get())

    async def write(self, steps: tuple[Step, ...]) -> None:
        """Make these writes, and report which NodeClaims were created."""
        created: set[str] = set()
        result = WriteResult.LOST
        try:
            for step in steps:
                result = await self._taken(step) if self._may_write() else WriteResult.DROPPED
                if result is not WriteResult.DONE:
                    return
                if isinstance(step, Create):
                    created.add(step.claim.name)
        finally:
            self._ended(DisruptionWrites(frozenset(created), result))

    async def _taken(self, step: Step) -> WriteResult:
        try:
            await self._take(step)
        except ApiError as error:
            _log.warning("a step could not be written", step=type(step).__name__, error=str(error))
            return result_of(error)
        return WriteResult.DONE

    async def _take(self, step: Step) -> None:
        match step:
            case Create(claim=claim):
                await self._create(claim)
            case MarkNodeClaim(claim=claim, record=record, notice=notice):
                await self._annotate(claim, {DISRUPTION: record.text})
                self._tell(claim, EventType.NORMAL, DISRUPTING, notice)
            case AbandonDecision(claim=claim, retry_after=until, notice=notice):
                await self._annotate(claim, {DISRUPTION: None, RETRY_AFTER: until})
                self._tell(claim, EventType.WARNING, GIVEN_UP, f"stays after all: {notice}")
            case Remove(claim=claim, reason=reason, notice=notice):
                await self._delete(claim)
                self._tell(claim, EventType.NORMAL, DISRUPTED, f"is deleted ({reason}): {notice}")
            case Stay(claim=claim, notice=notice):
                self._tell(claim, EventType.NORMAL, UNCONSOLIDATABLE, f"stays: {notice}")
            case Close(node=node, uid=uid):
                await self._taint(node, uid, is_closed=True)
            case Reopen(node=node, uid=uid):
                await self._taint(node, uid, is_closed=False)
        _log.debug("step", step=type(step).__name__)

    async def _create(self, claim: NodeClaim) -> None:
        try:
            answer = await self._api.request("POST", NODE_CLAIMS.path, write(claim))
        except ConflictError:
            # An earlier request whose answer was lost, or another node of that name.
            answer = await self._api.request("GET", NODE_CLAIMS.object_path(_key(claim)))
            if _claim(answer).metadata.annotations.get(REPLACES) != claim.metadata.annotations[REPLACES]:
                raise
        self._api.learn(answer)

    async def _annotate(self, claim: NodeClaim, annotations: dict[str, str | None]) -> None:
        current = self._cache.get(NodeClaim, _key(claim)) or claim
        guard = {"uid": claim.metadata.uid, "resourceVersion": current.metadata.resource_version}
        body: Json = {"metadata": {**guard, "annotations": annotations}}
        path = NODE_CLAIMS.object_path(_key(claim))
        self._api.learn(await self._api.request("PATCH", path, body, content_type=MERGE_PATCH))

    async def _delete(self, claim: NodeClaim) -> None:
        if claim.status.node_name and not await self._freshness.has_all(PODS, on_node(claim.status.node_name)):
            raise ConflictError("delete nodeclaim", 409, message="pods on its node have not been seen yet")
        # Whatever was written since the decision may speak against it.
        meta = claim.metadata
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        try:
            await self._api.request("DELETE", NODE_CLAIMS.object_path(_key(claim)), body)
        except MissingError:
            return

    async def _taint(self, node: str, uid: str, *, is_closed: bool) -> None:
        path = NODES.object_path(ObjectKey("", node))
        try:
            found = await self._api.request("GET", path)
        except MissingError:
            return
        taints = _taints(found, is_closed=is_closed)
        if found["metadata"]["uid"] != uid or taints is None:
            return
        guard = {"uid": uid, "resourceVersion": found["metadata"]["resourceVersion"]}
        body: Json = {"metadata": guard, "spec": {"taints": taints}}
        self._api.learn(await self._api.request("PATCH", path, body, content_type=MERGE_PATCH))

    def _tell(self, claim: NodeClaim, severity: EventType, reason: str, message: str) -> None:
        self._recorder.tell(
            EventMessage(regarding=Regarding.of(claim), severity=severity, reason=reason, message=f"Node {message}")
        )


def _taints(node: Json, *, is_closed: bool) -> list[Any] | None:
    """Return the taints that the node is to have, None if it has them."""
    before = (node.get("spec") or {}).get("taints") or []
    wanted = (DISRUPTED_TAINT.key, DISRUPTED_TAINT.effect)
    others = [one for one in before if (one["key"], one["effect"]) != wanted]
    after = [*others, write_value(DISRUPTED_TAINT)] if is_closed else others
    return None if len(after) == len(before) else after


def _claim(answer: Json) -> NodeClaim:
    try:
        return read_as(NodeClaim, answer)
    except InvalidObjectError as error:
        raise ApiError("read a NodeClaim", 0, reason="Invalid", message=str(error)) from error


def _key(claim: NodeClaim) -> ObjectKey:
    return ObjectKey("", claim.name)
