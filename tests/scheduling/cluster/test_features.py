"""Shares, counters, taint rules, namespaces and the budget, as a whole cluster sees them."""

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    allocated,
    claim,
    device,
    devices,
    driver_class,
    node,
    pod,
    pool,
    request,
    resource_slice,
)
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import AllocationResult, CapacityRequirements, DeviceRequest, ResourceClaim
from dra_scheduling.model.device_taint_rules import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.namespaces import ADMIN_ACCESS_LABEL, Namespace
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.slices import Counter, CounterSet, Device, DeviceCounterConsumption, ResourceSlice
from dra_scheduling.state.assignments import Assignment, Unschedulable
from dra_scheduling.wire import KubernetesObject
from kube_cel.quantity import Quantity

MEMORY = "memory"


def cluster_of(*objects: KubernetesObject) -> Cluster:
    cluster = Cluster()
    for value in (driver_class(), node("n1"), *objects):
        cluster.apply(value)
    return cluster


def amount(text: str) -> Quantity:
    return Quantity.parse(text)


def asking(name: str, *requests: DeviceRequest) -> tuple[ResourceClaim, KubernetesObject]:
    return claim(name, *requests), pod(name, claims={"gpu": name})


def given(cluster: Cluster) -> dict[str, AllocationResult]:
    outcomes = schedule(cluster, cluster.pending()).outcomes
    return {item.pod.metadata.name: item.claims[0].allocation for item in outcomes if isinstance(item, Assignment)}


def shareable(name: str = "gpu-0") -> Device:
    return replace(device(name, capacity={MEMORY: "80Gi"}), allow_multiple_allocations=True)


def wants(text: str) -> DeviceRequest:
    plain = request()
    assert plain.exactly is not None
    capacity = CapacityRequirements(requests={MEMORY: amount(text)})
    return replace(plain, exactly=replace(plain.exactly, capacity=capacity))


def partition(name: str, drawn: str) -> Device:
    consumption = DeviceCounterConsumption(counter_set="gpu", counters={MEMORY: Counter(amount(drawn))})
    return replace(device(name), consumes_counters=(consumption,))


def counters(generation: int = 1) -> ResourceSlice:
    value = resource_slice("n1-counters", (), node="n1", pool=pool("n1", generation=generation, slices=2))
    sets = (CounterSet(name="gpu", counters={MEMORY: Counter(amount("80Gi"))}),)
    return replace(value, spec=replace(value.spec, shared_counters=sets))


def partitions(*content: Device, generation: int = 1) -> ResourceSlice:
    return resource_slice("n1-parts", content, node="n1", pool=pool("n1", generation=generation, slices=2))


def test_pods_share_a_device_until_it_is_full() -> None:
    objects = [value for name in "abc" for value in asking(name, wants("32Gi"))]
    cluster = cluster_of(resource_slice("s", [shareable()], node="n1"), *objects)
    found = given(cluster)
    assert sorted(found) == ["a", "b"]
    assert all(value.devices.results[0].consumed_capacity == {MEMORY: amount("32Gi")} for value in found.values())


def test_every_share_has_an_id_of_its_own_and_a_plan_made_twice_has_the_same() -> None:
    objects = [value for name in "ab" for value in asking(name, wants("32Gi"))]
    runs = [given(cluster_of(resource_slice("s", [shareable()], node="n1"), *objects)) for _ in range(2)]
    ids = {name: value.devices.results[0].share_id for name, value in runs[0].items()}
    assert ids == {name: value.devices.results[0].share_id for name, value in runs[1].items()}
    assert len(set(ids.values())) == 2
    assert all(ids.values())


def test_a_share_is_counted_once_from_the_plan_to_the_written_claim() -> None:
    first, second = asking("a", wants("40Gi")), asking("b", wants("40Gi"))
    cluster = cluster_of(resource_slice("s", [shareable()], node="n1"), *first)
    (assignment,) = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(assignment, Assignment)
    cluster.apply(bind_request(assignment))
    written = replace(first[0], status=replace(first[0].status, allocation=assignment.claims[0].allocation))
    assert cluster.apply(written) & ClusterEvent.DEVICES == ClusterEvent.NOTHING
    for value in second:
        cluster.apply(value)
    assert list(given(cluster)) == ["b"]


def test_a_freed_share_wakes_waiting_pods() -> None:
    cluster = cluster_of(resource_slice("s", [shareable()], node="n1"), *asking("a", wants("80Gi")))
    (assignment,) = schedule(cluster, cluster.pending()).outcomes
    for value in asking("b", wants("1Gi")):
        cluster.apply(value)
    assert given(cluster) == {}
    assert cluster.forget(assignment.pod.metadata.uid) & ClusterEvent.DEVICES
    cluster.remove(type(assignment.pod), assignment.pod.key)
    assert list(given(cluster)) == ["b"]


