"""What devices take of their node's own resources, from a pod to a node that is made for it with enough of them."""

from collections.abc import Iterator

import pytest

from dra_cluster.apart import Apart
from dra_cluster.planning import types_of
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_cluster.world import World
from dra_controlplane.client import Json
from dra_controlplane.installation import KWOK, apply_rights
from dra_scheduling.basics.features import NODE_ALLOCATABLE

pytestmark = pytest.mark.controlplane


@pytest.fixture
def scene(apart: Apart, site: World) -> Iterator[Scene]:
    """A pool without a node, and all roles at work with the gate."""
    if NODE_ALLOCATABLE not in apart.gates:
        pytest.skip("this Kubernetes does not know the gate")
    apply_rights(apart.api, KWOK)
    whole = Whole(apart.operators, {"feature_gates": f"{NODE_ALLOCATABLE}=true"}, "to-come")
    whole.run()
    scene = Scene(site)
    yield scene
    scene.leave()
    whole.kill()


def cores(scene: Scene, count: int) -> Json:
    """Devices that are eight cpus of their node each."""
    return scene.group("gpu", count, nodeAllocatableResources={"cpu": {"mapping": {"deviceMultiplier": "8"}}})


def test_nodes_have_room_for_what_devices_take_of_them_besides_what_pods_request(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("small", cores(scene, 2), capacity={"cpu": 8})
    large = scene.machine("large", cores(scene, 2), capacity={"cpu": 17}, price=9)
    for name in ("a", "b"):
        scene.pod(name, scene.wants("gpu"), limits={"cpu": 1})

    nodes = scene.runs("a", "b")

    assert [types_of(claim) for claim in scene.claims()] == [[large], [large]]
    assert sorted(nodes) == [claim["metadata"]["name"] for claim in scene.claims()]
    (told,) = scene.world.find_pod("a")["status"]["nodeAllocatableResourceClaimStatuses"]
    assert (told["containers"], told["mapping"]) == (["main"], [{"name": "cpu", "quantity": "8"}])
