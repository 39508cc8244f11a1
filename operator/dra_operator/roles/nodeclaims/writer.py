"""Carries out steps: each is at most a few requests, guarded so that nobody else's change is lost.

What a patch replaces as a whole (taints, owners, conditions, finalizers) is written under the resource version that it
was derived from. Where a step has been taken already nothing is written.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from dra_kube.api import MERGE_PATCH, Api, Json
from dra_kube.errors import ConflictError, MissingError, ThrottledError, UnclearError
from dra_kube.resources import Resource
from dra_kube.retry import Backoff, RetryPolicy
from dra_operator.kinds import BY_KIND, INSTANCE_TYPES, NODE_CLAIMS, NODE_POOLS, NODES, PODS
from dra_operator.pacing import Clock
from dra_operator.roles.nodeclaims.unusable import Unusable
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import Failure, InstanceType, InstanceTypeStatus
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool, NodePoolStatus
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims import ChangeNode, ChangeStatus, ChangeType
from dra_scheduling.nodeclaims.lifecycle_steps import TERMINATION
from dra_scheduling.wire import KubernetesObject, write_value

EVICTIONS = RetryPolicy(backoff=Backoff(1.0, 10.0), longest_asked=10.0)
MOST_REMEMBERED = 10_000
ROW_FIELDS = {
    Failure.DEVICES: ("deviceFailures", "retryAfter"),
    Failure.REGISTRATION: ("registrationFailures", "registrationRetryAfter"),
}


class Blocked(msgspec.Struct, frozen=True):
    """A pod whose eviction was refused: why, how often in a row, and when it is worth another try."""

    why: str
    times: int
    until: float


class StepWriter:
    """Requests about NodeClaims, their nodes and pods. Every method raises `ApiError`."""

    __slots__ = ("_api", "_blocked", "_clock")

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._blocked: dict[str, Blocked] = {}

    async def change_node(self, step: ChangeNode) -> bool:
        """Give a node what the step says; return whether anything was left to be written."""
        path = NODES.object_path(ObjectKey("", step.name))
        try:
            node = await self._api.request("GET", path)
        except MissingError:
            return False
        if node["metadata"]["uid"] != step.uid:
            return False
        patch = _node_patch(node, step)
        if patch is None:
            return False
        await self._api.request("PATCH", path, patch, content_type=MERGE_PATCH)
        return True

    async def change_status(self, claim: NodeClaim, step: ChangeStatus) -> None:
        """Write conditions, node name and time of the last pod event of a NodeClaim."""
        status = {
            "conditions": _conditions(step.status.conditions),
            "nodeName": step.status.node_name or None,
            "lastPodEventTime": step.status.last_pod_event_time or None,
        }
        await self._patch(NODE_CLAIMS, claim, {"status": status}, "status")

    async def change_type(self, value: InstanceType, step: ChangeType) -> None:
        """Write how often in a row a type has failed at something."""
        count, until = ROW_FIELDS[step.failure]
        status = {count: step.failures, until: step.retry_after or None}
        await self._patch(INSTANCE_TYPES, value, {"status": status}, "status")

    async def show_type(self, value: InstanceType, status: InstanceTypeStatus) -> None:
        """Write what is made of a type."""
        body = {
            "conditions": _conditions(status.conditions),
            "deviceCount": status.device_count,
            "drivers": [{"driver": one.driver, "devices": one.devices} for one in status.drivers],
            "devices": status.devices,
            "cheapestPrice": status.cheapest_price,
        }
        await self._patch(INSTANCE_TYPES, value, {"status": body}, "status")

    async def show_unusable(self, value: Unusable, now: str) -> None:
        """Say of an object that cannot be read what is wrong with it, unless it says so or has gone."""
        body = value.patch(now)
        if body is None:
            return
        path = BY_KIND[value.kind].object_path(ObjectKey("", value.raw["metadata"]["name"]), "status")
        with suppress(MissingError):
            await self._api.request("PATCH", path, body, content_type=MERGE_PATCH)

    async def show_pool(self, value: NodePool, status: NodePoolStatus) -> None:
        """Write what a pool has. Resources that it has no more are taken out."""
        gone: dict[str, str | None] = dict.fromkeys(value.status.resources)
        body = {
            "conditions": _conditions(status.conditions),
            "resources": gone | {name: str(amount) for name, amount in status.resources.items()},
            "nodes": status.nodes,
        }
        await self._patch(NODE_POOLS, value, {"status": body}, "status")

    async def delete(self, claim: NodeClaim) -> None:
        """Delete the NodeClaim, unless it has changed meanwhile."""
        metadata = claim.metadata
        options: Json = {"preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}}
        try:
            await self._api.request("DELETE", NODE_CLAIMS.object_path(_key(claim)), options)
        except MissingError:
            return

    async def hold(self, claim: NodeClaim, *, is_held: bool) -> None:
        """Put the finalizer on the NodeClaim, or take it off."""
        others = [name for name in claim.metadata.finalizers if name != TERMINATION]
        finalizers = [*others, TERMINATION] if is_held else others
        try:
            await self._patch(NODE_CLAIMS, claim, {"metadata": {"finalizers": finalizers}})
        except MissingError:
            return

    async def evict(self, pod: Pod) -> Blocked | None:
        """Ask for the pod's eviction, unless it is too early to ask again; None if it was granted."""
        uid = pod.metadata.uid
        before = self._blocked.get(uid)
        if before is not None and before.until > self._clock():
            return before
        body: Json = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.key.name, "namespace": pod.key.namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        try:
            await self._api.request("POST", PODS.object_path(pod.key, "eviction"), body)
        except (MissingError, ConflictError):
            # Gone, or another one of that name.
            pass
        except (ThrottledError, UnclearError) as error:
            # The server's answer to a pod that two budgets protect is an internal error.
            return self._refused(uid, before, error)
        self._blocked.pop(uid, None)
        return None

    async def end(self, pod: Pod) -> None:
        """Delete the pod, whatever budgets say; it has its own time to end."""
        options: Json = {"preconditions": {"uid": pod.metadata.uid}}
        try:
            await self._api.request("DELETE", PODS.object_path(pod.key), options)
        except (MissingError, ConflictError):
            return

    def _refused(self, uid: str, before: Blocked | None, error: ThrottledError | UnclearError) -> Blocked:
        times = 1 if before is None else before.times + 1
        pause = EVICTIONS.pause(error, times)
        if len(self._blocked) >= MOST_REMEMBERED:
            self._blocked.clear()
        found = self._blocked[uid] = Blocked(str(error), times, self._clock() + pause)
        return found

    async def _patch(self, resource: Resource, value: KubernetesObject, body: Json, subresource: str = "") -> None:
        metadata = value.metadata
        guard = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        body = {**body, "metadata": {**body.get("metadata", {}), **guard}}
        path = resource.object_path(_key(value), subresource)
        await self._api.request("PATCH", path, body, content_type=MERGE_PATCH)


