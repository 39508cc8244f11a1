"""BindRequests that somebody else has written: nothing comes of them but a reason, and the pod is decided anew."""

from collections.abc import Callable

import pytest

from dra_builders import manifests
from dra_builders.manifests import from_claim
from dra_cluster.mirror import BIND_REQUESTS, PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.witness import phase_of
from dra_cluster.world import World, consumers, devices
from dra_controlplane.client import Json

API_VERSION = "scheduling.run.ai/v1alpha2"


def bind_request(name: str, node: str, **spec: object) -> Json:
    """A decision about the pod of that name."""
    return {
        "apiVersion": API_VERSION,
        "kind": "BindRequest",
        "metadata": {"name": name},
        "spec": {"podName": name, "selectedNode": node, "backoffLimit": 1, **spec},
    }


def gives(world: World, node: str, *names: str, entry: str = "gpu", pool: str = "", request: str = "gpu") -> Json:
    """The field that gives devices of a pool to a claim of the pod."""
    results = [
        manifests.result(request, driver=world.driver, pool_name=pool or node, device_name=name) for name in names
    ]
    return {"resourceClaimAllocations": [{"name": entry, "allocation": manifests.allocation(node, *results)}]}


# Node n1 has gpu-0 and gpu-1, node n2 gpu-0, which claim `held` has.
BAD: dict[str, tuple[Callable[[World, str, str], Json], str]] = {
    "a node that does not exist": (
        lambda world, _, __: {"node": "nowhere", **gives(world, "nowhere", "gpu-0")},
        "node nowhere does not exist",
    ),
    "a device that is not published": (lambda world, n1, _: gives(world, n1, "gpu-7"), "not published"),
    "a device of another node": (
        lambda world, n1, n2: gives(world, n1, "gpu-0", pool=n2),
        "cannot be reached",
    ),
    "a device that another claim holds": (
        lambda world, _, n2: {"node": n2, **gives(world, n2, "gpu-0")},
        "is held by claim",
    ),
    "a device twice": (lambda world, n1, _: gives(world, n1, "gpu-0", "gpu-0"), "given out twice"),
    "no device": (lambda world, n1, _: gives(world, n1), "holds no device"),
    "a claim that the pod does not have": (lambda world, n1, _: gives(world, n1, "gpu-0", entry="nic"), "nic"),
    "a request that the claim does not have": (
        lambda world, n1, _: gives(world, n1, "gpu-0", request="nic"),
        "nic",
    ),
    "no allocation at all": (lambda _, __, ___: {}, "no allocation for claim"),
}


@pytest.fixture
def undecided(world: World, scheduler: RunningOperator) -> World:
    """A pod that needs one device, which nobody has decided about; and a claim that has one already."""
    gpu = world.gpu_class()
    world.gpu_node("n1", 2)
    taken = world.gpu_node("n2", 1)
    world.gpu_claim("held", gpu)
    world.pod("holder", from_claim("gpu", "held"), on=taken)
    world.ended("holder")
    world.gpu_claim("wanted", gpu)
    scheduler.pause()
    world.pod("victim", from_claim("gpu", "wanted"))
    return world


def failures(world: World) -> list[str]:
    """The reasons of all failed decisions about the pod."""
    return [
        request["status"]["reason"]
        for _, request in world.mirror.history(BIND_REQUESTS, world.namespace)
        if request["metadata"]["name"] == "victim" and phase_of(request) == "Failed"
    ]


@pytest.mark.parametrize("case", BAD)
def test_a_bad_bind_request_fails_with_its_reason(undecided: World, scheduler: RunningOperator, case: str) -> None:
    world = undecided
    make, text = BAD[case]
    n1, n2 = world.named("n1"), world.named("n2")
    spec = make(world, n1, n2)
    node = spec.pop("node", n1)
    uid = world.mirror.until(lambda: world.find_pod("victim"), "the pod")["metadata"]["uid"]

    world.create(bind_request("victim", node, podUID=uid, **spec))

    world.mirror.until(lambda: [reason for reason in failures(world) if text in reason], f"a failure with {text!r}")
    assert consumers(world.claim("held")) == ["holder"]
    scheduler.resume()
    assert world.bound("victim") == n1
    assert len(devices(world.claim("wanted"))) == 1


def test_a_bind_request_for_a_pod_of_another_uid_goes_away(undecided: World, scheduler: RunningOperator) -> None:
    world = undecided
    n1 = world.named("n1")
    other = "00000000-0000-4000-8000-000000000001"
    world.create(bind_request("victim", n1, podUID=other, **gives(world, n1, "gpu-0")))

    until_one_goes(world)
    scheduler.resume()
    assert world.bound("victim") == n1


def test_a_bind_request_for_no_pod_goes_away(world: World) -> None:
    world.create(bind_request("nobody", "nowhere", podUID="00000000-0000-4000-8000-000000000001"))

    until_one_goes(world)


def until_one_goes(world: World) -> None:
    """Waits until a BindRequest is deleted."""
    world.mirror.until(
        lambda: any(event == "DELETED" for event, _ in world.mirror.history(BIND_REQUESTS, world.namespace)),
        "it to go",
    )


def test_a_bind_request_cannot_move_a_bound_pod(world: World) -> None:
    n1 = world.gpu_node("n1", 1)
    n2 = world.gpu_node("n2", 1)
    world.gpu_claim("wanted", world.gpu_class())
    pod = world.pod("trainer", from_claim("gpu", "wanted"), on=n1)
    world.ended("trainer")
    world.remove(BIND_REQUESTS, "trainer")

    world.create(bind_request("trainer", n2, podUID=pod["metadata"]["uid"], **gives(world, n2, "gpu-0")))

    assert "already bound" in world.failed("trainer")["status"]["reason"]
    assert world.claim("wanted")["status"]["allocation"]["devices"]["results"][0]["pool"] == n1
    assert consumers(world.claim("wanted")) == ["trainer"]
    world.remove(PODS, "trainer")


def test_a_good_bind_request_is_carried_out_whoever_wrote_it(undecided: World, scheduler: RunningOperator) -> None:
    world = undecided
    n1 = world.named("n1")
    uid = world.mirror.until(lambda: world.find_pod("victim"), "the pod")["metadata"]["uid"]

    world.create(bind_request("victim", n1, podUID=uid, **gives(world, n1, "gpu-1")))

    assert world.bound("victim") == n1
    assert devices(world.claim("wanted")) == ["gpu-1"]
    scheduler.resume()
