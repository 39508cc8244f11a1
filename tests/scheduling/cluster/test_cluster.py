import msgspec

from dra_builders.values import (
    GPU_DRIVER,
    allocated,
    claim,
    container,
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
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus
from dra_scheduling.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import Node, Pod, PodStatus
from dra_scheduling.state.assignments import Assignment, Unschedulable
from dra_scheduling.wire import KubernetesObject

RESOURCE = "example.com/gpu"
GPU_0 = DeviceID(GPU_DRIVER, "n1", "gpu-0")


def cluster(*objects: KubernetesObject, gpus: int = 2) -> Cluster:
    made = Cluster()
    standard = (
        node("n1"),
        resource_slice("s1", devices(gpus), node="n1"),
        driver_class(extended_resource_name=RESOURCE),
    )
    for item in (*standard, *objects):
        made.apply(item)
    return made


def gpu_pod(name: str = "p", count: int = 1) -> Pod:
    return pod(name, container(requests={"cpu": "1"}, limits={RESOURCE: str(count)}))


def decide(world: Cluster, item: Pod) -> Assignment:
    world.apply(item)
    (outcome,) = schedule(world, [item]).outcomes
    assert isinstance(outcome, Assignment)
    return outcome


def written(assignment: Assignment, *, generation: int = 1, phase: str = "") -> BindRequest:
    request_ = bind_request(assignment)
    metadata = msgspec.structs.replace(request_.metadata, uid="br", generation=generation)
    status = BindRequestStatus(phase=phase, observed_generation=generation if phase else 0)
    return msgspec.structs.replace(request_, metadata=metadata, status=status)


def bound(item: Pod, to: str) -> Pod:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, node_name=to))


def ended(item: Pod) -> Pod:
    return msgspec.structs.replace(item, status=PodStatus(phase="Succeeded"))


def special(assignment: Assignment) -> ResourceClaim:
    owner = assignment.pod
    made = claim(f"{owner.metadata.name}-extended-resources-x", request("container-0-request-0"), owner=owner)
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=annotations))
    return allocated(made, GPU_0, selector=on_node("n1"), consumers=[owner])


def test_a_decision_takes_room_and_devices_at_once() -> None:
    world = cluster()
    decide(world, gpu_pod())
    assert world.ledger.is_taken(GPU_0)
    assert world.nodes["n1"].free["cpu"] == 63_000
    assert world.pending() == ()


def test_a_forgotten_decision_leaves_no_trace() -> None:
    world = cluster()
    item = gpu_pod()
    decide(world, item)
    wake = world.forget(item.metadata.uid)
    assert not world.ledger.held
    assert world.nodes["n1"].free["cpu"] == 64_000
    assert ClusterEvent.DEVICES in wake
    assert world.pending() == (item,)


def test_the_device_is_never_free_from_plan_to_bind_request_to_claim_to_bound_pod() -> None:
    world = cluster()
    item = gpu_pod()
    assignment = decide(world, item)
    steps: tuple[KubernetesObject, ...] = (
        written(assignment),
        special(assignment),
        bound(item, "n1"),
        written(assignment, phase="Succeeded"),
    )
    for step in steps:
        world.apply(step)
        assert world.ledger.is_taken(GPU_0), step
        assert len(world.ledger.holders(GPU_0)) == 1
        assert world.nodes["n1"].free["cpu"] == 63_000


def test_a_late_claim_event_does_not_open_a_gap_after_success() -> None:
    world = cluster()
    item = gpu_pod()
    assignment = decide(world, item)
    world.apply(written(assignment))
    world.apply(written(assignment, phase="Succeeded"))
    world.apply(bound(item, "n1"))
    assert world.ledger.is_taken(GPU_0)


def test_a_failed_bind_request_frees_everything_and_the_pod_is_pending_again() -> None:
    world = cluster()
    item = gpu_pod()
    assignment = decide(world, item)
    world.apply(written(assignment))
    wake = world.apply(written(assignment, phase=FAILED))
    assert not world.ledger.held
    assert ClusterEvent.DEVICES in wake
    assert ClusterEvent.ROOM in wake
    assert world.pending() == (item,)


def test_a_new_plan_is_not_undone_by_the_old_generation_s_failure() -> None:
    world = cluster()
    item = gpu_pod()
    first = decide(world, item)
    world.apply(written(first))
    world.apply(written(first, phase=FAILED))
    (second,) = schedule(world, [item]).outcomes
    assert isinstance(second, Assignment)
    world.apply(written(first, phase=FAILED))
    assert world.ledger.is_taken(GPU_0)
    world.apply(written(second, generation=2))
    world.apply(written(second, generation=2, phase=FAILED))
    assert not world.ledger.held


def test_a_bind_request_of_an_earlier_pod_of_the_name_counts_for_nothing() -> None:
    world = cluster()
    assignment = decide(world, gpu_pod())
    request_ = written(assignment)
    again = gpu_pod()
    again = msgspec.structs.replace(again, metadata=msgspec.structs.replace(again.metadata, uid="other"))
    fresh = cluster(again, request_)
    assert fresh.pending() == (again,)
    assert not fresh.ledger.held


def test_a_bind_request_made_anew_takes_the_place_of_the_plan() -> None:
    world = cluster()
    item = gpu_pod()
    first = decide(world, item)
    world.apply(written(first))
    world.apply(written(first, phase=FAILED))
    (second,) = schedule(world, [item]).outcomes
    assert isinstance(second, Assignment)
    world.remove(BindRequest, item.key)
    anew = written(second)
    anew = msgspec.structs.replace(anew, metadata=msgspec.structs.replace(anew.metadata, uid="another"))
    world.apply(anew)
    world.apply(msgspec.structs.replace(anew, status=BindRequestStatus(phase=FAILED, observed_generation=1)))
    assert not world.ledger.held
    assert world.pending() == (item,)


