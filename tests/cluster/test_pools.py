import pytest

from dra_builders import manifests
from dra_builders.manifests import from_claim, from_template, numbered, request
from dra_cluster.binds import DECISION
from dra_cluster.faults import Hold, Match
from dra_cluster.mirror import PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import SLICES, World, devices
from dra_controlplane.client import Json

ALL = {"allocationMode": "All"}


def test_all_waits_for_a_pool_in_motion_and_takes_exactly_its_new_devices(world: World) -> None:
    node = world.node("n1")
    world.publish(node, numbered(2, first=10), generation=1)
    world.publish(node, numbered(1), stem="a", generation=2, count=2)
    world.gpu_claim("everything", world.gpu_class(), **ALL)
    world.pod("greedy", from_claim("gpu", "everything"))
    world.pending("greedy", "everything", node)

    world.publish(node, numbered(1, first=1), stem="b", generation=2, count=2)

    assert world.bound("greedy") == node
    assert devices(world.claim("everything")) == ["gpu-0", "gpu-1"]


def test_all_waits_until_every_device_is_free(world: World) -> None:
    node = world.gpu_node("n2", 4)
    gpu = world.gpu_class()
    world.gpu_template(gpu)
    world.pod("holder", from_template("gpu", "gpus"))
    world.bound("holder")
    world.gpu_claim("everything", gpu, **ALL)
    world.pod("greedy", from_claim("gpu", "everything"))
    world.pending("greedy", "everything")

    world.remove(PODS, "holder")

    assert world.bound("greedy") == node
    assert len(devices(world.claim("everything"))) == 4


def test_a_pool_in_motion_on_one_node_is_no_error_on_another(world: World) -> None:
    moving, still = world.node("n1"), world.gpu_node("n2", 2)
    world.publish(moving, numbered(2), stem="half", count=2)
    world.gpu_claim("everything", world.gpu_class(), **ALL)
    world.pod("greedy", from_claim("gpu", "everything"))

    assert world.bound("greedy") == still


def test_all_of_nothing_is_no_allocation(world: World) -> None:
    world.node("n1")
    world.gpu_claim("everything", world.gpu_class(), **ALL)
    world.pod("greedy", from_claim("gpu", "everything"))

    world.pending("greedy", "everything")
    assert "allocation" not in (world.claim("everything").get("status") or {})


def forty(world: World) -> str:
    """A node with forty equal devices in two slices of one pool."""
    node = world.node("n1")
    world.publish(node, numbered(20), stem="a", count=2)
    world.publish(node, numbered(20, first=20), stem="b", count=2)
    return node


@pytest.mark.parametrize(("counts", "total"), [((32,), 32), ((20, 12), 32)], ids=str)
def test_thirty_two_devices_fit_in_a_claim(world: World, counts: tuple[int, ...], total: int) -> None:
    node = forty(world)
    gpu = world.gpu_class()
    world.create(manifests.claim("many", *(request(f"r{count}", gpu, count=count) for count in counts)))
    world.pod("big", from_claim("gpu", "many"))

    assert world.bound("big") == node
    assert len(devices(world.claim("many"))) == total


@pytest.mark.parametrize("counts", [(33,), (20, 13)], ids=str)
def test_thirty_three_devices_never_fit_in_a_claim(world: World, counts: tuple[int, ...]) -> None:
    forty(world)
    gpu = world.gpu_class()
    world.create(manifests.claim("many", *(request(f"r{count}", gpu, count=count) for count in counts)))
    world.pod("big", from_claim("gpu", "many"))

    world.pending("big", "many", "32")


@pytest.mark.parametrize("extra", [2, 3])
def test_all_counts_towards_the_thirty_two(world: World, extra: int) -> None:
    node = world.node("n1")
    world.publish(node, [manifests.device(f"gpu-{n}", kind="big" if n < 30 else "small") for n in range(40)])
    gpu = world.gpu_class()
    kind = f"device.attributes['{world.driver}'].kind"
    every = request("every", gpu, f"{kind} == 'big'", **ALL)
    some = request("some", gpu, f"{kind} == 'small'", count=extra)
    world.create(manifests.claim("many", every, some))
    world.pod("big", from_claim("gpu", "many"))

    if extra == 2:
        assert world.bound("big") == node
    else:
        world.pending("big", "many", "32")