def test_partitions_of_one_device_go_to_pods_until_its_counters_are_drawn() -> None:
    content = [partition(f"half-{number}", "40Gi") for number in range(3)]
    objects = [value for name in "abc" for value in asking(name, request())]
    assert sorted(given(cluster_of(counters(), partitions(*content), *objects))) == ["a", "b"]


def test_what_a_taken_partition_drew_is_remembered_when_its_slice_no_longer_has_it() -> None:
    held = allocated(claim("held", request()), DeviceID(GPU_DRIVER, "n1", "half-0"))
    cluster = cluster_of(counters(), partitions(partition("half-0", "40Gi")), held)
    cluster.apply(counters(generation=2))
    cluster.apply(partitions(partition("whole", "80Gi"), partition("other", "40Gi"), generation=2))
    for value in asking("a", request()):
        cluster.apply(value)
    assert [result.device for result in given(cluster)["a"].devices.results] == ["other"]


@pytest.mark.parametrize(("now", "other"), [("20Gi", "60Gi"), ("60Gi", "40Gi")])
def test_a_taken_partition_counts_as_what_it_drew_first_or_draws_now_whichever_is_more(now: str, other: str) -> None:
    held = allocated(claim("held", request()), DeviceID(GPU_DRIVER, "n1", "half-0"))
    cluster = cluster_of(counters(), partitions(partition("half-0", "40Gi")), held)
    cluster.apply(partitions(partition("half-0", now), partition("other", other)))
    for value in asking("a", request()):
        cluster.apply(value)
    assert given(cluster) == {}


def test_counters_are_closed_while_nobody_knows_what_a_taken_device_drew() -> None:
    held = allocated(claim("held", request()), DeviceID(GPU_DRIVER, "n1", "gone"))
    cluster = cluster_of(held, counters(), partitions(partition("half-0", "40Gi")), *asking("a", request()))
    (outcome,) = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(outcome, Unschedulable)
    assert "device gone is taken, not published" in outcome.message
    cluster.remove(ResourceClaim, held.key)
    assert list(given(cluster)) == ["a"]


def test_it_does_not_matter_whether_the_claim_or_its_slice_is_seen_first() -> None:
    held = allocated(claim("held", request()), DeviceID(GPU_DRIVER, "n1", "half-0"))
    content = partitions(partition("half-0", "40Gi"), partition("whole", "80Gi"), partition("half-1", "40Gi"))
    for order in ((held, counters(), content), (content, counters(), held)):
        cluster = cluster_of(*order, *asking("a", request()))
        assert [result.device for result in given(cluster)["a"].devices.results] == ["half-1"]


def test_a_taint_rule_keeps_pods_from_devices_until_it_is_gone() -> None:
    taint = Taint(key="broken", effect="NoExecute")
    rule = DeviceTaintRule(
        metadata=ObjectMeta(name="rule"), spec=DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector())
    )
    cluster = cluster_of(resource_slice("s", devices(1), node="n1"), *asking("a", request()), rule)
    assert given(cluster) == {}
    assert cluster.remove(DeviceTaintRule, ObjectKey("", "rule")) & ClusterEvent.SLICES
    assert list(given(cluster)) == ["a"]


def test_admin_access_needs_the_label_of_the_namespace() -> None:
    plain = request()
    assert plain.exactly is not None
    admin = replace(plain, exactly=replace(plain.exactly, admin_access=True))
    cluster = cluster_of(resource_slice("s", devices(1), node="n1"), *asking("a", admin))
    (outcome,) = schedule(cluster, cluster.pending()).outcomes
    assert isinstance(outcome, Unschedulable)
    assert "adminAccess needs the label resource.kubernetes.io/admin-access: true on the namespace" in outcome.message
    labelled = Namespace(metadata=ObjectMeta(name="default", labels={ADMIN_ACCESS_LABEL: "true"}))
    assert cluster.apply(labelled) & ClusterEvent.CLAIMS
    assert given(cluster)["a"].devices.results[0].admin_access


def test_admin_access_leaves_the_device_to_others() -> None:
    plain = request()
    assert plain.exactly is not None
    admin = replace(plain, exactly=replace(plain.exactly, admin_access=True))
    labelled = Namespace(metadata=ObjectMeta(name="default", labels={ADMIN_ACCESS_LABEL: "true"}))
    objects = (*asking("a", admin), *asking("b", request()), *asking("c", admin))
    cluster = cluster_of(labelled, resource_slice("s", devices(1), node="n1"), *objects)
    assert sorted(given(cluster)) == ["a", "b", "c"]
