"""Features of DRA where time, other controllers or many pods at once come in; the rest are cases in YAML."""

import json

import pytest

from dra_builders import manifests
from dra_builders.manifests import from_claim, from_template, numbered, request
from dra_cases.command import dra
from dra_cluster.accounts import overdrafts
from dra_cluster.mirror import CLAIMS, PODS
from dra_cluster.mixture import ADMIN_LABEL, MIX, Mixture
from dra_cluster.operators import RunningOperator, run_all
from dra_cluster.play import not_carried_out
from dra_cluster.world import SLICES, World, devices
from dra_controlplane.client import ApiError, Json
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until

ADMIN = {"adminAccess": True}
INVALID = 422


def settled(world: World, names: set[str]) -> set[str]:
    """Waits until some of these pods are bound and the others say why not, and returns those that are bound."""

    def bound() -> set[str]:
        return {name for name in names if world.node_of(name)}

    def unsettled() -> list[str]:
        waiting = [name for name in names - bound() if not world.message(name)]
        return waiting + [line for name in bound() for line in not_carried_out(world, name)]

    try:
        world.mirror.until(lambda: bound() and not unsettled(), "pods to be settled")
    except TimeoutError:
        pytest.fail("\n".join(unsettled() or [world.message(name) for name in sorted(names)]))
    return bound()


def placeable(world: World) -> set[str]:
    """The waiting pods that a scheduler would place that knows nothing but what the API shows now."""
    dumped = dra("dump", "-o", "json")
    simulated = dra("simulate", "-", "-o", "json", text=dumped.out)
    assert (dumped.code, simulated.code) == (0, 0), dumped.err + simulated.err
    found = (one["metadata"] for one in json.loads(simulated.out)["bindRequests"])
    return {metadata["name"] for metadata in found if metadata["namespace"] == world.namespace}


def shareable(memory: str) -> Json:
    return {**manifests.device("gpu-0"), "allowMultipleAllocations": True, "capacity": {"memory": {"value": memory}}}


