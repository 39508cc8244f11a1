"""Machines that come up otherwise than promised, and pods and claims on their way out: no node is made in vain."""

from datetime import UTC, datetime, timedelta

from dra_builders import manifests
from dra_cluster.faults import Match
from dra_cluster.mirror import PODS
from dra_cluster.planning import nominated
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_controlplane.client import path_of

SETTINGS = {"gate_timeout_seconds": "6"}
CREATE = Match(method="POST", path=r"/nodeclaims$")


def end_rest(scene: Scene, kind: str) -> None:
    """Lets the time be over for which no node of a type is made."""
    past = (datetime.now(UTC) - timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    scene.world.api.patch(
        path_of("dra-scheduler.dev/v1alpha1/instancetypes", kind, subresource="status"),
        {"status": {"retryAfter": past}},
    )


def until_rest(scene: Scene, kind: str, failures: int) -> None:
    """Waits until a type has failed so many times in a row."""

    def failed() -> bool:
        return scene.type_status(kind).get("deviceFailures") == failures

    scene.world.mirror.until(failed, f"{failures} failures of {kind}")


def test_a_driver_that_never_publishes_costs_one_node_for_each_rest_of_its_type(scene: Scene, proxy: Proxy) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    kind = scene.machine("gpus", scene.group("gpu", 4))
    before = len(proxy.writes(CREATE))
    scene.pod("train", scene.wants("gpu"))
    until_rest(scene, kind, 1)
    scene.until_nothing_remains()
    scene.world.pending("train", "no new node", "failed to publish their devices lately")
    scene.machine("plain")
    scene.pod("other", limits={"cpu": 1})
    scene.runs("other")
    assert len(proxy.writes(CREATE)) - before == 2
    end_rest(scene, kind)

    until_rest(scene, kind, 2)
    assert len(proxy.writes(CREATE)) - before == 3


def test_pods_whose_type_has_failed_get_the_next_cheapest_one(scene: Scene, proxy: Proxy) -> None:
    broken, sound = scene.driver("gpu"), scene.driver("nic")
    scene.open_pool(faults={"unpublished": broken})
    scene.world.create(manifests.device_class(scene.world.named("any"), f"device.driver in ['{broken}', '{sound}']"))
    cheap = scene.machine("cheap", scene.group("gpu", 4))
    scene.machine("dear", scene.group("nic", 4), price=9)
    before = len(proxy.writes(CREATE))
    scene.pod("train", manifests.request("any", scene.world.named("any")))

    (node,) = scene.runs("train")
    assert {driver for driver, _ in scene.published(node)} == {sound}
    assert scene.type_status(cheap)["deviceFailures"] == 1
    assert len(proxy.writes(CREATE)) - before <= 2


def test_a_node_with_fewer_devices_than_promised_serves_whom_it_can_and_is_not_made_again(
    scene: Scene, proxy: Proxy
) -> None:
    scene.open_pool(faults={"fewer-devices": "*"})
    kind = scene.machine("gpus", scene.group("gpu", 8))
    before = len(proxy.writes(CREATE))
    scene.pod("greedy", scene.wants("gpu", 8))
    name = scene.waits("greedy")
    scene.until(name, "DevicesAsPromised", "False", "gpu-7")
    until_rest(scene, kind, 1)
    scene.world.pending("greedy", "no new node", f"node {name} was made for it, stands empty")
    scene.pod("modest", scene.wants("gpu", 7))

    assert scene.runs("modest") == [name]
    assert scene.world.node_of("greedy") == ""
    assert len(proxy.writes(CREATE)) - before == 1


def test_a_pod_waits_for_devices_that_are_about_to_be_free_instead_of_a_new_node(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("old", scene.wants("gpu", 2))
    (node,) = scene.runs("old")
    old = path_of(PODS, "old", namespace=scene.world.namespace)
    scene.api.patch(old, {"metadata": {"finalizers": ["example.com/lingers"]}})
    scene.api.delete(PODS, "old", namespace=scene.world.namespace, options={"gracePeriodSeconds": 300})
    scene.pod("next", scene.wants("gpu", 2), limits={"cpu": 2})
    scene.world.pending("next", f"being deleted on node {node}")
    scene.pod("third", scene.wants("gpu", 1))
    (other,) = scene.runs("third")
    assert (scene.world.node_of("next"), other != node) == ("", True)
    scene.api.patch(old, {"metadata": {"finalizers": None}})

    assert scene.runs("next") == [node]
    assert sorted(name for claim in scene.claims() for name in nominated(claim)) == ["old", "third"]


def test_a_claim_that_is_held_without_a_consumer_frees_nothing(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("first", scene.wants("gpu"))
    (node,) = scene.runs("first")
    scene.world.create(manifests.claim("held", scene.wants("gpu")))
    device = {"request": "gpu", "driver": scene.driver("gpu"), "pool": node, "device": free_device(scene, "first")}
    scene.world.allocate("held", manifests.allocation(node, device))
    scene.pod("second", scene.wants("gpu", 1))

    (other,) = scene.runs("second")
    assert other != node
    scene.world.remove("resource.k8s.io/v1/resourceclaims", "held")


def free_device(scene: Scene, pod: str) -> str:
    (taken,) = scene.devices(pod)
    (free,) = {"gpu-0", "gpu-1"} - {taken["device"]}
    return free