def _node_patch(node: Mapping[str, Any], step: ChangeNode) -> Json | None:
    metadata = node["metadata"]
    patch: dict[str, Any] = {}
    labels = {key: value for key, value in step.labels.items() if (metadata.get("labels") or {}).get(key) != value}
    if labels:
        patch["labels"] = labels
    owners = metadata.get("ownerReferences") or []
    if step.owner is not None and step.owner.uid not in {one["uid"] for one in owners}:
        patch["ownerReferences"] = [*owners, write_value(step.owner)]
    before = (node.get("spec") or {}).get("taints") or []
    removed = {(one.key, one.effect) for one in step.removed}
    taints = [one for one in before if (one["key"], one["effect"]) not in removed]
    there = {(one["key"], one["effect"]) for one in taints}
    # The server refuses a node that has one twice.
    added = {(one.key, one.effect): one for one in step.added if (one.key, one.effect) not in there}
    taints += [write_value(one) for one in added.values()]
    if not patch and taints == before:
        return None
    guard = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    body: Json = {"metadata": {**guard, **patch}}
    if taints != before:
        body["spec"] = {"taints": taints}
    return body


def _conditions(conditions: tuple[Condition, ...]) -> list[Json]:
    return [
        {
            "type": one.type,
            "status": one.status,
            "reason": one.reason or one.type,
            "message": one.message,
            "lastTransitionTime": one.last_transition_time,
            "observedGeneration": one.observed_generation,
        }
        for one in conditions
    ]


def _key(value: KubernetesObject) -> ObjectKey:
    return ObjectKey(value.metadata.namespace, value.metadata.name)
