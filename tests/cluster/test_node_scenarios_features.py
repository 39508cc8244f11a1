"""Features of DRA on nodes that do not exist yet: planned with what types promise, served with what nodes publish."""

from collections import Counter

from dra_builders import manifests
from dra_cluster.machines import TYPES
from dra_cluster.planning import types_of
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_cluster.world import NODES
from dra_controlplane.client import Json, path_of

ZONE = "topology.kubernetes.io/zone"
WORN = {"key": "example.com/worn", "effect": "NoSchedule"}


def of_kind(scene: Scene, kind: str) -> str:
    return f"device.attributes['{scene.driver('gpu')}'].kind == '{kind}'"


def kinds(scene: Scene, kind: str, count: int = 1, **rest: object) -> Json:
    """Devices of a kind of which names and an attribute tell."""
    attributes = {f"{scene.driver('gpu')}/kind": {"string": kind}}
    return scene.group("gpu", count, kind, attributes=attributes, **rest)


def type_of(scene: Scene, pod: str) -> list[str]:
    return types_of(scene.claim_of(pod))


def test_pods_share_the_device_of_a_node_that_is_made_until_it_is_full(scene: Scene) -> None:
    scene.open_pool()
    memory = {"memory": {"value": "80Gi"}}
    scene.machine("gpus", scene.group("gpu", 1, allowMultipleAllocations=True, capacity=memory))
    names = ("a", "b", "c")
    for name in names:
        scene.pod(name, scene.wants("gpu", capacity={"requests": {"memory": "40Gi"}}))

    nodes = scene.runs(*names)

    assert sorted(Counter(nodes).values()) == [1, 2]
    assert len(scene.claims()) == 2
    shares = [one["shareID"] for name in names for one in scene.devices(name)]
    assert len(set(shares)) == 3


def test_partitions_of_one_device_share_a_node_that_is_made_and_the_whole_one_has_another(scene: Scene) -> None:
    scene.open_pool()
    whole, half = ([{"counterSet": "card", "counters": {"memory": {"value": size}}}] for size in ("80Gi", "40Gi"))
    groups = [kinds(scene, "whole", consumesCounters=whole), kinds(scene, "half", 2, consumesCounters=half)]
    name = scene.machine("mig", *groups)
    card = {"driver": scene.driver("gpu"), "name": "card", "counters": {"memory": {"value": "80Gi"}}}
    scene.api.patch(path_of(TYPES, name), {"spec": {"devices": {"sharedCounters": [card]}}})
    for pod, kind in (("left", "half"), ("all", "whole"), ("right", "half")):
        scene.pod(pod, scene.wants("gpu", 1, of_kind(scene, kind)))

    left, both, right = scene.runs("left", "all", "right")

    assert left == right != both
    assert len(scene.claims()) == 2


def test_the_preferred_alternative_has_a_node_made_however_dear_and_the_next_one_where_it_is_not_sold(
    scene: Scene, whole: Whole
) -> None:
    scene.open_pool()
    scene.machine("small", kinds(scene, "small"))
    large = scene.machine("large", kinds(scene, "large"), price=9)
    whole["scheduler"].wait_seen(scene.api.get(TYPES, large))
    small = {"name": "small", "deviceClassName": scene.driver("gpu")}

    def rather(kind: str) -> Json:
        wanted = {**small, "name": kind, "selectors": [{"cel": {"expression": of_kind(scene, kind)}}]}
        return {"name": "gpu", "firstAvailable": [wanted, {**small, "name": "any"}]}

    scene.pod("dear", rather("large"))
    assert type_of(scene, "dear") == [large]
    (node,) = scene.runs("dear")
    scene.pod("modest", rather("huge"))

    assert scene.runs("modest") != [node]
    assert [scene.devices(pod)[0]["request"] for pod in ("dear", "modest")] == ["gpu/large", "gpu/any"]


def test_a_node_of_tainted_devices_is_made_for_who_tolerates_them(scene: Scene) -> None:
    scene.open_pool()
    worn = scene.machine("worn", scene.group("gpu", 1, taints=[WORN]))
    new = scene.machine("new", scene.group("gpu", 1), price=9)
    scene.pod("picky", scene.wants("gpu"))
    scene.runs("picky")
    scene.pod("easy", scene.wants("gpu", tolerations=[{"key": "example.com/worn", "operator": "Exists"}]))

    assert type_of(scene, "picky") == [new]
    scene.runs("easy")
    assert types_of(scene.claim_of("easy"))[:1] == [worn]


def test_a_node_is_made_in_the_zone_of_a_device_that_only_that_zone_reaches(scene: Scene) -> None:
    scene.open_pool()
    name = scene.machine("plain")
    offers = [{"zone": "a", "price": "1"}, {"zone": "b", "price": "9"}]
    scene.api.patch(path_of(TYPES, name), {"spec": {"offerings": offers}})
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]}
    pool = manifests.pool(scene.world.named("net"))
    devices = [{"name": "link"}]
    scene.world.create(
        manifests.resource_slice(
            pool["name"], driver=scene.driver("nic"), pool=pool, devices=devices, nodeSelector=zone
        )
    )
    scene.pod("train", scene.wants("nic"))
    scene.pod("next", scene.wants("nic"))

    (served,) = scene.world.mirror.until(scene.world.bound_pods, "a pod to be bound")
    scene.runs(served)
    labels = scene.api.get(NODES, scene.world.node_of(served))["metadata"]["labels"]
    assert labels[ZONE] == "b"
    (left,) = {"train", "next"} - {served}
    scene.world.pending(left, "no new node")
    assert len(scene.claims()) == 1
