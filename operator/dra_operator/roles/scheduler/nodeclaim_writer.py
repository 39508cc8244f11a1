"""Writes the NodeClaims that plans create, and nominates further pods to those that are there."""

import asyncio
from collections.abc import Callable

import msgspec

from dra_kube.api import MERGE_PATCH, Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_kube.retry import Backoff, RetryPolicy, retry
from dra_operator.kinds import NODE_CLAIMS, PODS
from dra_operator.logs import Log, log
from dra_operator.metrics import NODECLAIMS_WRITTEN
from dra_operator.roles.scheduler.write_results import result_of
from dra_operator.watch.cache import Cache
from dra_scheduling.cycle.decisions import NodeClaimOrder
from dra_scheduling.cycle.events import WriteResult
from dra_scheduling.inventory import nominees_of
from dra_scheduling.inventory.nominations import NOMINATED_PODS, REQUESTED_DRIVERS
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import InvalidObjectError, read_as, write

WRITES = RetryPolicy(attempts=5, backoff=Backoff(0.4, 3.2))
ASKED_PODS = 3
"""A watch may be behind without anybody noticing: that so many pods have gone is taken for all of them."""

_log = log("nodeclaims")


class OrderReports(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told how it ended: the scheduler's thread, and with the message of the API server the pods."""

    ended: Callable[[NodeClaimOrder, WriteResult], None]
    refused: Callable[[NodeClaimOrder, str], None]


class NodeClaimWriter:
    """A number of writers behind one queue. Of one NodeClaim there is never more than one order at a time."""

    def __init__(self, api: Api, cache: Cache, reports: OrderReports, *, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._cache = cache
        self._reports = reports
        self._may_write = may_write
        self._waiting: asyncio.Queue[NodeClaimOrder | NodeClaim] = asyncio.Queue()

    def submit(self, order: NodeClaimOrder) -> None:
        """Write the order down soon."""
        self._waiting.put_nowait(order)

    def withdraw(self, double: NodeClaim) -> None:
        """Delete a NodeClaim soon whose pods wait for another one, unless it changes before."""
        self._waiting.put_nowait(double)

    async def run(self) -> None:
        """Be one of the writers, until cancelled."""
        while True:
            task = await self._waiting.get()
            await (self.write(task) if isinstance(task, NodeClaimOrder) else self.take_back(task))

    async def write(self, order: NodeClaimOrder) -> None:
        """Write one order down and report how it ended."""
        line = _log.bind(nodeclaim=order.claim.name, pods=len(order.nominated))
        try:
            result = await self._insist(order, line)
        except ApiError as error:
            line.warning("could not write a NodeClaim", error=str(error))
            self._reports.refused(order, str(error))
            self._reports.ended(order, result_of(error))
            return
        except BaseException:
            self._reports.ended(order, WriteResult.LOST)
            raise
        if result is WriteResult.DONE:
            NODECLAIMS_WRITTEN.labels("created" if order.is_new else "extended").inc()
            line.info("created a NodeClaim" if order.is_new else "nominated more pods to a NodeClaim")
        self._reports.ended(order, result)

    async def take_back(self, double: NodeClaim) -> None:
        """Delete a NodeClaim as it was seen; best effort, since an empty node goes, too."""
        line = _log.bind(nodeclaim=double.name)
        meta = double.metadata
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        if not self._may_write():
            return
        try:
            await self._api.request("DELETE", NODE_CLAIMS.object_path(_key(double)), body)
        except ApiError as error:
            line.warning("could not delete a duplicate NodeClaim", error=str(error))
        else:
            line.warning("deleted a duplicate NodeClaim")

    def _is_wanted(self, order: NodeClaimOrder) -> bool:
        """Whether this replica is still the one to write, and one of the pods still there."""
        return self._may_write() and any(self._is_there(one.pod) for one in order.nominated)

    def _is_there(self, pod: Pod) -> bool:
        current = self._cache.get(Pod, pod.key)
        return current is not None and current.metadata.uid == pod.metadata.uid and not current.metadata.is_deleting

    async def _insist(self, order: NodeClaimOrder, line: Log) -> WriteResult:
        """Return how it ended: it is done where the server has what the order says."""

        async def attempt() -> WriteResult:
            return await self._write_or_find(order, line) if self._is_wanted(order) else WriteResult.DROPPED

        return await retry(attempt, WRITES, asyncio.sleep)

    async def _write_or_find(self, order: NodeClaimOrder, line: Log) -> WriteResult:
        try:
            is_written = await (self._create(order) if order.is_new else self._extend(order.claim))
        except ConflictError as error:
            line.debug("the NodeClaim is not as expected", error=str(error))
            return WriteResult.DONE if await self._is_so(order.claim) else WriteResult.CONFLICT
        return WriteResult.DONE if is_written else WriteResult.DROPPED

    async def _create(self, order: NodeClaimOrder) -> bool:
        if not await self._is_waited_for(order):
            return False
        await self._api.request("POST", NODE_CLAIMS.path, write(order.claim))
        return True

    async def _is_waited_for(self, order: NodeClaimOrder) -> bool:
        """Whether the server, too, has one of the first few pods, and without a node."""
        for one in order.nominated[:ASKED_PODS]:
            try:
                found = await self._api.request("GET", PODS.object_path(one.pod.key))
            except MissingError:
                continue
            if _is_waiting(found, one.pod):
                return True
        return False

    async def _extend(self, claim: NodeClaim) -> bool:
        current = self._cache.get(NodeClaim, _key(claim))
        if current is None or not _is_as_planned(current, claim):
            return False
        annotations = claim.metadata.annotations
        body: Json = {
            "metadata": {
                "uid": current.metadata.uid,
                "resourceVersion": current.metadata.resource_version,
                "annotations": {
                    name: annotations[name] for name in (NOMINATED_PODS, REQUESTED_DRIVERS) if name in annotations
                },
            }
        }
        try:
            await self._api.request("PATCH", NODE_CLAIMS.object_path(_key(claim)), body, content_type=MERGE_PATCH)
        except MissingError:
            return False
        return True

    async def _is_so(self, claim: NodeClaim) -> bool:
        """Return whether the server has the NodeClaim with all its pods: an earlier request of ours, or of a replica.

        What was read is taken in, since nobody would tell if it were gone again before it has been seen.
        """
        try:
            answer = await self._api.request("GET", NODE_CLAIMS.object_path(_key(claim)))
            found = read_as(NodeClaim, answer)
        except MissingError:
            return False
        except InvalidObjectError as error:
            raise ApiError(f"use nodeclaim {claim.name}", 0, reason="Invalid", message=str(error)) from error
        self._api.learn(answer)
        return not found.metadata.is_deleting and set(nominees_of(claim)) <= set(nominees_of(found))


def _is_waiting(found: Json, pod: Pod) -> bool:
    meta = found["metadata"]
    is_same = meta["uid"] == pod.metadata.uid and not meta.get("deletionTimestamp")
    return is_same and not (found.get("spec") or {}).get("nodeName")


def _is_as_planned(current: NodeClaim, planned: NodeClaim) -> bool:
    """Whether nothing has changed that the plan relied on."""
    return (
        current.metadata.uid == planned.metadata.uid
        and not current.metadata.is_deleting
        and current.metadata.labels == planned.metadata.labels
        and current.status == planned.status
        and set(nominees_of(current)) <= set(nominees_of(planned))
    )


def _key(claim: NodeClaim) -> ObjectKey:
    return ObjectKey("", claim.name)
