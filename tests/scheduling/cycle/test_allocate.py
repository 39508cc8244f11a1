from dra_builders.values import container, devices, driver_class, node, pod, resource_slice, templated_pod
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.inventory import Nominee
from dra_scheduling.inventory.nominations import NOMINATED_PODS, nominees_text
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, CycleResult, OutOfBudget, Unschedulable, Waiting

RESOURCE = "example.com/gpu"


def cluster(*nodes: str, gpus: int = 2) -> Cluster:
    made = Cluster()
    made.apply(driver_class(extended_resource_name=RESOURCE))
    for name in nodes:
        made.apply(node(name))
        made.apply(resource_slice(f"slice of {name}", devices(gpus), node=name))
    return made


def decide(world: Cluster, *pods: Pod) -> CycleResult:
    for item in pods:
        world.apply(item)
    return schedule(world, pods)


def gpu_pod(name: str, count: int = 1) -> Pod:
    return pod(name, container(limits={RESOURCE: str(count)}))


def node_claim(node_name: str, *made_for: Pod) -> NodeClaim:
    note = {NOMINATED_PODS: nominees_text(Nominee.of(one) for one in made_for)}
    reference = NodeClassRef("dra-scheduler.dev", "InstanceType", "default")
    return NodeClaim(
        metadata=ObjectMeta(name="claim", uid="uid of the claim", annotations=note),
        spec=NodeClaimSpec(node_class_ref=reference, requirements=()),
        status=NodeClaimStatus(node_name=node_name),
    )


def test_pods_are_packed_so_that_whole_nodes_stay_free() -> None:
    result = decide(cluster("n1", "n2"), gpu_pod("a"), gpu_pod("b"), gpu_pod("c"))
    assert [item.node for item in result.outcomes if isinstance(item, Assignment)] == ["n1", "n1", "n2"]


def test_devices_that_every_node_reaches_make_none_of_them_a_device_node() -> None:
    world = cluster("n1")
    world.apply(node("n2"))
    world.apply(resource_slice("network", devices(2), driver="net.example.com"))
    (outcome,) = decide(world, pod("plain")).outcomes
    assert isinstance(outcome, Assignment)
    assert outcome.node == "n2"


def test_one_pod_that_fits_nowhere_does_not_hold_up_the_next() -> None:
    first, second = decide(cluster("n1"), gpu_pod("a", 5), gpu_pod("b")).outcomes
    assert isinstance(first, Unschedulable)
    assert isinstance(second, Assignment)


def test_what_could_help_is_told_with_the_refusal() -> None:
    (outcome,) = decide(cluster("n1"), gpu_pod("a", 3)).outcomes
    assert isinstance(outcome, Unschedulable)
    assert ClusterEvent.SLICES | ClusterEvent.DEVICES | ClusterEvent.NODE in outcome.wake
    assert ClusterEvent.ROOM not in outcome.wake


def test_a_pod_whose_claim_is_not_made_yet_waits_quietly() -> None:
    (outcome,) = decide(cluster("n1"), templated_pod("p", claims={"gpu": None})).outcomes
    assert isinstance(outcome, Waiting)
    assert "not yet made from ResourceClaimTemplate" in outcome.message


def test_an_empty_cluster_says_so() -> None:
    (outcome,) = decide(Cluster(), pod("p")).outcomes
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/0 nodes fit: the cluster has no nodes"


def test_nodes_that_look_the_same_are_searched_once_and_then_only_those_that_changed() -> None:
    world = cluster(*(f"n{number}" for number in range(20)))
    first = decide(world, gpu_pod("a")).search_steps
    second = decide(world, gpu_pod("b")).search_steps
    assert (first, second) == (1, 1)


def test_a_node_name_longer_than_a_label_value_is_only_in_the_spec() -> None:
    name = "n" * 64
    (outcome,) = decide(cluster(name), gpu_pod("a")).outcomes
    assert isinstance(outcome, Assignment)
    request = bind_request(outcome)
    assert request.spec.selected_node == name
    assert not request.metadata.labels


def test_outcomes_of_one_cycle_are_equal_when_played_again() -> None:
    pods = [gpu_pod("a"), gpu_pod("b", 3), pod("c")]
    first, second = (decide(cluster("n1", "n2"), *pods) for _ in range(2))
    assert first == second
    assert not any(isinstance(item, OutOfBudget) for item in first.outcomes)


def test_a_pod_goes_to_the_node_that_was_made_for_it_though_another_one_suits_it_better() -> None:
    world = cluster("n1", "n2")
    decide(world, gpu_pod("first"))
    second = gpu_pod("second")
    world.apply(node_claim("n2", second))

    result = decide(world, second, gpu_pod("third"))

    assert [item.node for item in result.outcomes if isinstance(item, Assignment)] == ["n2", "n1"]


def test_nobody_of_its_priority_takes_the_node_that_was_made_for_a_pod() -> None:
    world = cluster("n1")
    younger = gpu_pod("young", 2)
    world.apply(node_claim("n1", younger))

    result = decide(world, gpu_pod("old", 2), younger)

    assert [(item.pod.metadata.name, type(item)) for item in result.outcomes] == [
        ("young", Assignment),
        ("old", Unschedulable),
    ]


def test_pods_get_the_node_that_was_made_for_them_in_the_order_of_its_plan() -> None:
    world = cluster("n1")
    large, small = gpu_pod("planned-first", 2), gpu_pod("a-planned-second")
    world.apply(node_claim("n1", large, small))

    result = decide(world, small, large)

    assert [item.pod.metadata.name for item in result.outcomes if isinstance(item, Assignment)] == ["planned-first"]


def test_the_room_of_a_pod_whose_node_is_still_to_come_is_nobody_s() -> None:
    world = cluster("n1")
    young = gpu_pod("young", 2)
    world.apply(node_claim("elsewhere", young))

    result = decide(world, gpu_pod("old", 2), young)

    assert [item.pod.metadata.name for item in result.outcomes if isinstance(item, Assignment)] == ["old"]