def test_pods_of_every_feature_come_and_go_and_no_device_is_given_out_twice_or_forgotten(
    world: World, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    mixture = Mixture(world)
    mixture.set_up()
    coming = [(kind, f"{kind}-{wave}-{number}") for wave in range(2) for kind in MIX for number in range(MIX[kind])]
    first, later = coming[: len(coming) // 2], coming[len(coming) // 2 :]
    for kind, name in first:
        mixture.pod(kind, name)
    present, served = {name for _, name in first}, set[str]()
    while present:
        wait_until(lambda: not placeable(world), "pods that can be placed to be placed")
        bound = settled(world, present)
        served |= bound
        for name in bound:
            world.remove(PODS, name)
        for kind, name in later:
            mixture.pod(kind, name)
        present = (present - bound) | {name for _, name in later}
        later = []

    assert served == {name for _, name in coming}
    assert overdrafts(mixture.slices, world.mirror.history(CLAIMS, world.namespace)) == []


def test_pods_that_come_at_once_share_a_device_until_it_is_full(world: World) -> None:
    world.publish(world.node("n1"), [shareable("80Gi")])
    world.gpu_template(world.gpu_class(), capacity={"requests": {"memory": "15Gi"}})
    names = {f"sharer-{number}" for number in range(8)}
    for name in names:
        world.pod(name, from_template("gpu", "gpus"))

    bound = world.mirror.until(lambda: five_of(world, names), "five pods to be bound")

    for name in names - bound:
        world.pending(name, "at most")
    for name in bound:
        world.remove(PODS, name)
    for name in names - bound:
        world.bound(name)


def five_of(world: World, names: set[str]) -> set[str]:
    """The pods that are bound, once five are."""
    bound = {name for name in names if world.node_of(name)}
    return bound if len(bound) == 5 else set()


def test_what_is_left_of_a_shared_device_is_known_after_a_restart(world: World, scheduler: RunningOperator) -> None:
    world.publish(world.node("n1"), [shareable("1")])
    gpu = world.gpu_class()
    for name, amount in (("most", "700m"), ("rest", "300m"), ("more", "1m")):
        world.gpu_claim(name, gpu, capacity={"requests": {"memory": amount}})
    world.pod("most", from_claim("gpu", "most"))
    world.bound("most")

    scheduler.kill()
    run_all(scheduler)

    world.pod("rest", from_claim("gpu", "rest"))
    world.bound("rest")
    world.pod("more", from_claim("gpu", "more"))
    world.pending("more", "at most 0 free")


def test_a_device_that_shrinks_below_what_its_pods_have_takes_no_more_until_they_go(
    world: World, scheduler: RunningOperator
) -> None:
    name = world.publish(world.node("n1"), [shareable("80Gi")])
    gpu = world.gpu_class()
    for claim, amount in (("most", "60Gi"), ("more", "10Gi")):
        world.gpu_claim(claim, gpu, capacity={"requests": {"memory": amount}})
    world.pod("most", from_claim("gpu", "most"))
    world.bound("most")
    body = world.api.get(SLICES, name)
    body["spec"]["devices"] = [shareable("50Gi")]
    scheduler.wait_seen(world.api.put(body))
    world.pod("more", from_claim("gpu", "more"))
    world.pending("more", "at most 0 free")

    world.remove(PODS, "most")

    world.bound("more")


def test_admin_access_is_given_while_the_namespace_has_its_label(world: World, scheduler: RunningOperator) -> None:
    node = world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    with pytest.raises(ApiError) as refused:
        world.gpu_claim("early", gpu, **ADMIN)
    assert refused.value.code == INVALID
    world.gpu_claim("work", gpu)
    world.pod("worker", from_claim("gpu", "work"))
    world.bound("worker")
    world.label_namespace(**{ADMIN_LABEL: "true"})
    wait_until(lambda: create_watch(world, gpu), "the server to know the label")
    scheduler.wait_seen(world.label_namespace(**{ADMIN_LABEL: None}))
    world.pod("monitor", from_claim("gpu", "watch"))
    world.pending("monitor", ADMIN_LABEL)

    world.label_namespace(**{ADMIN_LABEL: "true"})

    assert world.bound("monitor") == node
    result = world.claim("watch")["status"]["allocation"]["devices"]["results"][0]
    assert (result["device"], result["adminAccess"]) == ("gpu-0", True)


def create_watch(world: World, gpu: str) -> bool:
    """Creates a claim for admin access if the server takes one by now: it keeps namespaces in a cache of its own."""
    try:
        world.gpu_claim("watch", gpu, **ADMIN)
    except ApiError as error:
        if error.code == INVALID:
            return False
        raise
    return True


def test_a_pod_is_evicted_from_a_tainted_device_which_nobody_gets_then(
    world: World, scheduler: RunningOperator
) -> None:
    node = world.node("n1")
    name = world.publish(node, numbered(2))
    gpu = world.gpu_class()
    brief = {"key": "example.com/leaving", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    world.create(manifests.claim("brief", request("gpu", gpu, tolerations=[brief])))
    world.pod("leaver", from_claim("gpu", "brief"))
    world.bound("leaver")
    assert devices(world.claim("brief")) == ["gpu-0"]

    body = world.api.get(SLICES, name)
    body["spec"]["devices"][0]["taints"] = [{"key": "example.com/leaving", "effect": "NoExecute"}]
    scheduler.wait_seen(world.api.put(body))

    world.mirror.until(lambda: not world.find_pod("leaver"), "the pod to be evicted")
    world.gpu_template(gpu)
    for follower in ("next", "last"):
        world.pod(follower, from_template("gpu", "gpus"))
    assert len(settled(world, {"next", "last"})) == 1
    assert {name for pod in ("next", "last") for name in devices(world.claim_of(pod))} == {"gpu-1"}
