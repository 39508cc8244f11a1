import pytest

from dra_builders import manifests
from dra_cluster.machines import TYPES, Machines
from dra_cluster.world import NODES, World

NOT_PUBLISHED = "DRADriverPoolsNotPublished"
EMPTY = "DRADriverPoolsEmpty"


@pytest.fixture
def node(machines: Machines) -> str:
    """The node of a NodeClaim that waits for the driver of its two devices."""
    machines.instance_type()
    name = machines.up("n", machines.world.driver)
    machines.until(name, "Initialized", "Unknown", NOT_PUBLISHED)
    return name


def test_a_node_is_opened_by_the_slice_that_completes_the_pool(machines: Machines, node: str) -> None:
    world = machines.world
    devices = manifests.numbered(2)
    world.publish(node, devices[:1], stem="a", count=3)
    machines.until(node, "Initialized", "Unknown", NOT_PUBLISHED, "has 1 of 3 slices of generation 1")
    assert not machines.is_open(node)
    world.publish(node, devices[1:], stem="b", count=3)
    world.publish(node, [], stem="c", count=3)

    machines.until(node, "Ready", "True")
    assert machines.is_open(node)
    machines.until(node, "DevicesAsPromised", "True")


def test_an_empty_pool_keeps_a_node_shut_for_a_reason_of_its_own(machines: Machines, node: str) -> None:
    machines.world.publish(node, [])

    machines.until(node, "Initialized", "Unknown", EMPTY, "is complete and empty")
    assert not machines.is_open(node)


def test_slices_that_contradict_each_other_keep_a_node_shut(machines: Machines, node: str) -> None:
    devices = manifests.numbered(2)
    machines.world.publish(node, devices[:1], stem="a", count=2)
    machines.world.publish(node, devices[1:], stem="b", count=3)

    machines.until(node, "Initialized", "Unknown", NOT_PUBLISHED, "say that there are 2 and 3 of them")


def test_a_device_that_is_there_twice_keeps_a_node_shut(machines: Machines, node: str) -> None:
    for stem in ("a", "b"):
        machines.world.publish(node, manifests.numbered(1), stem=stem, count=2)

    machines.until(node, "Initialized", "Unknown", NOT_PUBLISHED, "has device gpu-0 twice")


def test_what_every_node_reaches_does_not_open_one(machines: Machines, node: str) -> None:
    world = machines.world
    pool = manifests.pool("everywhere")
    devices = manifests.numbered(2)
    name = world.named("everywhere")
    world.create(manifests.resource_slice(name, driver=world.driver, pool=pool, devices=devices, allNodes=True))
    world.publish(node, [])

    machines.until(node, "Initialized", "Unknown", EMPTY)


def test_older_slices_do_not_stand_in_for_a_newer_generation(machines: Machines, node: str) -> None:
    world = machines.world
    world.publish(node, manifests.numbered(1), stem="new", generation=2, count=2)
    world.publish(node, manifests.numbered(2), stem="old", generation=1)
    machines.until(node, "Initialized", "Unknown", NOT_PUBLISHED, "has 1 of 2 slices of generation 2")
    world.publish(node, manifests.numbered(1, first=1), stem="rest", generation=2, count=2)

    machines.until(node, "Initialized", "True")


def test_every_driver_has_to_publish_and_device_plugins_to_register(machines: Machines) -> None:
    world = machines.world
    other = f"compute-domain-{world.id}.example.com"
    groups = [{"driver": one, "name": "gpu-{index}", "count": 2} for one in (world.driver, other)]
    machines.instance_type(devices={"groups": groups})
    name = machines.up("n", world.driver, other, resources={"requests": {"rdma/hca": "4"}})
    world.publish(name, manifests.numbered(2))
    machines.until(name, "Initialized", "Unknown", "ResourceNotRegistered", "rdma/hca")
    world.patch_status(NODES, name, {"allocatable": {"rdma/hca": "8"}})
    machines.until(name, "Initialized", "Unknown", NOT_PUBLISHED, other)
    pool = manifests.pool(name)
    content = manifests.numbered(2)
    world.create(manifests.resource_slice(f"{name}-cd", driver=other, pool=pool, devices=content, nodeName=name))

    machines.until(name, "Initialized", "True")


def test_a_driver_that_the_launched_type_does_not_have_is_not_waited_for(machines: Machines) -> None:
    machines.instance_type()
    name = machines.up("n", "network.example.com")

    machines.until(name, "Ready", "True")


def test_devices_that_are_not_there_are_told_and_counted(machines: Machines, node: str) -> None:
    machines.world.publish(node, manifests.numbered(1))

    machines.until(node, "Initialized", "True")
    machines.until(node, "DevicesAsPromised", "False", "DevicesMissing", f"{machines.world.driver}/gpu-1")

    def failures() -> int:
        return int(machines.api.get(TYPES, machines.type)["status"].get("deviceFailures") or 0)

    assert machines.world.mirror.until(failures, "the failure to be counted") == 1
    machines.world.told(node, "DevicesMissing", "gpu-1")


def test_nothing_that_a_node_publishes_is_given_out_before_it_is_open(world: World, machines: Machines) -> None:
    machines.instance_type()
    template = world.gpu_template(world.gpu_class())
    name = machines.up("n", world.driver)
    world.publish(name, manifests.numbered(1), stem="a", count=2)
    machines.until(name, "Initialized", "Unknown", NOT_PUBLISHED)
    world.pod("p", manifests.from_template("gpu", template))
    world.pending("p", "still being set up")
    world.publish(name, manifests.numbered(1, first=1), stem="b", count=2)

    assert world.bound("p") == name
    assert machines.is_open(name)
