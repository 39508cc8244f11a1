"""The change that lets a waiting pod fit is one that its refusal waits for."""

import msgspec
import pytest

from dra_builders.values import (
    GPU_DRIVER,
    all_request,
    allocated,
    claim,
    devices,
    driver_class,
    node,
    on_node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus, ResourceClaimAllocation
from dra_scheduling.model.claims import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

FAR_AWAY = DeviceID(GPU_DRIVER, "elsewhere", "gpu-0")
GPU_0, GPU_1 = (DeviceID(GPU_DRIVER, "n1", f"gpu-{number}") for number in range(2))
SHARED = claim("shared", request())
HELD = allocated(SHARED, GPU_0, selector=on_node("n1"))
WAITING = pod("waiting", claims={"gpu": "shared"})
OTHER = pod("other", claims={"gpu": "shared"})

Change = tuple[list[KubernetesObject], KubernetesObject]


def gpus(number: int) -> KubernetesObject:
    return resource_slice("s1", devices(number), node="n1")


def anew(value: ResourceClaim) -> ResourceClaim:
    """The claim as another one of the same name."""
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(value.metadata, uid="another"))


def consumed(value: ResourceClaim, by: int) -> ResourceClaim:
    consumers = (ResourceClaimConsumerReference(resource="pods", name=f"p{i}", uid=f"u{i}") for i in range(by))
    return msgspec.structs.replace(value, status=msgspec.structs.replace(value.status, reserved_for=tuple(consumers)))


def requested(item: Pod, *held: DeviceID, phase: str = "") -> BindRequest:
    """The BindRequest of a pod whose claim `gpu` gets these devices."""
    allocation = allocated(SHARED, *held, selector=on_node("n1")).status.allocation or AllocationResult()
    made = bind_request(Assignment(pod=item, node="n1", claims=(ResourceClaimAllocation("gpu", allocation),)))
    status = BindRequestStatus(phase=phase, observed_generation=1)
    return BindRequest(metadata=msgspec.structs.replace(made.metadata, generation=1), spec=made.spec, status=status)


CHANGES: dict[str, Change] = {
    "its claim is made anew and wants less": ([gpus(1), anew(claim("shared", request(count=2)))], SHARED),
    "another scheduler allocates its claim": ([gpus(0), SHARED], allocated(SHARED, FAR_AWAY)),
    "its claim, whose class is missing, is allocated": (
        [claim("shared", request(class_name="missing"))],
        allocated(claim("shared", request(class_name="missing")), FAR_AWAY),
    ),
    "its claim moves to another node in one update": (
        [allocated(SHARED, FAR_AWAY, selector=on_node("n2"))],
        allocated(SHARED, FAR_AWAY, selector=on_node("n1")),
    ),
    "a consumer leaves its claim, which decided pods fill": (
        [consumed(HELD, 255), OTHER, requested(OTHER, GPU_0)],
        consumed(HELD, 254),
    ),
    "a decided pod does not become a consumer of its full claim": (
        [consumed(HELD, 255), OTHER, requested(OTHER, GPU_0)],
        requested(OTHER, GPU_0, phase=FAILED),
    ),
    "its request for all devices meets few enough": ([gpus(33), claim("shared", all_request())], gpus(32)),
    "a BindRequest is given another device": (
        [gpus(1), SHARED, pod("taker", claims={"gpu": "own"}), requested(pod("taker", claims={"gpu": "own"}), GPU_0)],
        requested(pod("taker", claims={"gpu": "own"}), FAR_AWAY),
    ),
    "a claim with its device is replaced by one of the same name": (
        [gpus(1), SHARED, allocated(claim("taker", request()), GPU_0)],
        anew(claim("taker", request())),
    ),
}


@pytest.mark.parametrize(("objects", "change"), CHANGES.values(), ids=CHANGES)
def test_a_pod_is_woken_when(objects: list[KubernetesObject], change: KubernetesObject) -> None:
    world = Cluster()
    for item in (node("n1"), gpus(2), driver_class(), WAITING, *objects):
        world.apply(item)
    (outcome,) = schedule(world, [WAITING]).outcomes
    assert not isinstance(outcome, Assignment)
    wake = world.apply(change)
    assert outcome.wake & wake
    assert isinstance(schedule(world, [WAITING]).outcomes[0], Assignment)


def test_a_pod_without_claims_does_not_wait_for_any() -> None:
    world = Cluster()
    (outcome,) = schedule(world, [pod("plain")]).outcomes
    assert not isinstance(outcome, Assignment)
    assert ClusterEvent.CLAIMS not in outcome.wake
