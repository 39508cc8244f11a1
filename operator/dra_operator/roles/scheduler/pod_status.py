"""What people read on a pending pod: its `PodScheduled` condition, and an Event now and then.

The newest message of a pod is written when its pause is over, so that a pod whose message changes all the time costs a
write now and then. What the pod says already is not written again, and what is likely to pass in a moment, such as the
wait for a claim that is made from a template, is not written at once, and told by an Event only once it is written.
"""

import asyncio
import heapq
from collections.abc import Callable

from dra_kube.api import STRATEGIC_PATCH, Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_kube.retry import Backoff
from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.kinds import PODS
from dra_operator.logs import log
from dra_operator.metrics import PENDING
from dra_operator.pacing import Clock, TokenBucket, timestamp
from dra_operator.watch.cache import Cache
from dra_scheduling.cycle.messages import NOMINATED
from dra_scheduling.model.pods import Pod, PodCondition
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome, Waiting

CONDITION = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
# The API server itself says so, in its own words.
GATED = "SchedulingGated"
# Whoever makes claims from templates says in Events of its own why it could not.
CLAIM_NOT_CREATED = "ClaimNotCreated"
FAILED_SCHEDULING = "FailedScheduling"
PASSING_SECONDS = 3.0
CONDITION_PAUSES = Backoff(1.0, 60.0)
EVENT_PAUSES = Backoff(10.0, 300.0)
WRITES_PER_SECOND = 20.0
WRITES_AT_ONCE = 50.0

_log = log("status")


class _Told:
    """What is to be said, and was said, about one pod."""

    __slots__ = (
        "event_after",
        "events",
        "has_event_to_come",
        "message",
        "nominated",
        "pod",
        "reason",
        "summary",
        "write_after",
        "writes",
    )

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.reason = self.message = self.summary = self.nominated = ""
        self.writes = 0
        self.write_after = 0.0
        self.events = 0
        self.event_after = 0.0
        self.has_event_to_come = False


