"""Kubernetes Events about objects: best effort, counted instead of repeated, never in the way of anything."""

import asyncio
import hashlib
from collections import Counter, OrderedDict
from enum import StrEnum
from functools import partial
from http import HTTPStatus

import msgspec

from dra_kube.api import STRATEGIC_PATCH, Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_kube.retry import Backoff, RetryPolicy, Sleep, retry
from dra_operator.kinds import BY_KIND
from dra_operator.logs import log
from dra_operator.metrics import EVENTS
from dra_operator.pacing import Clock, TokenBucket, timestamp
from dra_scheduling.wire import KubernetesObject

COMPONENT = "dra-scheduler"
PER_SECOND = 50.0
AT_ONCE = 300.0
MAX_WAITING = 500
"""So many notices of one reason wait to be written; more than that a server is too slow for."""
WRITES = RetryPolicy(attempts=3, backoff=Backoff(1.0, 1.0), longest_asked=5.0)
"""The others wait behind it, so that no long pause is granted."""
MAX_REMEMBERED = 20_000
MAX_MESSAGE = 1_024
DEFAULT_NAMESPACE = "default"
BIND_FAILED = "BindFailed"

_log = log("events")


class EventType(StrEnum):
    """The two types of Events."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Regarding(msgspec.Struct, frozen=True, kw_only=True):
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, value: KubernetesObject) -> "Regarding":
        """Return the reference to a value."""
        meta = value.metadata
        return cls(
            api_version=BY_KIND[type(value)].api_version,
            kind=type(value).__name__,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )

    def write(self) -> Json:
        """Return the `involvedObject` of an Event."""
        plain = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid}
        return {**plain, "namespace": self.namespace} if self.namespace else plain


class EventMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to tell about an object."""

    regarding: Regarding
    severity: EventType
    reason: str
    message: str

    @property
    def name(self) -> str:
        """The name of the Event: one per object and reason, so that repetitions are counted there."""
        digest = hashlib.sha256(f"{self.regarding.uid}/{self.reason}".encode()).hexdigest()[:16]
        return f"{self.regarding.name[:230].rstrip('-.')}.{digest}"

    @property
    def collection(self) -> str:
        """The path of the Events of the object's namespace."""
        return f"/api/v1/namespaces/{self.regarding.namespace or DEFAULT_NAMESPACE}/events"


class Recorder:
    """Writes notices one after the other, in the order in which they were told.

    Every reason has limits of its own: many pods that are bound at once cost nobody the reason why another one waits.
    """

    def __init__(self, api: Api, identity: str, clock: Clock, *, sleep: Sleep = asyncio.sleep) -> None:
        self._api = api
        self._sleep = sleep
        self._identity = identity
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._clock = clock
        self._waiting: asyncio.Queue[EventMessage] = asyncio.Queue()
        self._left: Counter[str] = Counter()
        self._buckets: dict[str, TokenBucket] = {}

    def tell(self, notice: EventMessage) -> None:
        """Write the notice soon, or never."""
        if self._left[notice.reason] >= MAX_WAITING or not self._bucket(notice.reason).take():
            EVENTS.labels(notice.reason, "dropped").inc()
            return
        self._left[notice.reason] += 1
        self._waiting.put_nowait(notice)

    async def run(self) -> None:
        """Write what is told, until cancelled."""
        while True:
            notice = await self._waiting.get()
            self._left[notice.reason] -= 1
            try:
                await retry(partial(self._write, notice), WRITES, self._sleep)
            except ApiError as error:
                EVENTS.labels(notice.reason, "failed").inc()
                if error.code != HTTPStatus.FORBIDDEN:
                    _log.debug("could not write an event", reason=notice.reason, error=str(error))
            else:
                EVENTS.labels(notice.reason, "written").inc()

    def _bucket(self, reason: str) -> TokenBucket:
        if reason not in self._buckets:
            self._buckets[reason] = TokenBucket(rate=PER_SECOND, burst=AT_ONCE, clock=self._clock)
        return self._buckets[reason]

    async def _write(self, notice: EventMessage) -> None:
        name, path = notice.name, f"{notice.collection}/{notice.name}"
        count = self._counts.pop(name, 0)
        if count:
            try:
                await self._patch(path, self._repetition(notice, count + 1))
            except MissingError:
                count = 0
        if not count:
            try:
                await self._api.request("POST", notice.collection, self._event(notice))
            except ConflictError:
                count = int((await self._api.request("GET", path)).get("count") or 1)
                await self._patch(path, self._repetition(notice, count + 1))
        self._counts[name] = count + 1
        if len(self._counts) > MAX_REMEMBERED:
            self._counts.popitem(last=False)

    async def _patch(self, path: str, body: Json) -> None:
        await self._api.request("PATCH", path, body, content_type=STRATEGIC_PATCH)

    def _event(self, notice: EventMessage) -> Json:
        now = timestamp()
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": notice.name, "namespace": notice.regarding.namespace or DEFAULT_NAMESPACE},
            "involvedObject": notice.regarding.write(),
            "type": notice.severity.value,
            "reason": notice.reason,
            "message": notice.message[:MAX_MESSAGE],
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._identity,
        }

    def _repetition(self, notice: EventMessage, count: int) -> Json:
        return {"count": count, "message": notice.message[:MAX_MESSAGE], "lastTimestamp": timestamp()}
