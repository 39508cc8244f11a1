"""Writes decisions down as BindRequests: one a pod, in the place of what is left of earlier ones."""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec

from dra_kube.api import Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_kube.retry import Backoff, RetryPolicy, retry
from dra_operator.kinds import BIND_REQUESTS
from dra_operator.logs import Log, log
from dra_operator.roles.scheduler.write_results import result_of
from dra_operator.watch.cache import Cache
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.cycle.events import WriteResult
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import InvalidObjectError, read_as, write, write_value

WRITES = RetryPolicy(attempts=5, backoff=Backoff(0.4, 3.2), at_once=(ConflictError, MissingError))

_log = log("bindrequests")


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told how it ended: the scheduler's thread, and for errors the pod."""

    ended: Callable[[Pod, WriteResult], None]
    refused: Callable[[Pod, str], None]


class BindRequestWriter:
    """A number of writers behind one queue."""

    def __init__(
        self, api: Api, cache: Cache, reports: Reports, *, backoff_limit: int, may_write: Callable[[], bool]
    ) -> None:
        self._api = api
        self._cache = cache
        self._reports = reports
        self._backoff_limit = backoff_limit
        self._may_write = may_write
        self._waiting: asyncio.Queue[Assignment] = asyncio.Queue()

    def submit(self, assignment: Assignment) -> None:
        """Write the decision down soon."""
        self._waiting.put_nowait(assignment)

    async def run(self) -> None:
        """Be one of the writers, until cancelled."""
        while True:
            assignment = await self._waiting.get()
            await self.write(assignment)

    async def write(self, assignment: Assignment) -> None:
        """Write one decision down and report how it ended."""
        pod = assignment.pod
        line = _log.bind(pod=str(pod.key), node=assignment.node, bindrequest=str(pod.key))
        try:
            is_written = self._is_wanted(pod) and await self._insist(assignment, line)
        except ApiError as error:
            line.warning("could not write a BindRequest", error=str(error))
            self._reports.refused(pod, str(error))
            self._reports.ended(pod, result_of(error))
            return
        except BaseException:
            self._reports.ended(pod, WriteResult.LOST)
            raise
        if is_written:
            line.info("decided", claims=[str(key) for key in assignment.claim_keys], extended=_devices(assignment))
        self._reports.ended(pod, WriteResult.DONE if is_written else WriteResult.DROPPED)

    def _is_wanted(self, pod: Pod) -> bool:
        """Whether the pod is still there to be bound, and this replica still the one to decide."""
        current = self._cache.get(Pod, pod.key)
        return (
            self._may_write()
            and current is not None
            and current.metadata.uid == pod.metadata.uid
            and not current.metadata.is_deleting
            and not current.spec.node_name
        )

    async def _insist(self, assignment: Assignment, line: Log) -> bool:
        """Return whether a living BindRequest for the pod is there in the end.

        After a conflict or an unclear answer the server's own object says what is to be done.
        """
        attempts = count()

        async def attempt() -> bool:
            if next(attempts) == 0:
                return await self._write_over(self._cache.get(BindRequest, assignment.pod.key), assignment)
            return self._is_wanted(assignment.pod) and await self._write_over(
                await self._read(assignment.pod), assignment
            )

        def failed(error: ApiError, times: int) -> None:
            line.debug("the BindRequest was not written", error=str(error), attempt=times)

        return await retry(attempt, WRITES, asyncio.sleep, failed=failed)

    async def _write_over(self, found: BindRequest | None, assignment: Assignment) -> bool:
        wanted = bind_request(assignment, self._backoff_limit)
        if found is not None and found.pod_uid != assignment.pod.metadata.uid:
            await self._delete(found)
            found = None
        if found is None:
            await self._api.request("POST", BIND_REQUESTS.collection_path(wanted.metadata.namespace), write(wanted))
            return True
        if found.metadata.is_deleting:
            raise ConflictError("replace bindrequest", 409, reason="Conflict", message="it is being deleted")
        if found.phase == FAILED:
            await self._api.request("PUT", BIND_REQUESTS.object_path(found.key), _successor(found, wanted))
        # Otherwise another replica was faster, or an earlier request of ours was applied without an answer.
        return True

    async def _read(self, pod: Pod) -> BindRequest | None:
        try:
            return read_as(BindRequest, await self._api.request("GET", BIND_REQUESTS.object_path(pod.key)))
        except MissingError:
            return None
        except InvalidObjectError as error:
            raise ApiError(f"use bindrequest {pod.key}", 0, reason="Invalid", message=str(error)) from error

    async def _delete(self, found: BindRequest) -> None:
        options: Json = {"preconditions": {"uid": found.metadata.uid}}
        try:
            await self._api.request("DELETE", BIND_REQUESTS.object_path(found.key), options)
        except MissingError:
            return


def _successor(found: BindRequest, wanted: BindRequest) -> Json:
    """Return the object with the new decision; what other people put on it stays.

    The status of a failure counts until the generation changes, which it would not if only the same were decided again.
    """
    spec = msgspec.structs.replace(wanted.spec, decision=found.spec.decision + 1)
    metadata = msgspec.structs.replace(
        found.metadata,
        labels={**found.metadata.labels, **wanted.metadata.labels},
        owner_references=wanted.metadata.owner_references,
    )
    return {**write(wanted), "metadata": write_value(metadata), "spec": write_value(spec)}


def _devices(assignment: Assignment) -> list[str]:
    extended = assignment.extended
    return [str(result.device_id) for result in extended.allocation.devices.results] if extended is not None else []