class PodStatusWriter:
    """Tells pods why they wait. Everything here runs on the event loop."""

    def __init__(
        self, api: Api, recorder: Recorder, cache: Cache, *, clock: Clock, may_write: Callable[[], bool]
    ) -> None:
        self._api = api
        self._recorder = recorder
        self._cache = cache
        self._clock = clock
        self._may_write = may_write
        self._told: dict[str, _Told] = {}
        self._due: list[tuple[float, str]] = []
        self._queued: set[str] = set()
        self._wake = asyncio.Event()
        self._bucket = TokenBucket(rate=WRITES_PER_SECOND, burst=WRITES_AT_ONCE, clock=clock)

    def decided(self, outcome: Outcome | Nominated) -> None:
        """Take note of what a cycle decided about a pod."""
        if isinstance(outcome, Assignment):
            self.forget(outcome.pod.metadata.uid)
            return
        if isinstance(outcome, Nominated):
            self._nominated(outcome)
            return
        reason = outcome.reasons[0].reason if outcome.reasons else type(outcome).__name__
        if isinstance(outcome, Waiting):
            told = self._tell(outcome.pod, reason, outcome.message, summary=reason, patience=PASSING_SECONDS)
            told.has_event_to_come = reason not in {GATED, CLAIM_NOT_CREATED}
        else:
            told = self._tell(outcome.pod, UNSCHEDULABLE, outcome.message, summary=reason)
            self._event(told, FAILED_SCHEDULING)

    def _nominated(self, outcome: Nominated) -> None:
        told = self._tell(outcome.pod, UNSCHEDULABLE, outcome.message, summary=NOMINATED)
        # What the condition says already, an earlier process has told.
        if outcome.message != told.nominated and not self._says_so(told):
            self._recorder.tell(
                EventMessage(
                    regarding=Regarding.of(outcome.pod),
                    severity=EventType.NORMAL,
                    reason=NOMINATED,
                    message=outcome.message,
                )
            )
        told.nominated = outcome.message

    def refused(self, pod: Pod, reason: str, message: str) -> None:
        """Say on a pod that something else than a cycle keeps it from being placed."""
        self._tell(pod, reason, message, summary=reason)

    def forget(self, uid: str) -> None:
        """The pod has been placed, or is gone."""
        told = self._told.pop(uid, None)
        if told is not None:
            PENDING.labels(told.summary).dec()

    def changed(self, value: object) -> None:
        """Take note of a pod's new state."""
        if isinstance(value, Pod) and value.metadata.uid in self._told and value.spec.node_name:
            self.forget(value.metadata.uid)

    def removed(self, value: object) -> None:
        """Take note of a pod that is gone."""
        if isinstance(value, Pod):
            self.forget(value.metadata.uid)

    async def run(self) -> None:
        """Write what is due, one after the other, until cancelled."""
        while True:
            await self._until_due()
            _, uid = heapq.heappop(self._due)
            self._queued.discard(uid)
            told = self._told.get(uid)
            if told is not None and self._may_write():
                await self._write(told)

    async def _until_due(self) -> None:
        while True:
            self._wake.clear()
            # What is settled meanwhile takes nothing from the rate.
            while self._due and self._due[0][1] not in self._told:
                self._queued.discard(heapq.heappop(self._due)[1])
            pause = max(self._due[0][0] - self._clock(), self._bucket.wait()) if self._due else None
            if pause is not None and pause <= 0 and self._bucket.take():
                return
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def _tell(self, pod: Pod, reason: str, message: str, *, summary: str, patience: float = 0.0) -> _Told:
        uid = pod.metadata.uid
        told = self._told.get(uid)
        if told is None:
            told = self._told[uid] = _Told(pod)
            told.write_after = self._clock() + patience
        else:
            PENDING.labels(told.summary).dec()
        PENDING.labels(summary).inc()
        told.pod, told.reason, told.message, told.summary = pod, reason, message, summary
        told.has_event_to_come = False
        if uid not in self._queued and not self._says_so(told):
            self._queued.add(uid)
            heapq.heappush(self._due, (told.write_after, uid))
            self._wake.set()
        return told

    def _event(self, told: _Told, reason: str) -> None:
        now = self._clock()
        if now < told.event_after:
            return
        told.events += 1
        told.event_after = now + EVENT_PAUSES.pause(told.events)
        self._recorder.tell(
            EventMessage(
                regarding=Regarding.of(told.pod), severity=EventType.WARNING, reason=reason, message=told.message
            )
        )

    def _present(self, told: _Told) -> PodCondition | None:
        """Return the condition that the pod has at this moment, as far as that is known."""
        found = self._cache.get(Pod, told.pod.key)
        pod = found if found is not None and found.metadata.uid == told.pod.metadata.uid else told.pod
        return next((one for one in pod.status.conditions if one.type == CONDITION), None)

    def _says_so(self, told: _Told) -> bool:
        present = self._present(told)
        if present is None or (present.status, present.reason) != ("False", told.reason):
            return False
        return told.reason == GATED or present.message == told.message

    async def _write(self, told: _Told) -> None:
        if self._says_so(told):
            return
        now = self._clock()
        told.writes += 1
        told.write_after = now + CONDITION_PAUSES.pause(told.writes)
        meta = told.pod.metadata
        condition: Json = {"type": CONDITION, "status": "False", "reason": told.reason, "message": told.message}
        before = self._present(told)
        if before is None or before.status != "False":
            condition["lastTransitionTime"] = timestamp()
        # The uid makes the server refuse the patch for another pod of that name.
        body: Json = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        try:
            await self._api.request(
                "PATCH", PODS.object_path(told.pod.key, "status"), body, content_type=STRATEGIC_PATCH
            )
            if told.has_event_to_come:
                self._event(told, FAILED_SCHEDULING)
        except (MissingError, ConflictError):
            self.forget(meta.uid)
        except ApiError as error:
            _log.warning("could not write the condition of a pod", pod=str(told.pod.key), error=str(error))
        if self._cache.get(Pod, told.pod.key) is None:
            # Nobody will tell when a pod goes that could not be read.
            self.forget(meta.uid)
