"""What devices take of a node's own cpu, memory and hugepages."""

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    allocated,
    claim,
    container,
    device,
    driver_class,
    node,
    pod,
    quantities,
    request,
    resource_slice,
)
from dra_scheduling.basics.features import NODE_ALLOCATABLE, Features
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.devices.node_allocatable_resources import ClaimUse, is_mapped, taken_of_node
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import DeviceRequestAllocationResult
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Container, ContainerResourceClaim, Pod, ResourceRequirements
from dra_scheduling.model.slices import (
    Device,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    NodeAllocatableResource,
)
from dra_scheduling.state.assignments import Assignment, Unschedulable
from dra_scheduling.wire import KubernetesObject
from kube_cel.quantity import Quantity

FEATURES = Features.of({NODE_ALLOCATABLE: True})
SHARED = NodeAllocatableMapping(capacity_key="cores", capacity_multiplier=Quantity.parse("2"))
EACH = NodeAllocatableMapping(device_multiplier=Quantity.parse("8"))
COST = NodeAllocatableOverhead(per_pod=Quantity.parse("1Gi"), per_container=Quantity.parse("512Mi"))


def taking(name: str, **resources: NodeAllocatableMapping | NodeAllocatableOverhead) -> Device:
    taken = {
        key: NodeAllocatableResource(mapping=how)
        if isinstance(how, NodeAllocatableMapping)
        else NodeAllocatableResource(overhead=how)
        for key, how in resources.items()
    }
    return replace(device(name), node_allocatable_resources=taken)


def using(*entries: str, name: str = "main", **requests: str) -> Container:
    claims = tuple(ContainerResourceClaim(entry) for entry in entries)
    return Container(name=name, resources=ResourceRequirements(requests=quantities(requests), claims=claims))


def result(name: str, **consumed: str) -> DeviceRequestAllocationResult:
    return DeviceRequestAllocationResult(
        request="r", driver="d", pool="p", device=name, consumed_capacity=quantities(consumed)
    )


def taken(wanted: Pod, devices: list[Device], *results: DeviceRequestAllocationResult) -> dict[str, int] | Refusal:
    published = {DeviceID("d", "p", each.name): each for each in devices}
    found = taken_of_node(wanted, [ClaimUse("c", "claim", results)], published.get)
    return found if isinstance(found, Refusal) else dict(pod_requests(wanted, found).items())


def test_devices_count_by_number_or_by_the_capacity_that_is_consumed_of_them() -> None:
    devices = [taking("a", cpu=EACH), taking("b", cpu=EACH), taking("c", cpu=SHARED)]
    found = taken(pod("p", using("c", cpu="1")), devices, result("a"), result("b"), result("c", cores="1500m"))
    assert found == {"cpu": 1000 + 2 * 8000 + 3000, "pods": 1}


def test_use_costs_once_a_pod_and_once_a_container_that_uses_the_claim() -> None:
    wanted = pod("p", using("c"), using(name="other"), init=[using("c", name="init")])
    found = taken(wanted, [taking("a", memory=COST)], result("a"))
    assert found == {"memory": (1024 + 2 * 512) << 20, "pods": 1}


def test_capacity_that_is_not_consumed_is_no_part_of_the_node() -> None:
    devices = [taking("a", cpu=SHARED)]
    assert taken(pod("p"), devices, result("a", memory="1")) == {"pods": 1}
    refusal = taken(pod("p"), devices, result("a"))
    assert isinstance(refusal, Refusal)
    assert "is as much cpu as is consumed of its cores, and nothing is" in refusal.message


def test_of_a_device_that_is_gone_nobody_knows_what_it_takes() -> None:
    refusal = taken(pod("p"), [taking("a", cpu=EACH)], result("a"), result("gone"))
    assert isinstance(refusal, Refusal)
    assert "device d/p/gone is not published any more" in refusal.message
    assert taken(pod("p"), [device("a")], result("a"), result("gone")) == {"pods": 1}


def test_admin_access_takes_nothing_of_the_node_and_has_no_part_of_it() -> None:
    looked_at = replace(result("a"), admin_access=True)
    assert taken(pod("p", using("c", cpu="1")), [taking("a", cpu=EACH)], looked_at) == {"cpu": 1000, "pods": 1}
    published = {DeviceID("d", "p", "a"): taking("a", cpu=EACH)}
    assert not is_mapped([looked_at], published.get)
    assert is_mapped([looked_at, result("a")], published.get)


def test_pod_level_requests_stand_for_all_and_have_to_cover_it() -> None:
    wanted = pod("p", using("c", cpu="1"))
    large, small = (
        replace(wanted, spec=replace(wanted.spec, resources=ResourceRequirements(requests=quantities({"cpu": cpu}))))
        for cpu in ("9", "8")
    )
    assert taken(large, [taking("a", cpu=EACH)], result("a")) == {"cpu": 9000, "pods": 1}
    refusal = taken(small, [taking("a", cpu=EACH)], result("a"))
    assert isinstance(refusal, Refusal)
    assert (
        refusal.message == "the pod's request for cpu does not cover what its containers and devices take of the node"
    )


