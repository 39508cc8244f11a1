from dra_builders import manifests
from dra_cluster.operators import RunningOperator
from dra_cluster.world import NODES, SLICES, World
from dra_controlplane.client import Json, path_of


def offer(world: World, node: str, amount: str | None) -> Json:
    """Lets the device plugin of a node offer so many devices, none of them healthy, or none any more."""
    room = {world.resource: amount}
    status = {"status": {"allocatable": room, "capacity": room}}
    return world.api.patch(path_of(NODES, node, subresource="status"), status)


def test_a_node_moves_from_device_plugin_to_dra_and_back_pod_by_pod(world: World, scheduler: RunningOperator) -> None:
    node = world.node("n1", resources={world.resource: "4"})
    gpu = world.gpu_class(extended=world.resource)
    for name in ("old-1", "old-2"):
        world.pod(name, limits={world.resource: 1})
        world.bound(name)
    before = [world.find_pod(name)["metadata"]["resourceVersion"] for name in ("old-1", "old-2")]

    scheduler.wait_seen(offer(world, node, "0"))
    world.pod("moving", limits={world.resource: 1})
    world.pending("moving", gpu)
    offer(world, node, None)
    piece = world.publish(node, manifests.numbered(2))
    assert world.bound("moving") == node
    assert len(world.special_claims("moving")) == 1
    assert [world.find_pod(name)["metadata"]["resourceVersion"] for name in ("old-1", "old-2")] == before

    scheduler.wait_seen(world.api.delete(SLICES, piece), offer(world, node, "4"))
    world.pod("back", limits={world.resource: 1})
    assert world.bound("back") == node
    assert world.special_claims("back") == ()
    assert len(world.special_claims("moving")) == 1


def test_a_device_plugin_wins_where_both_are(world: World) -> None:
    node = world.gpu_node("n1", 2, resources={world.resource: "1"})
    world.gpu_class(extended=world.resource)
    world.pod("first", limits={world.resource: 1})
    assert world.bound("first") == node
    assert world.special_claims() == ()

    world.pod("second", limits={world.resource: 1})

    world.pending("second", world.resource)


def test_a_plugin_that_has_lost_its_devices_leaves_the_node_to_dra(world: World) -> None:
    node = world.gpu_node("n1", 1, resources={world.resource: "0"})
    world.gpu_class(extended=world.resource)
    world.pod("trainer", limits={world.resource: 1})

    assert world.bound("trainer") == node
    assert len(world.special_claims("trainer")) == 1
