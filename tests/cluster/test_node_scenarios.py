"""From a cluster without a node to pods that run: all roles, a made-up provider, real claims and slices."""

import pytest

from dra_builders import manifests
from dra_cluster.planning import drivers_of, nominated, types_of
from dra_cluster.scene import ROOT, Scene
from dra_controlplane.client import Json

EXTENDED = "nvidia.com/gpu"


def names_of(results: list[Json]) -> set[tuple[str, str]]:
    return {(one["driver"], one["device"]) for one in results}


def test_a_pod_waits_at_the_gate_for_each_driver_and_gets_published_devices(scene: Scene) -> None:
    nic = scene.driver("nic")
    scene.open_pool(faults={"unpublished": nic})
    scene.machine("a")
    scene.machine("b", scene.group("gpu", 8), price=2)
    both = scene.machine("c", scene.group("gpu", 8), scene.group("nic", 4), price=3)
    scene.pod("train", scene.wants("gpu", 4), scene.wants("nic"))
    name = scene.waits("train")
    scene.until(name, "Initialized", "Unknown", "DRADriverPoolsNotPublished", nic)
    (claim,) = scene.claims()
    assert (types_of(claim), drivers_of(claim)) == ([both], f"{scene.driver('gpu')},{nic}")
    assert scene.world.node_of("train") == ""
    scene.mend(name, "unpublished")

    assert scene.runs("train") == [name] == [one["metadata"]["name"] for one in scene.claims()]
    assert names_of(scene.devices("train")) <= set(scene.published(name))
    assert len(scene.devices("train")) == 5


def test_a_pod_without_devices_has_a_node_made_without_devices(scene: Scene) -> None:
    scene.open_pool()
    plain = scene.machine("plain", capacity={"cpu": 4})
    scene.machine("gpus", scene.group("gpu", 8), price=9)
    for name in ("a", "b", "c"):
        scene.pod(name, limits={"cpu": 1})

    (node,) = set(scene.runs("a", "b", "c"))
    (claim,) = scene.claims()
    assert claim["metadata"]["labels"]["node.kubernetes.io/instance-type"] == plain
    assert claim["metadata"]["name"] == node


def test_an_extended_resource_is_served_by_devices_that_only_a_type_speaks_of(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("plain")
    scene.machine("gpus", scene.group("gpu", 4), price=9)
    scene.world.gpu_class(stem="extended", extended=EXTENDED)
    scene.pod("train", limits={EXTENDED: 2})

    (node,) = scene.runs("train")
    results = scene.world.special_claim("train")["status"]["allocation"]["devices"]["results"]
    assert [one["pool"] for one in results] == [node] * 2
    assert len(scene.claims()) == 1


def test_devices_behind_one_root_that_nobody_knows_yet_are_planned_and_then_found(scene: Scene) -> None:
    scene.open_pool()
    nic = scene.driver("nic")
    nics = scene.group("nic", 2, "efa", attributes={f"{nic}/rdma": {"bool": True}})
    roots = [
        scene.together(("gpu", "gpu-0"), ("gpu", "gpu-1"), ("nic", "efa-0"), value="pci0000:10"),
        scene.together(("gpu", "gpu-2"), ("gpu", "gpu-3"), ("nic", "efa-1"), value="pci0000:20"),
    ]
    scene.machine("p4", scene.group("gpu", 4), nics, bindings=roots)
    rdma = f"device.attributes['{nic}'].rdma == true"
    pair = (scene.wants("gpu"), scene.wants("nic", 1, rdma))
    for name in ("a", "b"):
        scene.pod(name, *pair, constraints=[{"matchAttribute": ROOT}])

    (node,) = set(scene.runs("a", "b"))
    published = scene.published(node)
    roots_of = [
        {published[one]["attributes"][ROOT]["string"] for one in names_of(scene.devices(name))} for name in ("a", "b")
    ]
    assert sorted(map(sorted, roots_of)) == [["pci0000:10"], ["pci0000:20"]]
    assert len(scene.claims()) == 1


@pytest.mark.parametrize("nic_roots", [True, False], ids=["roots of no GPU", "no roots"])
def test_no_node_is_made_where_no_type_has_gpu_and_nic_behind_one_root(scene: Scene, *, nic_roots: bool) -> None:
    scene.open_pool()
    roots = {ROOT: [{"string": f"pci000{number}:00"} for number in range(4)]}
    others = {ROOT: [{"string": f"pci001{number}:00"} for number in range(4)]}
    gpus = scene.group("gpu", 4, attributesByIndex=roots)
    scene.machine("gb", gpus, scene.group("nic", 4, attributesByIndex=others if nic_roots else {}))
    scene.pod("train", scene.wants("gpu"), scene.wants("nic"), constraints=[{"matchAttribute": ROOT}])
    scene.world.pending("train", "no new node", ROOT)
    scene.machine("plain")
    scene.pod("other", limits={"cpu": 1})
    scene.runs("other")

    assert [nominated(claim) for claim in scene.claims()] == [["other"]]
    assert scene.world.message("train").count("no new node") == 1


def test_a_claim_has_thirty_two_devices_at_most_on_nodes_to_come_as_well(scene: Scene) -> None:
    scene.open_pool()
    gpu = scene.driver("gpu")
    kinds = [{"string": "a"}] * 30 + [{"string": "b"}] * 2 + [{"string": "c"}] * 8
    scene.machine("forty", scene.group("gpu", 40, attributesByIndex={f"{gpu}/kind": kinds}))
    scene.world.gpu_class(stem="extended", extended=EXTENDED)

    def every(*of: str) -> Json:
        chosen = f"device.attributes['{gpu}'].kind in {list(of)!r}"
        return manifests.request("all", gpu, chosen, allocationMode="All")

    served = {
        "count-32": [scene.wants("gpu", 32)],
        "sum-32": [scene.wants("gpu", 20), scene.wants("gpu", 12, name="more")],
        "all-32": [every("a", "b")],
        "all-and-two": [every("a"), scene.wants("gpu", 2)],
    }
    refused = {
        "count-33": [scene.wants("gpu", 33)],
        "sum-33": [scene.wants("gpu", 20), scene.wants("gpu", 13, name="more")],
        "all-40": [every("a", "b", "c")],
        "all-and-three": [every("a"), scene.wants("gpu", 3)],
    }
    scene.pod("extended-33", limits={EXTENDED: 33})
    for name, requests in (served | refused).items():
        scene.pod(name, *requests)

    assert len(set(scene.runs(*served))) == 4
    for name in (*refused, "extended-33"):
        scene.world.pending(name, "32")
    assert sorted(pod for claim in scene.claims() for pod in nominated(claim)) == sorted(served)


def test_pods_of_one_claim_share_the_node_that_is_made_and_who_has_no_room_there_waits(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 4))
    scene.world.create(manifests.claim("common", scene.wants("gpu")))
    names = ["a", "b", "c"]
    for name in names:
        scene.world.pod(name, manifests.from_claim("gpu", "common"), limits={"cpu": 7})
    scene.world.mirror.until(lambda: sum(map(bool, map(scene.world.node_of, names))) == 2, "two pods to be bound")
    bound = [name for name in names if scene.world.node_of(name)]
    scene.runs(*bound)

    (left,) = set(names) - set(bound)
    scene.world.pending(left, "no new node")
    assert len(scene.claims()) == len({*map(scene.world.node_of, bound)}) == 1


