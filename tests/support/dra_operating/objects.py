"""Objects as the API server sends them, from values."""

from typing import TypeVar

import msgspec

from dra_builders.values import GPU_DRIVER, NAMESPACE, allocated, claim, request
from dra_kube.api import Json
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import (
    BindRequest,
    BindRequestSpec,
    BindRequestStatus,
    ResourceClaimAllocation,
)
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, write

T = TypeVar("T", bound=KubernetesObject)


def at(value: T, version: int, uid: str = "") -> T:
    """The object at a resource version, and perhaps another object of that name."""
    metadata = msgspec.structs.replace(
        value.metadata, resource_version=str(version), uid=uid or value.metadata.uid or f"uid-{value.metadata.name}"
    )
    return msgspec.structs.replace(value, metadata=metadata)


def raw(value: KubernetesObject, version: int = 1, uid: str = "") -> Json:
    """The object as JSON."""
    return write(at(value, version, uid))


def device(name: str, pool: str = "n1") -> DeviceID:
    """A device of the usual driver."""
    return DeviceID(GPU_DRIVER, pool, name)


def held_claim(name: str, *devices: str, pods: tuple[Pod, ...] = ()) -> ResourceClaim:
    """A claim that holds devices of node n1 for pods."""
    return allocated(claim(name, request()), *(device(one) for one in devices), consumers=pods)


def allocation(*devices: str) -> AllocationResult:
    """An allocation of devices of node n1."""
    found = held_claim("any", *devices).status.allocation
    assert found is not None
    return found


def bind_request(
    pod: Pod, *devices: str, node: str = "n1", phase: str = "", generation: int = 1, attempts: int = 0
) -> BindRequest:
    """The BindRequest of a pod, with devices for its claim `gpu`."""
    claims = (ResourceClaimAllocation("gpu", allocation(*devices)),) if devices else ()
    return BindRequest(
        metadata=ObjectMeta(
            name=pod.metadata.name,
            namespace=NAMESPACE,
            uid=f"uid-of-request-{pod.metadata.name}",
            generation=generation,
            resource_version="1",
        ),
        spec=BindRequestSpec(
            pod_name=pod.metadata.name,
            pod_uid=pod.metadata.uid,
            selected_node=node,
            resource_claim_allocations=claims,
        ),
        status=BindRequestStatus(phase=phase, failed_attempts=attempts, observed_generation=generation if phase else 0),
    )
