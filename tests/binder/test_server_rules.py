"""What binding relies on, asked of the real API server and of the one in memory that the other tests run against."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import yaml

from dra_binder.plan import Plan, make_plan, special_claim
from dra_binder.ports import BindRequests, Claims, Pods
from dra_binding.fake_ports import InMemoryBindRequests, InMemoryClaims, InMemoryPods
from dra_binding.server import InMemoryServer
from dra_binding.world import NODE, SPECIAL_REQUEST, allocation, bind_request, special
from dra_builders.values import pod, reserved_for
from dra_controlplane.client import ApiClient
from dra_controlplane.client import ApiError as ClientError
from dra_controlplane.waiting import wait_until
from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_operator.roles.binder.ports import KubeBindRequests, KubeClaims, KubePods
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus
from dra_scheduling.model.claims import (
    CLAIM_FINALIZER,
    MAX_CONSUMERS_PER_CLAIM,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import read_as, write

CRD = Path(__file__).parents[2] / "crds" / "scheduling.run.ai_bindrequests.yaml"
GONE = 404
CONFLICT = 409
INVALID = 422
SOMEBODY = pod("somebody")


class ThroughClient:
    """Requests of the binder's ports through the tests' own client."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        try:
            return await asyncio.to_thread(self._api.request, method, path, body, content_type=content_type)
        except ClientError as error:
            kinds = {GONE: MissingError, CONFLICT: ConflictError}
            causes = error.body.get("details", {}).get("causes", ())
            raise kinds.get(error.code, ApiError)(
                f"{method} {path}",
                error.code,
                reason=error.reason,
                message=error.message,
                causes=tuple(cause.get("field", "") for cause in causes),
            ) from error


class Backend(NamedTuple):
    """One kind of server, with a pod and a BindRequest for it."""

    claims: Claims
    pods: Pods
    bind_requests: BindRequests
    pod: Pod
    neighbour: Pod
    request: BindRequest

    @property
    def plan(self) -> Plan:
        plan = make_plan(self.request, self.pod)
        assert isinstance(plan, Plan)
        return plan

    async def claim(self) -> ResourceClaim:
        """Create the pod's special claim."""
        return await self.claims.create(special_claim(self.plan, "special"))

    async def allocated(self) -> ResourceClaim:
        """Create the claim, give it two devices and reserve it for the pod."""
        return await self.claims.replace_status(await self.claim(), status_for(self.pod))


def status_for(*consumers: Pod, request_name: str = SPECIAL_REQUEST, first: str = "gpu-1") -> ResourceClaimStatus:
    return ResourceClaimStatus(
        allocation=allocation(first, "gpu-2", request_name=request_name),
        reserved_for=tuple(reserved_for(consumer) for consumer in consumers),
    )


def in_memory() -> Backend:
    server = InMemoryServer()
    stored, neighbour = server.put(pod("p")), server.put(pod("neighbour"))
    request = server.put(bind_request(stored, extended=special("gpu-1", "gpu-2")))
    return Backend(
        InMemoryClaims(server), InMemoryPods(server), InMemoryBindRequests(server), stored, neighbour, request
    )


def real(api: ApiClient, namespace: str) -> Backend:
    api.apply(yaml.safe_load(CRD.read_text()))
    wait_until(lambda: is_served(api), "BindRequests to be served")
    container = {"name": "main", "image": "none", "resources": {"limits": {"example.com/gpu": 2}}}
    spec = {"schedulerName": "nobody", "containers": [container]}
    stored, neighbour = (
        read_as(
            Pod,
            api.create(
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
            ),
        )
        for name in ("p", "neighbour")
    )
    request = read_as(BindRequest, api.create(write(bind_request(stored, extended=special("gpu-1", "gpu-2")))))
    through = ThroughClient(api)
    return Backend(KubeClaims(through), KubePods(through), KubeBindRequests(through), stored, neighbour, request)


def is_served(api: ApiClient) -> bool:
    try:
        api.list("scheduling.run.ai/v1alpha2/bindrequests")
    except ClientError:
        return False
    return True


@pytest.fixture(params=["in memory", pytest.param("real", marks=pytest.mark.controlplane)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param == "real":
        yield real(request.getfixturevalue("api"), request.getfixturevalue("namespace"))
    else:
        yield in_memory()


def stale(claim: ResourceClaim) -> ResourceClaim:
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, resource_version="1"))


def another(claim: ResourceClaim) -> ResourceClaim:
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, uid="another"))


async def test_a_claim_keeps_the_finalizer_and_the_owner_it_is_created_with(backend: Backend) -> None:
    claim = await backend.claim()

    assert claim.metadata.finalizers == (CLAIM_FINALIZER,)
    assert claim.metadata.generate_name == "p-extended-resources-"
    assert claim.is_special_claim_of("p", backend.pod.metadata.uid)
    assert claim.status == ResourceClaimStatus()


async def test_a_claim_cannot_be_created_twice(backend: Backend) -> None:
    await backend.claim()

    with pytest.raises(ConflictError) as refused:
        await backend.claim()

    assert refused.value.reason == "AlreadyExists"


async def test_allocation_and_consumer_are_written_together(backend: Backend) -> None:
    claim = await backend.allocated()

    assert claim.status == status_for(backend.pod)
    assert claim == await backend.claims.get(claim.key)
    assert claim.metadata.finalizers == (CLAIM_FINALIZER,)


