"""What pods and pools demand of nodes that are made: places, taints, weights, and limits that count devices."""

from collections.abc import Iterator

import pytest

from dra_builders import manifests
from dra_cluster.machines import POOLS, TYPES
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_cluster.world import NODES
from dra_controlplane.client import Json, path_of

ZONE = "topology.kubernetes.io/zone"
OURS = {"key": "example.com/ours", "effect": "NoSchedule"}


@pytest.fixture
def heavy(scene: Scene) -> Iterator[Scene]:
    """What is made of a second pool, which is not there yet and is the last by name."""
    heavy = Scene(scene.world)
    heavy.pool = scene.world.named("weighty")
    yield heavy
    heavy.leave()


def in_zone(*zones: str) -> Json:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}


def test_a_node_is_made_where_the_pod_requires_it_and_what_it_only_prefers_is_given_up(scene: Scene) -> None:
    scene.open_pool()
    name = scene.machine("gpus", scene.group("gpu", 1))
    offers = [{"zone": zone, "price": str(price)} for price, zone in enumerate("abc", start=1)]
    scene.api.patch(path_of(TYPES, name), {"spec": {"offerings": offers}})
    scene.world.create(manifests.template("gpus", scene.wants("gpu")))
    required = {"nodeSelectorTerms": [in_zone("b", "c")]}
    for pod, zone in (("kept", "c"), ("given-up", "a")):
        rather = [{"weight": 1, "preference": in_zone(zone)}]
        terms = {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": rather,
        }
        scene.world.pod(pod, manifests.from_template("devices", "gpus"), affinity={"nodeAffinity": terms})

    nodes = scene.runs("kept", "given-up")

    assert [scene.api.get(NODES, node)["metadata"]["labels"][ZONE] for node in nodes] == ["c", "b"]


def test_a_node_with_the_taints_of_its_pool_is_made_for_who_tolerates_them(scene: Scene, whole: Whole) -> None:
    scene.open_pool()
    tainted = scene.api.patch(path_of(POOLS, scene.pool), {"spec": {"template": {"spec": {"taints": [OURS]}}}})
    whole["scheduler"].wait_seen(tainted)
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("stranger", scene.wants("gpu"))
    scene.world.pending("stranger", "untolerated taint example.com/ours")
    scene.world.create(manifests.template("gpus", scene.wants("gpu")))
    tolerations = [{"key": "example.com/ours", "operator": "Exists"}]
    scene.world.pod("member", manifests.from_template("devices", "gpus"), tolerations=tolerations)

    (node,) = scene.runs("member")

    taints = scene.api.get(NODES, node)["spec"]["taints"]
    assert [(one["key"], one["effect"]) for one in taints] == [("example.com/ours", "NoSchedule")]
    assert scene.world.bound_pods() == ["member"]


def test_a_pool_makes_no_more_nodes_than_its_limit_of_devices_allows(scene: Scene) -> None:
    scene.open_pool(limits={scene.driver("gpu"): "3"})
    scene.machine("pair", scene.group("gpu", 2))
    scene.pod("first", scene.wants("gpu", 2))
    (node,) = scene.runs("first")
    scene.pod("second", scene.wants("gpu", 2))
    scene.world.pending("second", "no new node", "limit")
    scene.api.patch(path_of(POOLS, scene.pool), {"spec": {"limits": {scene.driver("gpu"): "4"}}})

    assert scene.runs("second") != [node]
    assert len(scene.claims()) == 2


def test_the_pool_of_most_weight_makes_nodes_until_its_limit_is_reached(
    scene: Scene, heavy: Scene, whole: Whole
) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 1))
    light = scene.api.get(POOLS, scene.pool)
    spec = {**light["spec"], "weight": 10, "limits": {"nodes": "1"}}
    body = {"apiVersion": light["apiVersion"], "kind": light["kind"], "metadata": {"name": heavy.pool}, "spec": spec}
    whole["scheduler"].wait_seen(scene.api.create(body))
    for name in ("first", "second"):
        scene.pod(name, scene.wants("gpu"))

    nodes = set(scene.runs("first", "second"))

    assert len(scene.claims()) == len(heavy.claims()) == 1
    assert nodes == {claim["metadata"]["name"] for claim in (*scene.claims(), *heavy.claims())}
