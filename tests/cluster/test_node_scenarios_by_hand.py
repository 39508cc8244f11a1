"""What people do to nodes that are on their way: they delete them, and what they are made from, and correct types."""

from dra_cluster.machines import NODE_CLAIMS, TYPES
from dra_cluster.scene import Scene
from dra_cluster.world import NODES
from dra_controlplane.client import path_of


def waits_at_the_gate(scene: Scene, pod: str) -> str:
    """Waits until the NodeClaim of a pod waits for a driver, and returns its name."""
    name = scene.waits(pod)
    scene.until(name, "Initialized", "Unknown", "DRADriverPoolsNotPublished")
    return name


def uid_of(scene: Scene, claim: str) -> str:
    return next(str(one["metadata"]["uid"]) for one in scene.claims() if one["metadata"]["name"] == claim)


def comes_up_as_another(scene: Scene, pod: str, before: str) -> None:
    """Waits until there is another NodeClaim than the one with this uid, and until the pod runs on its node."""

    def others() -> list[str]:
        return [one["metadata"]["name"] for one in scene.claims() if one["metadata"]["uid"] != before]

    scene.world.mirror.until(lambda: bool(others()), "another NodeClaim")
    (name,) = others()
    scene.mend(name, "unpublished")
    assert scene.runs(pod) == [name]
    scene.world.mirror.until(lambda: [one["metadata"]["name"] for one in scene.claims()] == [name], "one NodeClaim")
    assert scene.nodes() == [name]


def test_a_node_claim_that_is_deleted_at_the_gate_is_made_again(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("train", scene.wants("gpu"))
    first = waits_at_the_gate(scene, "train")
    uid = uid_of(scene, first)
    scene.api.delete(NODE_CLAIMS, first)

    comes_up_as_another(scene, "train", uid)


def test_a_node_that_is_deleted_at_the_gate_takes_its_claim_along_and_is_made_again(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": "*"})
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("train", scene.wants("gpu"))
    first = waits_at_the_gate(scene, "train")
    uid = uid_of(scene, first)
    scene.api.delete(NODES, first)

    comes_up_as_another(scene, "train", uid)


def test_a_node_whose_type_is_deleted_at_the_gate_comes_up_all_the_same(scene: Scene) -> None:
    scene.open_pool(faults={"unpublished": scene.driver("gpu")})
    kind = scene.machine("gpus", scene.group("gpu", 2), scene.group("nic", 2))
    scene.pod("train", scene.wants("nic"), scene.wants("gpu"))
    name = waits_at_the_gate(scene, "train")
    scene.api.delete(TYPES, kind)
    scene.world.mirror.until(lambda: "gpu" in str(scene.condition(name).get("message")), "the gate to wait")
    scene.machine("gpus", scene.group("gpu", 2), scene.group("nic", 2))
    scene.mend(name, "unpublished")

    assert scene.runs("train") == [name]


def test_a_type_that_was_corrected_sends_the_pod_to_another_one(scene: Scene) -> None:
    scene.open_pool(faults={"fewer-devices": "*"})
    kind = scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("train", scene.wants("gpu", 2))
    first = scene.waits("train")
    scene.until(first, "DevicesAsPromised", "False", "gpu-1")
    scene.world.pending("train", f"node {first} was made for it, stands empty")
    scene.machine("large", scene.group("gpu", 3), price=9)
    scene.api.patch(path_of(TYPES, kind), {"spec": {"devices": {"groups": [scene.group("gpu", 1)]}}})

    (node,) = scene.runs("train")
    assert node != first
    assert len(scene.claims()) == 2


def test_a_pod_waits_for_its_node_while_somebody_has_tainted_it_instead_of_a_new_one(scene: Scene) -> None:
    scene.open_pool(faults={"never": "ready"})
    scene.machine("gpus", scene.group("gpu", 2))
    scene.pod("train", scene.wants("gpu", 2))
    name = scene.waits("train")
    scene.until(name, "Registered", "True")
    node = path_of(NODES, name)
    taint = {"key": "agent.example.com/check", "effect": "NoSchedule"}
    scene.api.patch(node, {"spec": {"taints": [*scene.api.get(NODES, name)["spec"].get("taints", ()), taint]}})
    scene.mend(name, "never")
    scene.until(name, "Initialized", "True")

    message = scene.world.pending("train", "the pod waits for that node until")
    assert f"node {name} was made for it and has untolerated taint agent.example.com/check:NoSchedule" in message
    assert f"which NodePool {scene.pool} did not give it" in message
    scene.api.patch(node, {"spec": {"taints": None}})

    assert scene.runs("train") == [name]
    assert [claim["metadata"]["name"] for claim in scene.claims()] == [name]
