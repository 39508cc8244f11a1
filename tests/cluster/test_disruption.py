"""Nodes that go on a real server: replaced first, drained by eviction, and whatever is killed, once."""

import pytest

from dra_cluster import objects
from dra_cluster.faults import Hold, Match
from dra_cluster.mirror import PODS
from dra_cluster.planning import types_of
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_controlplane.client import Json

SETTINGS = {"disruption_interval_seconds": "0.5"}
BUDGETS = "policy/v1/poddisruptionbudgets"
AT_ONCE = {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
CLAIMS = r"/nodeclaims"


class Stage:
    """A scene whose nodes may go at once. The test makes a pod anew once it was evicted, as its owner would."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.world = scene.world
        self._pods: dict[str, tuple[int, int, int]] = {}
        self._seen: set[str] = set()
        scene.open_pool(disruption=AT_ONCE)

    def pod(self, name: str, *, cpu: int = 1, gpus: int = 1) -> str:
        """Creates a pod with so many devices, and returns the node that it comes to run on."""
        self._pods[name] = (cpu, gpus, 0)
        self._create(name)
        (node,) = self.scene.runs(f"{name}-0")
        self._seen.add(f"{name}-0")
        return node

    def node_of(self, name: str) -> str:
        """The node that the pod runs on by now, empty while it runs nowhere; one that is gone is made anew."""
        cpu, gpus, number = self._pods[name]
        found = self.world.find_pod(f"{name}-{number}")
        if not found:
            # What was only just created has not been seen yet.
            if f"{name}-{number}" in self._seen:
                self._pods[name] = (cpu, gpus, number + 1)
                self._create(name)
            return ""
        self._seen.add(f"{name}-{number}")
        is_running = (found.get("status") or {}).get("phase") == "Running" and not _is_deleting(found)
        return str(found["spec"].get("nodeName", "")) if is_running else ""

    def leaves(self, name: str, node: str) -> str:
        """Waits until the pod runs on another node, and returns that one."""

        def elsewhere() -> str:
            now = self.node_of(name)
            return now if now != node else ""

        try:
            return self.world.mirror.until(elsewhere, f"{name} to leave {node}", seconds=90)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.scene.story()}") from None

    def until_gone(self, node: str) -> None:
        """Waits until a node is gone, and its NodeClaim."""

        def is_left() -> bool:
            return node in self.scene.nodes() or node in [one["metadata"]["name"] for one in self.scene.claims()]

        self.world.mirror.until(lambda: not is_left(), f"node {node} to be gone", seconds=60)

    def budget(self, name: str, left: int) -> None:
        """Lets so many pods of a name be evicted."""
        spec = {"maxUnavailable": left, "selector": {"matchLabels": {"app": name}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        self.world.create(body)
        counts = {"currentHealthy": 1, "desiredHealthy": 1 - left, "expectedPods": 1}
        self.world.patch_status(BUDGETS, name, {"disruptionsAllowed": left, "observedGeneration": 1, **counts})

    def _create(self, name: str) -> None:
        cpu, gpus, number = self._pods[name]
        if not number:
            self.world.create(objects.template(name, self.scene.wants("gpu", gpus)))
        pod = objects.pod(f"{name}-{number}", objects.from_template("devices", name), limits={"cpu": cpu})
        pod["metadata"]["labels"] = {"app": name}
        self.world.create(pod)


def _is_deleting(value: Json) -> bool:
    return bool(value["metadata"].get("deletionTimestamp"))


@pytest.fixture
def stage(scene: Scene) -> Stage:
    """A scene in which nodes may go."""
    return Stage(scene)


def oversized(stage: Stage) -> str:
    """A pod with one GPU on a node with four, which was all there was to be had; return the node."""
    stage.scene.machine("large", stage.scene.group("gpu", 4), price=4)
    node = stage.pod("train")
    stage.scene.machine("small", stage.scene.group("gpu", 1), price=1)
    return node


def test_a_node_is_replaced_by_a_cheaper_one_which_goes_once_it_is_empty(stage: Stage) -> None:
    before = oversized(stage)

    after = stage.leaves("train", before)
    stage.until_gone(before)
    (claim,) = stage.scene.claims()
    stage.scene.remove_pods()

    assert claim["metadata"]["name"] == after
    assert types_of(claim) == [stage.world.named("small")]
    stage.scene.until_nothing_remains()


def test_a_node_goes_if_its_pods_have_room_on_another(stage: Stage) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    big, small = stage.pod("big", cpu=9), stage.pod("small", cpu=8)
    assert big != small
    stage.pod("least", cpu=7)
    stage.world.remove(PODS, "big-0")

    def nodes() -> set[str]:
        return {stage.node_of(name) for name in ("small", "least")}

    stage.world.mirror.until(lambda: "" not in nodes() and len(nodes()) == 1, "both pods to be on one node", seconds=90)
    (left,) = nodes()
    stage.until_gone(big if left == small else small)


def test_a_budget_without_anything_left_keeps_a_node(stage: Stage) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4), price=4)
    stage.budget("kept", 0)
    kept, free = stage.pod("kept", cpu=9), stage.pod("free", cpu=9)
    stage.scene.machine("small", stage.scene.group("gpu", 1), price=1)

    stage.leaves("free", free)
    stage.until_gone(free)
    assert stage.node_of("kept") == kept
    stage.world.told(kept, "Unconsolidatable", "kept allows no eviction of pod")

    stage.world.remove(BUDGETS, "kept")
    stage.leaves("kept", kept)


@pytest.mark.parametrize(
    ("write", "moment"),
    [
        (Match(method="POST", path=CLAIMS + "$", body="dra-scheduler.dev/replaces"), "before"),
        (Match(method="POST", path=CLAIMS + "$", body="dra-scheduler.dev/replaces"), "after"),
        (Match(method="PATCH", path=CLAIMS, body='"dra-scheduler.dev/disruption"'), "after"),
        (Match(method="PATCH", path="/nodes/", body="karpenter.sh/disrupted"), "after"),
        (Match(method="DELETE", path=CLAIMS), "before"),
        (Match(method="DELETE", path=CLAIMS), "after"),
    ],
    ids=["create-before", "create-after", "mark-after", "taint-after", "delete-before", "delete-after"],
)
def test_a_kill_at_any_write_makes_no_second_node_and_loses_none(
    stage: Stage, proxy: Proxy, whole: Whole, write: Match, moment: str
) -> None:
    created = Match(method="POST", path=CLAIMS + "$", body="dra-scheduler.dev/replaces")
    writes = len(proxy.writes(created))
    hold = Hold()
    proxy.disturb(write, hold.before() if moment == "before" else hold.after())
    before = oversized(stage)
    hold.reached()
    whole["scheduler"].kill()
    hold.drop()
    whole.run()

    after = stage.leaves("train", before)
    stage.until_gone(before)

    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == [after]
    # Twice at most: once more if the first one never arrived, or nobody knew whether it had.
    assert len(proxy.writes(created)) - writes in {1, 2}