async def test_a_second_consumer_is_added_beside_the_first(backend: Backend) -> None:
    claim = await backend.allocated()
    both = status_for(backend.pod, backend.neighbour)

    assert (await backend.claims.replace_status(claim, both)).status == both


async def test_the_last_consumer_and_the_allocation_leave_together(backend: Backend) -> None:
    claim = await backend.allocated()

    assert (await backend.claims.replace_status(claim, ResourceClaimStatus())).status == ResourceClaimStatus()


@pytest.mark.parametrize("change", [stale, another])
async def test_a_claim_that_is_not_as_it_was_read_is_not_written(backend: Backend, change: object) -> None:
    assert callable(change)
    claim = await backend.claim()

    with pytest.raises(ConflictError):
        await backend.claims.replace_status(change(claim), status_for(backend.pod))
    with pytest.raises(ConflictError):
        await backend.claims.replace_finalizers(change(claim), ())
    written = await backend.claims.replace_status(claim, status_for(backend.pod))
    with pytest.raises(ConflictError):
        await backend.claims.replace_status(change(written), status_for(backend.pod, backend.neighbour))


async def test_a_write_to_a_claim_that_is_gone_says_so(backend: Backend) -> None:
    claim = special_claim(backend.plan, "never-was")
    claim = msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, uid="x", resource_version="1")
    )

    with pytest.raises(MissingError):
        await backend.claims.get(claim.key)
    with pytest.raises(MissingError):
        await backend.claims.replace_finalizers(claim, ())
    with pytest.raises(MissingError):
        await backend.claims.delete(claim)


@pytest.mark.parametrize(
    "status",
    [
        status_for(SOMEBODY, SOMEBODY),
        status_for(SOMEBODY, request_name="stray"),
        status_for(*(pod(f"p{number}") for number in range(MAX_CONSUMERS_PER_CLAIM + 1))),
        msgspec.structs.replace(status_for(SOMEBODY), allocation=None),
    ],
    ids=["twice the same consumer", "a request that was never made", "257 consumers", "consumers of nothing"],
)
async def test_a_status_that_breaks_a_rule_is_refused(backend: Backend, status: ResourceClaimStatus) -> None:
    with pytest.raises(ApiError) as refused:
        await backend.claims.replace_status(await backend.claim(), status)

    assert refused.value.code == INVALID


async def test_an_allocation_cannot_be_exchanged(backend: Backend) -> None:
    claim = await backend.allocated()

    with pytest.raises(ApiError) as refused:
        await backend.claims.replace_status(claim, status_for(backend.pod, first="gpu-9"))

    assert refused.value.code == INVALID


async def test_a_deleted_claim_stays_until_its_finalizer_goes_and_takes_no_consumer(backend: Backend) -> None:
    left = await backend.claims.delete(await backend.allocated())

    assert left is not None
    assert left.metadata.is_deleting
    with pytest.raises(ApiError):
        await backend.claims.replace_status(left, status_for(backend.pod, backend.neighbour))
    await backend.claims.replace_finalizers(left, ())
    with pytest.raises(MissingError):
        await backend.claims.get(left.key)


async def test_a_claim_without_finalizers_is_gone_at_once(backend: Backend) -> None:
    claim = await backend.claims.replace_finalizers(await backend.claim(), ())

    assert await backend.claims.delete(claim) is None


async def test_another_claim_of_the_same_name_is_not_deleted(backend: Backend) -> None:
    claim = await backend.claim()

    with pytest.raises(ConflictError):
        await backend.claims.delete(another(claim))


async def test_the_pods_status_names_its_claim(backend: Backend) -> None:
    wanted = backend.plan.pod_status(await backend.claim())

    await backend.pods.patch_status(backend.pod, wanted)

    assert (await backend.pods.get(backend.pod.key)).status.extended_resource_claim_status == wanted


async def test_a_pod_is_bound_once(backend: Backend) -> None:
    await backend.pods.bind(backend.pod, NODE)

    with pytest.raises(ConflictError):
        await backend.pods.bind(backend.pod, NODE)
    assert (await backend.pods.get(backend.pod.key)).spec.node_name == NODE


async def test_another_pod_of_the_same_name_is_neither_changed_nor_bound(backend: Backend) -> None:
    former = msgspec.structs.replace(
        backend.pod, metadata=msgspec.structs.replace(backend.pod.metadata, uid="the-former-one")
    )

    with pytest.raises(ConflictError):
        await backend.pods.patch_status(former, backend.plan.pod_status(await backend.claim()))
    with pytest.raises(ConflictError):
        await backend.pods.bind(former, NODE)


async def test_a_pod_that_is_gone_cannot_be_bound(backend: Backend) -> None:
    gone = msgspec.structs.replace(backend.pod, metadata=msgspec.structs.replace(backend.pod.metadata, name="gone"))

    with pytest.raises(MissingError):
        await backend.pods.bind(gone, NODE)


async def test_a_bind_request_takes_status_after_status_and_goes(backend: Backend) -> None:
    status = BindRequestStatus(
        phase=FAILED, reason="no", failed_attempts=1, observed_generation=1, last_attempt_time="2026-01-01T00:00:00Z"
    )

    await backend.bind_requests.patch_status(backend.request, status)
    await backend.bind_requests.patch_status(backend.request, msgspec.structs.replace(status, reason="", phase=""))
    await backend.bind_requests.delete(backend.request)

    with pytest.raises(MissingError):
        await backend.bind_requests.patch_status(backend.request, status)
