"""The binder's role: every unfinished BindRequest is run, one a pod, and what earlier attempts left is undone."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from dra_binder.allocations import consumer_keys
from dra_binder.binder import Ending, Unfinished
from dra_binder.sweep import sweep
from dra_binder.undo import Leftover
from dra_kube.errors import ApiError
from dra_operator.logs import log
from dra_operator.metrics import BIND_SECONDS, BINDING, BINDS
from dra_operator.pacing import Clock
from dra_operator.roles.binder.concurrency import Slot, Slots
from dra_operator.roles.binder.view import ClusterView
from dra_operator.roles.binder.wakeups import ChangeHub
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod

# Watches of different kinds do not keep step: what looks left over for a moment may be a bind that has just ended.
SUSPICION_SECONDS = 3.0
CLEAN_RETRY_SECONDS = 5.0
LONG_RETRY_SECONDS = 60.0

_log = log("binding")


class Carrier(Protocol):
    """Carries out binds, and undoes what others have left."""

    async def run(self, request: BindRequest, log: FilteringBoundLogger, slot: Slot) -> Ending:
        """Bind or undo."""
        ...

    async def clean(self, leftover: Leftover, log: FilteringBoundLogger) -> None:
        """Undo what a sweep found."""
        ...


class Binding:
    """Runs binds on the event loop while this replica is the active one."""

    def __init__(
        self,
        carrier: Carrier,
        view: ClusterView,
        changes: ChangeHub,
        *,
        concurrency: int,
        may_write: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._carrier = carrier
        self._view = view
        self._changes = changes
        self._slots = Slots(concurrency)
        self._may_write = may_write
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, int] = {}
        self._suspects: dict[str, float] = {}

    def changed(self, value: object) -> None:
        """Take note of a BindRequest to run, or of a claim that may be left over, and wake who waits for the object."""
        self._wake(value)
        match value:
            case BindRequest():
                self._consider(value)
                self._suspect([value.pod_uid])
            case ResourceClaim():
                self._suspect(self._view.pods_of_claim(value.key))
            case _:
                pass

    def removed(self, value: object) -> None:
        """Take note of a BindRequest that is gone, and wake who waits for the object."""
        self._wake(value)
        if isinstance(value, BindRequest):
            self._ended.pop(value.metadata.uid, None)
            self._suspect([value.pod_uid])

    def lead(self) -> None:
        """Take up everything that is unfinished; to be called when this replica becomes the active one."""
        for request in sorted(self._view.bind_requests(), key=lambda one: one.metadata.creation_timestamp):
            self._consider(request)
        for claim in self._view.claims():
            self._suspect(self._view.pods_of_claim(claim.key), wait=0.0)

    def drop(self) -> None:
        """Leave everything as it is at this moment; every step can be repeated by whoever leads next."""
        for task in self._tasks.values():
            task.cancel()
        self._suspects.clear()

    async def finish(self, seconds: float) -> None:
        """Take up nothing more, let what is under way end if it does so soon, and leave the rest."""
        self._may_write = _never
        for task in self._changes.waiting:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)
        self.drop()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def run(self) -> None:
        """Look for leftovers now and then, until cancelled."""
        while True:
            await asyncio.sleep(SUSPICION_SECONDS / 4)
            self.look()

    def look(self) -> None:
        """Begin to undo what has looked left over for long enough."""
        now = self._clock()
        due = [uid for uid, when in self._suspects.items() if when <= now]
        for uid in due:
            del self._suspects[uid]
        if due and self._may_write():
            for leftover in self._leftovers(due):
                # In the place of a bind, so that none runs for this pod at the same time.
                self._start(leftover.uid, leftover.pod, self._clean(leftover))

    def _wake(self, value: object) -> None:
        match value:
            case BindRequest() | ResourceClaim() | Pod():
                self._changes.changed(value.key)
            case Node():
                self._changes.changed(ObjectKey("", value.name))
            case _:
                pass

    def _consider(self, request: BindRequest) -> None:
        pod_uid = _whose(request)
        if not self._is_due(request) or pod_uid in self._tasks or not self._may_write():
            return
        self._start(pod_uid, request.key, self._run(request))

    def _start(self, pod_uid: str, key: ObjectKey, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name=f"bind {key}")
        self._tasks[pod_uid] = task
        task.add_done_callback(lambda _: self._done(pod_uid, key))

    def _is_due(self, request: BindRequest) -> bool:
        return (
            not request.has_ended
            and not request.metadata.is_deleting
            and self._ended.get(request.metadata.uid) != request.metadata.generation
        )

    def _done(self, pod_uid: str, key: ObjectKey) -> None:
        self._tasks.pop(pod_uid, None)
        BINDING.set(len(self._tasks))
        # It may have changed, or another one for the same pod may have come, while this one ran.
        current = self._view.bind_request(key)
        for request in (*([current] if current is not None else ()), *self._view.bind_requests_of_pod(pod_uid)):
            self._consider(request)

    async def _run(self, request: BindRequest) -> None:
        BINDING.set(len(self._tasks))
        while True:
            async with self._slots.taken() as slot:
                with BIND_SECONDS.time():
                    ending = await self._attempt(request, slot)
            BINDS.labels(type(ending).__name__.lower()).inc()
            if not isinstance(ending, Unfinished):
                self._ended[request.metadata.uid] = request.metadata.generation
                return
            await asyncio.sleep(ending.after)

    async def _attempt(self, request: BindRequest, slot: Slot) -> Ending:
        try:
            return await self._carrier.run(request, _log, slot)
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this pod alone
            _log.exception("a bind failed", bindrequest=str(request.key), node=request.spec.selected_node)
            return Unfinished(repr(error), after=LONG_RETRY_SECONDS)

    def _suspect(self, uids: Iterable[str], wait: float = SUSPICION_SECONDS) -> None:
        when = self._clock() + wait
        for uid in uids:
            self._suspects[uid] = when

    def _leftovers(self, uids: Iterable[str]) -> tuple[Leftover, ...]:
        waiting = [uid for uid in uids if uid not in self._tasks]
        claims = {claim.key: claim for uid in waiting for claim in self._view.claims_of_pod(uid)}
        requests = {one.key: one for uid in waiting for one in self._view.bind_requests_of_pod(uid)}
        keys = {key for claim in claims.values() for key, _ in consumer_keys(claim)}
        pods = {key: pod for key in keys if (pod := self._view.pod(key)) is not None}
        found = sweep(requests.values(), claims.values(), pods, self._view.scheduler_name)
        return tuple(leftover for leftover in found.leftovers if leftover.uid in waiting)

    async def _clean(self, leftover: Leftover) -> None:
        try:
            await self._carrier.clean(leftover, _log)
        except ApiError as error:
            _log.warning("could not undo leftovers yet", pod=str(leftover.pod), error=str(error))
            self._suspect([leftover.uid], CLEAN_RETRY_SECONDS)
        except Exception:  # noqa: BLE001  whatever it is, it concerns this pod alone
            _log.exception("leftovers could not be undone", pod=str(leftover.pod))
            self._suspect([leftover.uid], LONG_RETRY_SECONDS)


def _whose(request: BindRequest) -> str:
    """Return what only one bind may run for at a time: the pod, or the BindRequest itself where it names none."""
    return request.pod_uid or str(request.key)


def _never() -> bool:
    return False