def test_a_second_bind_request_for_a_pod_hides_nothing_that_the_first_one_gives_away() -> None:
    world = cluster(gpus=4)
    first = written(decide(world, gpu_pod()))
    also = written(decide(cluster(allocated(claim("c", request()), GPU_0)), gpu_pod()))
    also = msgspec.structs.replace(also, metadata=msgspec.structs.replace(also.metadata, name="also"))
    for some in ([first, also], [also, first]):
        both = cluster(gpu_pod(), *some, gpus=4)
        assert both.ledger.taken_count == 2
        both.remove(BindRequest, also.key)
        assert {device for held in both.ledger.held.values() for device in held.devices} == {GPU_0}


def test_a_special_claim_that_somebody_makes_an_ordinary_one_is_nobody_s_when_it_goes() -> None:
    world = cluster()
    item = gpu_pod()
    left = special(decide(world, item))
    world.forget(item.metadata.uid)
    world.apply(left)
    world.apply(msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, annotations={})))
    world.remove(ResourceClaim, left.key)
    assert isinstance(schedule(world, [item]).outcomes[0], Assignment)


def test_a_finished_pod_holds_only_what_its_claim_still_holds() -> None:
    world = cluster()
    item = gpu_pod()
    assignment = decide(world, item)
    steps: tuple[KubernetesObject, ...] = (
        written(assignment, phase="Succeeded"),
        special(assignment),
        ended(bound(item, "n1")),
    )
    for step in steps:
        world.apply(step)
    assert world.nodes["n1"].free["cpu"] == 64_000
    assert world.ledger.is_taken(GPU_0)
    world.remove(ResourceClaim, special(assignment).key)
    assert not world.ledger.held


def test_pods_seen_before_their_node_are_charged_when_it_comes() -> None:
    world = Cluster()
    world.apply(bound(gpu_pod(), "n1"))
    world.apply(node("n1"))
    assert world.nodes["n1"].free["cpu"] == 63_000
    world.remove(Pod, ObjectKey("default", "p"))
    assert world.nodes["n1"].free["cpu"] == 64_000


def test_nothing_is_kept_of_a_node_that_is_gone_with_all_its_pods() -> None:
    item = bound(gpu_pod(), "n1")
    world = cluster(item)
    charges = world.placements.charges_on("n1")
    world.remove(Node, ObjectKey("", "n1"))
    assert world.placements.charges_on("n1") is charges
    world.remove(Pod, item.key)
    assert world.placements.charges_on("n1") is not charges


def test_a_node_that_comes_back_knows_its_pods() -> None:
    world = cluster(bound(gpu_pod(), "n1"))
    world.remove(Node, ObjectKey("", "n1"))
    world.apply(node("n1"))
    assert world.nodes["n1"].free["cpu"] == 63_000


def test_a_dimension_that_the_node_does_not_offer_is_never_charged() -> None:
    world = cluster()
    decide(world, gpu_pod())
    assert RESOURCE not in world.nodes["n1"].free


def test_a_node_heartbeat_wakes_nobody() -> None:
    world = cluster()
    end = world.changes.end
    assert world.apply(node("n1")) is ClusterEvent.NOTHING
    assert world.changes.end == end


def test_flapping_consumers_of_a_shared_claim_wake_nobody() -> None:
    held = allocated(claim("shared", request()), GPU_0, consumers=[pod("a"), pod("b")])
    fewer = allocated(claim("shared", request()), GPU_0, consumers=[pod("a")])
    world = cluster(held)
    assert world.apply(fewer) is ClusterEvent.NOTHING
    assert world.apply(held) is ClusterEvent.NOTHING


def test_a_claim_deallocated_and_allocated_anew_in_one_update_moves_its_devices() -> None:
    other = DeviceID(GPU_DRIVER, "n1", "gpu-1")
    world = cluster(allocated(claim("c", request()), GPU_0))
    wake = world.apply(allocated(claim("c", request()), other))
    assert not world.ledger.is_taken(GPU_0)
    assert world.ledger.is_taken(other)
    assert ClusterEvent.DEVICES in wake


def test_admin_access_occupies_nothing() -> None:
    result = DeviceRequestAllocationResult(
        request="gpu", driver=GPU_0.driver, pool=GPU_0.pool, device=GPU_0.device, admin_access=True
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    watcher = msgspec.structs.replace(claim("c", request()), status=ResourceClaimStatus(allocation=allocation))
    assert not cluster(watcher).ledger.held


def test_a_claim_that_is_made_anew_gets_nothing_of_what_was_decided_for_the_former_one() -> None:
    world = cluster(claim("shared", request()))
    former = decide(world, pod("a", claims={"gpu": "shared"}))
    world.apply(written(former))
    again = claim("shared", request(count=2))
    world.apply(msgspec.structs.replace(again, metadata=msgspec.structs.replace(again.metadata, uid="uid-of-the-next")))

    item = pod("b", claims={"gpu": "shared"})
    world.apply(item)
    (waiting,) = schedule(world, [item]).outcomes
    assert isinstance(waiting, Unschedulable)
    assert "needs 2" in waiting.message


def test_pods_that_share_a_claim_are_decided_about_the_same_one() -> None:
    world = cluster(claim("shared", request()))
    decided = [decide(world, pod(name, claims={"gpu": "shared"})).claims for name in ("a", "b")]

    assert decided[0] == decided[1]
    assert decided[0][0].claim_uid == "uid-default-shared"
