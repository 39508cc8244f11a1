"""`dra_binder.ports` for claims, pods and BindRequests, as requests to the API server.

Nothing is sent that these values do not describe: objects of newer API versions hold fields that ours would drop, and a
claim's spec and allocation cannot be changed. So a claim is replaced as a whole only where its status is still empty,
and changed field by field otherwise, always under the resourceVersion it was read at. `metadata.uid` in a patch makes
the server refuse it for another object of the same name.
"""

from http import HTTPStatus

from dra_kube.api import MERGE_PATCH, Api, Json
from dra_kube.errors import ApiError, ConflictError
from dra_operator.kinds import BIND_REQUESTS, CLAIMS, PODS
from dra_scheduling.model.bindrequests import BindRequest, BindRequestStatus
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import NodeAllocatableResourceClaimStatus, Pod, PodExtendedResourceClaimStatus
from dra_scheduling.wire import InvalidObjectError, KubernetesObject, read_as, write, write_value

UNREADABLE = "Unreadable"


class KubeClaims:
    """`dra_binder.ports.Claims`."""

    __slots__ = ("_api",)

    def __init__(self, api: Api) -> None:
        self._api = api

    async def get(self, key: ObjectKey) -> ResourceClaim:
        """Return the claim as the server holds it now."""
        return _claim(await self._api.request("GET", CLAIMS.object_path(key)), key)

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Create the claim under its name."""
        path = CLAIMS.collection_path(claim.metadata.namespace)
        return _claim(await self._api.request("POST", path, write(claim)), claim.key)

    async def replace_finalizers(self, claim: ResourceClaim, finalizers: tuple[str, ...]) -> ResourceClaim:
        """Set the finalizers and nothing else."""
        body: Json = {"metadata": {**_version(claim), "finalizers": list(finalizers)}}
        return _claim(await _patch(self._api, CLAIMS.object_path(claim.key), body), claim.key)

    async def replace_status(self, claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
        """Set allocation and reservedFor."""
        path = CLAIMS.object_path(claim.key, "status")
        if claim.status == ResourceClaimStatus():
            body = write(ResourceClaim(metadata=claim.metadata, status=status))
            return _claim(await self._api.request("PUT", path, body), claim.key)
        fields: Json = {"reservedFor": [write_value(consumer) for consumer in status.reserved_for]}
        if status.allocation != claim.status.allocation:
            fields["allocation"] = write_value(status.allocation) if status.allocation else None
        body = {"metadata": _version(claim), "status": fields}
        return _claim(await _patch(self._api, path, body), claim.key)

    async def delete(self, claim: ResourceClaim) -> ResourceClaim | None:
        """Delete the claim; return it while finalizers hold it."""
        answer = await self._api.request("DELETE", CLAIMS.object_path(claim.key), _only(claim))
        if answer.get("kind") != ResourceClaim.__name__:
            return None
        left = _claim(answer, claim.key)
        return left if left.metadata.finalizers else None


class KubePods:
    """`dra_binder.ports.Pods`."""

    __slots__ = ("_api",)

    def __init__(self, api: Api) -> None:
        self._api = api

    async def get(self, key: ObjectKey) -> Pod:
        """Return the pod as the server holds it now."""
        answer = await self._api.request("GET", PODS.object_path(key))
        try:
            return read_as(Pod, answer)
        except InvalidObjectError as error:
            raise _unreadable("pods", key, error) from error

    async def patch_status(self, pod: Pod, status: PodExtendedResourceClaimStatus) -> None:
        """Set `status.extendedResourceClaimStatus` and nothing else."""
        body: Json = {
            "metadata": {"uid": pod.metadata.uid},
            "status": {"extendedResourceClaimStatus": write_value(status)},
        }
        await _patch(self._api, PODS.object_path(pod.key, "status"), body)

    async def patch_taken_of_node(self, pod: Pod, taken: tuple[NodeAllocatableResourceClaimStatus, ...]) -> None:
        """Set `status.nodeAllocatableResourceClaimStatuses` and nothing else."""
        body: Json = {
            "metadata": {"uid": pod.metadata.uid},
            "status": {"nodeAllocatableResourceClaimStatuses": [write_value(each) for each in taken]},
        }
        await _patch(self._api, PODS.object_path(pod.key, "status"), body)

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind the pod to the node."""
        meta = pod.metadata
        body: Json = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._api.request("POST", PODS.object_path(pod.key, "binding"), body)


class KubeBindRequests:
    """`dra_binder.ports.BindRequests`."""

    __slots__ = ("_api",)

    def __init__(self, api: Api) -> None:
        self._api = api

    async def patch_status(self, request: BindRequest, status: BindRequestStatus) -> None:
        """Set the status; empty fields are removed."""
        fields: Json = {
            "phase": status.phase or None,
            "reason": status.reason or None,
            "failedAttempts": status.failed_attempts,
            "observedGeneration": status.observed_generation,
            "lastAttemptTime": status.last_attempt_time or None,
        }
        body: Json = {"metadata": {"uid": request.metadata.uid}, "status": fields}
        await _patch(self._api, BIND_REQUESTS.object_path(request.key, "status"), body)

    async def delete(self, request: BindRequest) -> None:
        """Delete the object."""
        await self._api.request("DELETE", BIND_REQUESTS.object_path(request.key), _only(request))


async def _patch(api: Api, path: str, body: Json) -> Json:
    try:
        return await api.request("PATCH", path, body, content_type=MERGE_PATCH)
    except ApiError as error:
        if error.code == HTTPStatus.UNPROCESSABLE_ENTITY and "metadata.uid" in error.causes:
            # What other verbs call a conflict: the object has another UID than the patch.
            raise ConflictError(error.action, error.code, reason=error.reason, message=error.message) from error
        raise


def _version(claim: ResourceClaim) -> Json:
    return {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}


def _only(value: KubernetesObject) -> Json:
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": value.metadata.uid}}


def _claim(answer: Json, key: ObjectKey) -> ResourceClaim:
    try:
        return read_as(ResourceClaim, answer)
    except InvalidObjectError as error:
        raise _unreadable("resourceclaims", key, error) from error


def _unreadable(resource: str, key: ObjectKey, error: InvalidObjectError) -> ApiError:
    return ApiError(f"read {resource} {key}", 0, reason=UNREADABLE, message=str(error))