def test_the_gate_waits_for_two_drivers_and_a_device_plugin(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": "*"}, limits={"nodes": "1"})
    channels = scene.driver("nic")
    scene.machine("gb", scene.group("gpu", 8), scene.group("nic", 1, "channel"), capacity={"rdma/hca": 4})
    scene.world.gpu_class(stem="extended", extended=EXTENDED)
    scene.pod("a", scene.wants("nic"), limits={EXTENDED: 4, "rdma/hca": 4})
    name = scene.waits("a")
    scene.until(name, "Initialized", "Unknown", "DRADriverPoolsNotPublished")
    scene.world.patch_status("v1/nodes", name, {"allocatable": {"rdma/hca": "0"}})
    scene.until(name, "Initialized", "Unknown", "ResourceNotRegistered", "rdma/hca")
    assert drivers_of(scene.claims()[0]) == f"{scene.driver('gpu')},{channels}"
    scene.mend(name, "unpublished")
    scene.world.mirror.until(lambda: len(scene.published(name)) == 9, "both drivers to publish")
    assert scene.world.node_of("a") == ""
    scene.world.patch_status("v1/nodes", name, {"allocatable": {"rdma/hca": "4"}})
    assert scene.runs("a") == [name]

    scene.pod("b", scene.wants("nic"), limits={EXTENDED: 4})
    scene.world.pending("b", "no new node")
    assert [one["metadata"]["name"] for one in scene.claims()] == [name]


def test_the_gate_stays_shut_over_all_that_a_driver_can_do_wrong_and_opens_when_it_is_right(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    scene.machine("gpus", scene.group("gpu", 130))
    scene.pod("train", scene.wants("gpu", 4))
    name = scene.waits("train")
    faults = {
        "incomplete": "has 1 of 2 slices",
        "empty": "is complete and empty",
        "contradicting-counts": "say that there are 2 and 3 of them",
        "duplicate-names": "has device gpu-0 twice",
    }
    for fault, text in faults.items():
        scene.spoil(name, fault=fault)
        scene.until(name, "Initialized", "Unknown", text)
        assert scene.world.node_of("train") == ""
    scene.mend(name, *faults)

    assert scene.runs("train") == [name]
    assert len(scene.claims()) == 1
