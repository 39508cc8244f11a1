"""Known machines, gates that open in any order, and claims that are held in odd ways, with all roles at work."""

import random
from pathlib import Path

import pytest
import yaml

from dra_builders import manifests
from dra_cluster.faults import Match
from dra_cluster.mirror import CLAIMS, PODS
from dra_cluster.planning import nominated, types_of
from dra_cluster.proxy import Proxy
from dra_cluster.scene import ROOT, Scene
from dra_cluster.whole import Whole
from dra_controlplane.client import Json, path_of

SAMPLES = Path(__file__).parents[2] / "manifests" / "samples" / "instancetypes"
CREATE = Match(method="POST", path=r"/nodeclaims$")
PAIR = [{"matchAttribute": ROOT}]


def sample(scene: Scene, name: str, price: int) -> str:
    """A type with the devices of a sample, whose drivers are those of the test."""
    text = (SAMPLES / f"{name}.yaml").read_text()
    for driver, kind in (("gpu.nvidia.com", "gpu"), ("dra.net", "nic"), ("compute-domain.nvidia.com", "domain")):
        text = text.replace(driver, scene.driver(kind))
    devices = yaml.safe_load(text)["spec"]["devices"]
    return scene.machine(name, *devices["groups"], price=price, capacity={"cpu": 96})


def roots_of(scene: Scene, pod: str) -> set[str]:
    """The PCIe roots of a pod's devices."""
    results = scene.devices(pod)
    published = scene.published(results[0]["pool"])
    return {published[one["driver"], one["device"]]["attributes"][ROOT]["string"] for one in results}


def test_pods_share_a_known_machine_root_by_root_until_no_card_is_left(scene: Scene) -> None:
    scene.open_pool(limits={"nodes": "1"})
    sample(scene, "gb200", price=1)
    p4d = sample(scene, "p4d.24xlarge", price=9)
    nic = scene.driver("nic")
    card = scene.wants("nic", 1, f"device.attributes['{nic}'].rdma")
    names = ("a", "b", "c", "d")
    for name in names:
        scene.pod(name, scene.wants("gpu"), card, constraints=PAIR)
    (node,) = set(scene.runs(*names))
    scene.pod("fifth", scene.wants("gpu"), card, constraints=PAIR)
    scene.world.pending("fifth", "no new node", "limit")
    scene.pod("rest", scene.wants("gpu", 4))

    assert scene.runs("rest") == [node]
    assert [types_of(claim) for claim in scene.claims()] == [[p4d]]
    roots = [roots_of(scene, name) for name in names]
    assert sorted(map(sorted, roots)) == [["pci0000:10"], ["pci0000:20"], ["pci0000:90"], ["pci0000:a0"]]
    assert scene.world.node_of("fifth") == ""


@pytest.mark.parametrize("seed", [0, 1])
def test_gates_open_in_any_order_and_each_for_its_own_pod(scene: Scene, proxy: Proxy, seed: int) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    scene.machine("tray", scene.group("gpu", 4), scene.group("nic", 1, "channel"))
    before = len(proxy.writes(CREATE))
    pods = [f"p{number}" for number in range(5)]
    for pod in pods:
        scene.pod(pod, scene.wants("gpu", 4), scene.wants("nic"))
    places = {pod: str(scene.claim_of(pod)["metadata"]["name"]) for pod in pods}
    shut = {pod: [scene.driver("gpu"), scene.driver("nic")] for pod in pods}
    turns = [(pod, driver) for pod in pods for driver in shut[pod]]
    random.Random(seed).shuffle(turns)

    for pod, driver in turns:
        shut[pod].remove(driver)
        if shut[pod]:
            scene.play(places[pod], unpublished=shut[pod][0])
        else:
            scene.mend(places[pod], "unpublished")
        opened = [one for one in pods if not shut[one]]
        assert scene.runs(*opened) == [places[one] for one in opened]
        assert scene.world.bound_pods() == opened

    assert len(set(places.values())) == len(proxy.writes(CREATE)) - before == len(pods)


def test_what_all_nodes_reach_opens_no_gate_and_a_late_pod_joins_the_node_that_is_shut(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    scene.machine("both", scene.group("gpu", 2), scene.group("nic", 1))
    scene.pod("train", scene.wants("gpu"), scene.wants("nic"))
    name = scene.waits("train")
    nic, everywhere = scene.driver("nic"), manifests.pool(scene.world.named("everywhere"))
    scene.world.create(
        manifests.resource_slice(
            everywhere["name"], driver=nic, pool=everywhere, devices=[{"name": "x"}], allNodes=True
        )
    )
    scene.play(name, unpublished=nic)
    # The slices that follow are known to whoever says so, and with them the one before.
    scene.until(name, "Initialized", "Unknown", "DRADriverPoolsNotPublished", nic, "no slice of node")
    scene.pod("late", scene.wants("gpu"))
    assert scene.claim_of("train", "late")["metadata"]["name"] == name
    assert scene.world.bound_pods() == []
    scene.mend(name, "unpublished")

    assert scene.runs("train", "late") == [name, name]
    assert len(scene.claims()) == 1


def test_devices_that_a_deleted_pod_shares_with_what_is_no_pod_are_not_about_to_be_free(
    scene: Scene, whole: Whole
) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("old", scene.wants("gpu", 2))
    (node,) = scene.runs("old")
    group = {"apiGroup": "example.com", "resource": "podgroups", "name": "gang", "uid": "gang"}
    whole["scheduler"].wait_seen(hold(scene, "old", group))
    old = path_of(PODS, "old", namespace=scene.world.namespace)
    scene.api.patch(old, {"metadata": {"finalizers": ["example.com/lingers"]}})
    scene.api.delete(PODS, "old", namespace=scene.world.namespace, options={"gracePeriodSeconds": 300})
    scene.pod("next", scene.wants("gpu", 2))

    (other,) = scene.runs("next")
    assert other != node
    assert sorted(name for one in scene.claims() for name in nominated(one)) == ["next", "old"]
    hold(scene, "old")


def hold(scene: Scene, pod: str, *others: Json) -> Json:
    """Lets the claim of a pod be held by that pod and these others, and returns it."""
    consumers = [manifests.consumer(scene.world.find_pod(pod)), *others]
    name = scene.world.claim_of(pod, "devices")["metadata"]["name"]
    path = path_of(CLAIMS, name, namespace=scene.world.namespace, subresource="status")
    return scene.api.patch(path, {"status": {"reservedFor": consumers}})


def test_the_node_of_a_pod_that_has_succeeded_serves_the_next_one(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("first", scene.wants("gpu", 2))
    (node,) = scene.runs("first")
    scene.world.patch_status(PODS, "first", {"phase": "Succeeded"})
    scene.pod("second", scene.wants("gpu", 2))

    assert scene.runs("second") == [node]
    assert len(scene.claims()) == 1
