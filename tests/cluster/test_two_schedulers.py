from dra_builders import manifests
from dra_builders.manifests import from_template
from dra_cluster.mirror import PODS
from dra_cluster.witness import Witness
from dra_cluster.world import World, devices

NODES, DEVICES_EACH = 4, 4
PODS_EACH = 20


def crowd(world: World) -> None:
    """Many more pods than devices, half of them another scheduler's."""
    for number in range(NODES):
        world.gpu_node(f"n{number}", DEVICES_EACH)
    world.gpu_template(world.gpu_class(extended=world.resource))
    for number in range(PODS_EACH):
        world.pod(f"theirs-{number}", from_template("gpu", "gpus"), schedulerName="default-scheduler")
        world.pod(f"ours-{number}", limits={world.resource: 1})


def assert_all_used_once(world: World, witness: Witness) -> None:
    def is_so() -> bool:
        every = NODES * DEVICES_EACH
        is_used = witness.held_now(world.driver) == every <= len(world.bound_pods())
        return is_used and not witness.shared_now(world.driver)

    world.mirror.until(is_so, "every device to be in the claim of a bound pod, and none of ours in another")


def test_two_schedulers_never_leave_a_device_in_two_claims(contest: World, witness: Witness) -> None:
    crowd(contest)

    assert_all_used_once(contest, witness)


def test_devices_that_come_free_go_to_one_of_two_schedulers(contest: World, witness: Witness) -> None:
    crowd(contest)
    assert_all_used_once(contest, witness)
    for name in contest.bound_pods()[::2]:
        contest.remove(PODS, name)
    contest.mirror.catch_up(contest.namespace)

    assert_all_used_once(contest, witness)


def test_a_pod_of_another_scheduler_is_left_to_it(contest: World) -> None:
    node = contest.gpu_node("n1", 1)
    contest.gpu_template(contest.gpu_class())
    contest.pod("theirs", from_template("gpu", "gpus"), schedulerName="default-scheduler")

    assert contest.bound("theirs") == node
    assert contest.request("theirs") == {}


def test_devices_of_another_schedulers_pods_are_taken(contest: World) -> None:
    node = contest.gpu_node("n1", 2)
    gpu = contest.gpu_class()
    contest.gpu_template(gpu)
    contest.pod("theirs", from_template("gpu", "gpus"), schedulerName="default-scheduler")
    contest.bound("theirs")
    contest.create(manifests.template("two", manifests.request("gpu", gpu, count=2)))
    contest.pod("greedy", from_template("gpu", "two"))
    contest.pod("modest", from_template("gpu", "gpus"))

    assert contest.bound("modest") == node
    contest.pending("greedy", "gpu")
    both = devices(contest.claim_of("theirs")) + devices(contest.claim_of("modest"))
    assert sorted(both) == ["gpu-0", "gpu-1"]
