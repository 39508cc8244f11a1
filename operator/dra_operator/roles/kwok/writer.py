"""The requests of provider, kubelet and drivers. Each may be made twice, and changes what it was decided on only."""

from collections.abc import Mapping

from dra_kube.api import MERGE_PATCH, STRATEGIC_PATCH, Api, Json
from dra_kube.errors import ConflictError, MissingError
from dra_operator.kinds import NODE_CLAIMS, NODES, PODS, SLICES
from dra_operator.pacing import micro_timestamp
from dra_operator.roles.kwok.instances import FINALIZER
from dra_operator.roles.kwok.objects import LEASE_NAMESPACE, lease_of, node_of, node_status, provider_id
from dra_operator.roles.kwok.pools import Publish, Withdraw
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.wire import KubernetesObject, write

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"


class KwokWriter:
    """Every method raises `ApiError`."""

    __slots__ = ("_api", "_features")

    def __init__(self, api: Api, features: Features = DEFAULT_FEATURES) -> None:
        self._api = api
        self._features = features

    async def decide(self, claim: NodeClaim, labels: Mapping[str, str]) -> None:
        """Write which machine a NodeClaim gets, and that the machine has to go before it."""
        finalizers = dict.fromkeys((*claim.metadata.finalizers, FINALIZER))
        body: Json = {"metadata": {"labels": dict(labels), "finalizers": list(finalizers)}}
        await self._patch_claim(claim, body)

    async def show(self, claim: NodeClaim, status: Json) -> None:
        """Write into the status of a NodeClaim."""
        await self._patch_claim(claim, {"status": status}, "status")

    async def delete_claim(self, claim: NodeClaim) -> None:
        """Delete the NodeClaim, and no other of its name."""
        await self._delete(NODE_CLAIMS.object_path(_key(claim)), claim.metadata.uid)

    async def release(self, claim: NodeClaim) -> None:
        """Let the NodeClaim go."""
        rest = [name for name in claim.metadata.finalizers if name != FINALIZER]
        try:
            await self._patch_claim(claim, {"metadata": {"finalizers": rest}})
        except MissingError:
            return

    async def create_node(self, claim: NodeClaim, *, is_ready: bool) -> bool:
        """Let the machine come up; return False where another node has its name."""
        try:
            body = node_of(claim, is_ready=is_ready, features=self._features)
            await self._api.request("POST", NODES.path, body)
        except ConflictError as error:
            there = await self._node(claim)
            if not there:
                raise error from None
            return _is_machine_of(there, claim)
        return True

    async def uid_of_node(self, claim: NodeClaim) -> str | None:
        """Return the UID of the node that is the NodeClaim's machine, None where the server has none."""
        node = await self._node(claim)
        return str(node["metadata"]["uid"]) if _is_machine_of(node, claim) else None

    async def is_name_taken(self, claim: NodeClaim) -> bool:
        """Whether the server has a node of the NodeClaim's name, whatever its machine is."""
        return bool(await self._node(claim))

    async def show_ready(self, node: Node, *, is_ready: bool) -> None:
        """Say whether the node is ready."""
        body: Json = {"metadata": {"uid": node.metadata.uid}, "status": node_status(is_ready=is_ready)}
        path = NODES.object_path(_key(node), "status")
        await self._api.request("PATCH", path, body, content_type=STRATEGIC_PATCH)

    async def delete_node(self, name: str, uid: str) -> None:
        """Delete the node, and no other of its name."""
        await self._delete(NODES.object_path(ObjectKey("", name)), uid)

    async def create_lease(self, name: str, uid: str) -> None:
        """Say for the first time that a node is alive."""
        await self._api.request("POST", LEASES, lease_of(name, uid))

    async def renew_lease(self, name: str) -> None:
        """Say that a node is still alive."""
        body: Json = {"spec": {"renewTime": micro_timestamp()}}
        await self._api.request("PATCH", f"{LEASES}/{name}", body, content_type=MERGE_PATCH)

    async def delete_lease(self, name: str) -> None:
        """Delete the Lease of a node."""
        try:
            await self._api.request("DELETE", f"{LEASES}/{name}", {})
        except MissingError:
            return

    async def publish(self, step: Publish) -> None:
        """Create a slice, or put it in the place of the one of its name."""
        body = write(step.slice)
        if step.before is None:
            await self._api.request("POST", SLICES.path, body)
            return
        meta = step.before.metadata
        body["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}  # type: ignore[operator]
        await self._api.request("PUT", SLICES.object_path(_key(step.before)), body)

    async def withdraw(self, step: Withdraw) -> None:
        """Delete a slice."""
        await self._delete(SLICES.object_path(_key(step.slice)), step.slice.metadata.uid)

    async def show_pod(self, pod: Pod, status: Json) -> None:
        """Write into the status of a pod."""
        body: Json = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        path = PODS.object_path(pod.key, "status")
        await self._api.request("PATCH", path, body, content_type=STRATEGIC_PATCH)

    async def end_pod(self, pod: Pod) -> None:
        """Let a pod be gone: nothing of it runs any more."""
        await self._delete(PODS.object_path(pod.key), pod.metadata.uid, gracePeriodSeconds=0)

    async def _node(self, claim: NodeClaim) -> Json:
        try:
            return await self._api.request("GET", NODES.object_path(_key(claim)))
        except MissingError:
            return {}

    async def _patch_claim(self, claim: NodeClaim, body: Json, subresource: str = "") -> None:
        guard = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
        body = {**body, "metadata": {**body.get("metadata", {}), **guard}}
        path = NODE_CLAIMS.object_path(_key(claim), subresource)
        await self._api.request("PATCH", path, body, content_type=MERGE_PATCH)

    async def _delete(self, path: str, uid: str, **options: int) -> None:
        body: Json = {"preconditions": {"uid": uid}, **options}
        try:
            await self._api.request("DELETE", path, body)
        except MissingError:
            return


def _is_machine_of(node: Json, claim: NodeClaim) -> bool:
    return bool((node.get("spec") or {}).get("providerID") == provider_id(claim))


def _key(value: KubernetesObject) -> ObjectKey:
    return ObjectKey(value.metadata.namespace, value.metadata.name)
