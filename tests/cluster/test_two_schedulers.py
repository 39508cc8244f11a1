from collections.abc import Iterator

import pytest

from dra_cluster import objects
from dra_cluster.mirror import PODS
from dra_cluster.objects import from_template
from dra_cluster.witness import Witness
from dra_cluster.world import World, devices
from dra_controlplane.server import ControlPlane

NODES, DEVICES_EACH = 4, 4
PODS_EACH = 20


@pytest.fixture
def contest(world: World, control_plane: ControlPlane) -> Iterator[World]:
    """Two schedulers over the same devices: a device may be in two claims, but never for good."""
    world.is_contested = True
    component = control_plane.start_scheduler()
    yield world
    component.kill()


def bound_pods(world: World) -> list[str]:
    """The names of the pods that are bound."""
    return sorted(
        pod["metadata"]["name"] for pod in world.mirror.items(PODS, world.namespace) if pod["spec"].get("nodeName")
    )


def test_two_schedulers_never_leave_a_device_in_two_claims(contest: World, witness: Witness) -> None:
    for number in range(NODES):
        contest.gpu_node(f"n{number}", DEVICES_EACH)
    contest.gpu_template(contest.gpu_class(extended=contest.resource))
    for number in range(PODS_EACH):
        scheduler = "default-scheduler"
        contest.pod(f"theirs-{number}", from_template("gpu", "gpus"), schedulerName=scheduler)
        contest.pod(f"ours-{number}", limits={contest.resource: 1})

    contest.mirror.until(
        lambda: len(bound_pods(contest)) == NODES * DEVICES_EACH, "every device to be used", seconds=60
    )
    contest.mirror.until(lambda: not witness.shared_now(contest.driver), "every device to be in one claim")


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
    contest.create(objects.template("two", objects.request("gpu", gpu, count=2)))
    contest.pod("greedy", from_template("gpu", "two"))
    contest.pod("modest", from_template("gpu", "gpus"))

    assert contest.bound("modest") == node
    contest.pending("greedy", "gpu")
    both = devices(contest.claim_of("theirs")) + devices(contest.claim_of("modest"))
    assert sorted(both) == ["gpu-0", "gpu-1"]