@pytest.mark.parametrize(("limit", "fits"), [("10", True), ("9", False)])
def test_a_pod_level_limit_covers_each_container_with_its_devices(limit: str, *, fits: bool) -> None:
    main = using("c")
    main = replace(main, resources=replace(main.resources, limits=quantities({"cpu": "2"})))
    wanted = pod("p", main, container("big", limits={"cpu": "9"}))
    limits = ResourceRequirements(limits=quantities({"cpu": limit}))
    found = taken(replace(wanted, spec=replace(wanted.spec, resources=limits)), [taking("a", cpu=EACH)], result("a"))
    assert isinstance(found, Refusal) is not fits


def test_only_a_mapping_makes_a_device_a_part_of_the_node() -> None:
    published = {DeviceID("d", "p", each.name): each for each in (taking("a", cpu=EACH), taking("b", memory=COST))}
    assert is_mapped([result("b"), result("a")], published.get)
    assert not is_mapped([result("b"), result("gone")], published.get)


def cluster_of(*objects: KubernetesObject) -> Cluster:
    cluster = Cluster(features=FEATURES)
    content = resource_slice("s", [taking("ccx-0", cpu=EACH), taking("ccx-1", cpu=EACH)], node="n1")
    for value in (driver_class(), node("n1", allocatable={"cpu": "10"}), content, *objects):
        cluster.apply(value)
    return cluster


def asking(name: str) -> tuple[KubernetesObject, ...]:
    return claim(name, request()), pod(name, using("gpu", cpu="1"), claims={"gpu": name})


def placed(cluster: Cluster) -> dict[str, BindRequest]:
    outcomes = schedule(cluster, cluster.pending()).outcomes
    return {item.pod.metadata.name: bind_request(item) for item in outcomes if isinstance(item, Assignment)}


def test_room_is_taken_from_the_decision_until_the_pod_has_ended() -> None:
    cluster = cluster_of(*asking("a"))
    written = placed(cluster)["a"]
    assert cluster.nodes["n1"].free["cpu"] == 1000
    cluster.apply(written)
    assert cluster.nodes["n1"].free["cpu"] == 1000
    (waiting,) = cluster.placements.pods.values()
    said = written.spec.node_allocatable_resource_claim_statuses
    bound = replace(
        waiting,
        spec=replace(waiting.spec, node_name="n1"),
        status=replace(waiting.status, node_allocatable_resource_claim_statuses=said),
    )
    cluster.apply(bound)
    cluster.remove(BindRequest, written.key)
    assert cluster.nodes["n1"].free["cpu"] == 1000
    cluster.apply(replace(bound, status=replace(bound.status, phase="Succeeded")))
    assert cluster.nodes["n1"].free["cpu"] == 10_000


def test_the_second_of_two_pods_waits_for_room_and_not_for_devices() -> None:
    cluster = cluster_of(*asking("a"), *asking("b"))
    first, second = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(first, Assignment)
    assert isinstance(second, Unschedulable)
    assert "insufficient cpu, needs 9 (1 free at most)" in second.message


def test_what_a_claim_that_is_allocated_takes_counts_as_well() -> None:
    held = allocated(claim("a", request()), DeviceID("gpu.example.com", "n1", "ccx-0"))
    written = placed(cluster_of(held, asking("a")[1]))["a"]
    (status,) = written.spec.node_allocatable_resource_claim_statuses
    assert (status.resource_claim_name, status.containers) == ("a", ("main",))
    assert [(each.name, str(each.quantity)) for each in status.mapping] == [("cpu", "8")]


def test_a_stale_status_of_a_pod_that_is_not_bound_counts_for_nothing() -> None:
    stale = placed(cluster_of(*asking("a")))["a"].spec.node_allocatable_resource_claim_statuses
    plain = pod("b", container(requests={"cpu": "10"}))
    left = replace(plain, status=replace(plain.status, node_allocatable_resource_claim_statuses=stale))
    assert list(placed(cluster_of(left))) == ["b"]


def test_a_claim_with_a_part_of_the_node_is_for_one_pod() -> None:
    other = pod("other", claims={"gpu": "a"}, node_name="n1")
    held = allocated(claim("a", request()), DeviceID("gpu.example.com", "n1", "ccx-0"), consumers=[other])
    cluster = cluster_of(held, other, asking("a")[1])
    (outcome,) = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(outcome, Unschedulable)
    assert "ResourceClaim default/a has a part of a node's own resources, which pods cannot share" in outcome.message