def test_all_of_more_than_thirty_two_is_refused(world: World) -> None:
    forty(world)
    world.gpu_claim("everything", world.gpu_class(), **ALL)
    world.pod("greedy", from_claim("gpu", "everything"))

    world.pending("greedy", "everything", "32")


def test_an_extended_resource_of_more_than_thirty_two_is_refused(world: World) -> None:
    forty(world)
    world.gpu_class(extended=world.resource)
    world.pod("big", limits={world.resource: 33})

    world.pending("big", "33", "32")


def republish(world: World, node: str, before: str, device_names: list[str], *, generation: int = 2) -> Json:
    """Publishes a new state of a node's pool in two steps, as drivers do, and returns the slice that went last."""
    world.publish(node, [manifests.device(name) for name in device_names], generation=generation)
    return world.api.delete(SLICES, before)


class Decision:
    """A pod has been promised gpu-3, but the BindRequest that says so is still on its way to the server."""

    def __init__(self, world: World, proxy: Proxy, binder: RunningOperator, *, generation: int = 1) -> None:
        self.node = world.node("n1")
        self._world = world
        self._binder = binder
        self._piece = world.publish(self.node, [manifests.device("gpu-3")], generation=generation)
        self._hold = Hold()
        world.gpu_template(world.gpu_class())
        proxy.disturb(DECISION, self._hold.before())
        world.pod("trainer", from_template("gpu", "gpus"))
        self._hold.reached()

    def arrives_after(self, device_names: list[str], *, generation: int = 2) -> None:
        """Lets the binder see a new state of the pool first, and then the decision."""
        self._binder.wait_seen(republish(self._world, self.node, self._piece, device_names, generation=generation))
        self._hold.release()


def test_a_bind_goes_on_when_its_device_is_published_again(world: World, proxy: Proxy, binder: RunningOperator) -> None:
    decision = Decision(world, proxy, binder)
    decision.arrives_after(["gpu-3"])

    assert world.bound("trainer") == decision.node
    assert devices(world.claim_of("trainer")) == ["gpu-3"]


@pytest.mark.parametrize("device_names", [["gpu-4"], ["gpu-3b"]], ids=["gone", "renamed"])
def test_a_decision_about_a_device_that_is_gone_is_made_anew(
    world: World, proxy: Proxy, binder: RunningOperator, device_names: list[str]
) -> None:
    decision = Decision(world, proxy, binder)
    decision.arrives_after(device_names)

    assert world.bound("trainer") == decision.node
    assert devices(world.claim_of("trainer")) == device_names
    assert "not published any more" in world.told("trainer", "BindFailed", "gpu-3")


def test_a_pool_that_begins_to_count_anew_is_a_pool_like_any_other(
    world: World, proxy: Proxy, binder: RunningOperator
) -> None:
    decision = Decision(world, proxy, binder, generation=5)
    decision.arrives_after(["gpu-3"], generation=1)

    assert world.bound("trainer") == decision.node


def test_a_bind_whose_claim_is_written_goes_on_without_its_device(world: World, proxy: Proxy) -> None:
    node = world.node("n1")
    piece = world.publish(node, [manifests.device("gpu-3")])
    world.gpu_template(world.gpu_class())
    hold = Hold()
    proxy.disturb(Match(method="POST", path="/pods/trainer/binding"), hold.before())
    world.pod("trainer", from_template("gpu", "gpus"))
    hold.reached()
    republish(world, node, piece, ["gpu-4"])
    hold.release()

    # Whether the device still works is the kubelet's to find out.
    assert world.bound("trainer") == node
    assert devices(world.claim_of("trainer")) == ["gpu-3"]


def test_a_device_stays_taken_while_a_claim_names_it_published_or_not(world: World, scheduler: RunningOperator) -> None:
    node = world.node("n1")
    piece = world.publish(node, [manifests.device("gpu-3")])
    world.gpu_template(world.gpu_class())
    world.pod("trainer", from_template("gpu", "gpus"))
    world.bound("trainer")
    republish(world, node, piece, ["gpu-9"])
    scheduler.wait_seen(republish(world, node, f"{node}-gpus-2", ["gpu-3"], generation=3))
    world.pod("next", from_template("gpu", "gpus"))

    world.pending("next", "gpu")
    assert devices(world.claim_of("trainer")) == ["gpu-3"]
