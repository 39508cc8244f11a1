"""A scene whose nodes may go, and pods that are made anew once they were evicted, as their owner would."""

import pytest

from dra_builders import manifests
from dra_cluster.faults import Match
from dra_cluster.machines import POOLS
from dra_cluster.mirror import PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.proxy import Proxy, Recorded
from dra_cluster.scene import Scene
from dra_cluster.world import NODES
from dra_controlplane.client import Json, path_of
from dra_controlplane.waiting import wait_until

BUDGETS = "policy/v1/poddisruptionbudgets"
EVERY_NODE: Json = {"nodes": "100%"}
STANDS_IN = Match(method="POST", path=r"/nodeclaims$", body="dra-scheduler.dev/replaces")
DELETE = Match(method="DELETE", path=r"/nodeclaims/")
REFUSED = 300


class Stage:
    """The pods are named by a stem; each has a number that says how often it was made anew."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.world = scene.world
        self._specs: dict[str, tuple[int, Json]] = {}
        self._numbers: dict[str, int] = {}
        scene.open_pool(disruption={"consolidateAfter": "Never", "budgets": [EVERY_NODE]})

    def pod(self, name: str, *, cpu: int = 1, **devices: int) -> str:
        """Creates a pod with so many devices of each kind, or one GPU, and returns the node that it comes to run on."""
        self.begin(name, cpu=cpu, **devices)
        return self.leaves(name, "")

    def begin(self, name: str, *, cpu: int = 1, **devices: int) -> None:
        """Creates a pod with so many devices of each kind, or one GPU."""
        requests = [self.scene.wants(kind, count) for kind, count in (devices or {"gpu": 1}).items()]
        self.world.create(manifests.template(name, *requests))
        self._begin(name, cpu, manifests.from_template("devices", name))

    def user(self, name: str, claim: str) -> str:
        """Creates a pod that uses a claim, and returns the node that it comes to run on."""
        self._begin(name, 1, manifests.from_claim("devices", claim))
        return self.leaves(name, "")

    def node_of(self, name: str) -> str:
        """The node that the pod runs on by now, empty while it runs nowhere; one that is gone is made anew."""
        found = self.world.find_pod(self._called(name))
        if not found:
            # What was only just created has not been seen yet.
            if self._was_seen(self._called(name)):
                self._numbers[name] += 1
                self._create(name)
            return ""
        is_running = (found.get("status") or {}).get("phase") == "Running" and not _is_deleting(found)
        return str(found["spec"].get("nodeName", "")) if is_running else ""

    def moves(self, name: str) -> int:
        """How often the pod was made anew."""
        return self._numbers[name]

    def leaves(self, name: str, *nodes: str) -> str:
        """Waits until the pod runs on another node than these, and returns that one."""

        def elsewhere() -> str:
            now = self.node_of(name)
            return now if now not in nodes else ""

        try:
            return self.world.mirror.until(elsewhere, f"{name} to leave {nodes}", seconds=150)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.scene.story()}") from None

    def has_devices(self, name: str, count: int) -> bool:
        """Whether the pod has so many devices, all of them such that its node has published."""
        self.world.mirror.catch_up(self.world.namespace)
        node = self.node_of(name)
        results = self.scene.devices(self._called(name))
        names = {(one["driver"], one["device"]) for one in results if one["pool"] == node}
        return len(names) == count and names <= set(self.scene.published(node))

    def until_gone(self, *nodes: str) -> None:
        """Waits until nodes are gone, and their NodeClaims."""

        def left() -> list[str]:
            names = {*self.scene.nodes(), *(one["metadata"]["name"] for one in self.scene.claims())}
            return sorted(names.intersection(nodes))

        self.world.mirror.until(lambda: not left(), f"nodes {nodes} to be gone", seconds=120)

    def until_closed(self, node: str, *, is_closed: bool) -> None:
        """Waits until a node has the taint of nodes that are to go, or has it no more."""

        def has_taint() -> bool:
            taints = self.scene.api.get(NODES, node)["spec"].get("taints") or ()
            return any(one["key"] == "karpenter.sh/disrupted" for one in taints)

        self.world.mirror.until(lambda: has_taint() is is_closed, f"{node} to be closed: {is_closed}")

    def until_silent(self, node: str, kind: str) -> None:
        """Waits until the NodeClaim of a node that stays has a condition no more."""
        self.world.mirror.until(lambda: not self.scene.condition(node, kind), f"{node} not to be {kind}")

    def life_of(self, node: str) -> str:
        """How long the NodeClaim of a node may live; empty if there is none."""
        return next((one["spec"]["expireAfter"] for one in self.scene.claims() if one["metadata"]["name"] == node), "")

    def consolidate(self, *budgets: Json) -> None:
        """Lets nodes go at once that are not needed, so many as budgets allow, or all."""
        self.change_disruption(consolidateAfter="0s", budgets=list(budgets or (EVERY_NODE,)))

    def change_disruption(self, **fields: object) -> None:
        """Changes when nodes of the pool may go."""
        self.scene.api.patch(path_of(POOLS, self.scene.pool), {"spec": {"disruption": fields}})

    def change(self, *budgets: Json, **template: Json) -> Json:
        """Changes the template of the pool and what it lets go at once, and returns the pool.

        Without budgets it lets go what it did.
        """
        spec: Json = {"template": template}
        if budgets:
            spec["disruption"] = {"budgets": list(budgets)}
        return self.scene.api.patch(path_of(POOLS, self.scene.pool), {"spec": spec})

    def budget(self, name: str, left: int) -> None:
        """Lets so many pods of a name be evicted."""
        spec = {"maxUnavailable": left, "selector": {"matchLabels": {"app": name}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        self.world.create(body)
        counts = {"currentHealthy": 1, "desiredHealthy": 1 - left, "expectedPods": 1}
        self.world.patch_status(BUDGETS, name, {"disruptionsAllowed": left, "observedGeneration": 1, **counts})

    def _begin(self, name: str, cpu: int, entry: Json) -> None:
        self._specs[name] = (cpu, entry)
        self._numbers[name] = 0
        self._create(name)

    def _create(self, name: str) -> None:
        cpu, entry = self._specs[name]
        pod = manifests.pod(self._called(name), entry, limits={"cpu": cpu})
        pod["metadata"]["labels"] = {"app": name}
        self.world.create(pod)

    def _called(self, name: str) -> str:
        return f"{name}-{self._numbers[name]}"

    def _was_seen(self, pod: str) -> bool:
        history = self.world.mirror.history(PODS, self.world.namespace)
        return any(one["metadata"]["name"] == pod for _, one in history)


class Course:
    """How NodeClaims were made to stand in for others, and how any were deleted, from now on."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._before = len(proxy.writes())

    def methods(self) -> list[str]:
        """The methods of the writes that the server has taken, in order."""
        return [one.method for one in self._writes() if 0 < one.status < REFUSED]

    def attempts(self) -> int:
        """How many requests there were to make a NodeClaim that stands in for others, whatever became of them."""
        return sum(one.method == "POST" for one in self._writes())

    def _writes(self) -> list[Recorded]:
        found = self._proxy.writes()[self._before :]
        return [one for one in found if any(each.fits(one.method, one.path, one.body) for each in (STANDS_IN, DELETE))]


def looks_twice(scheduler: RunningOperator, pool: Json) -> None:
    """Waits until a scheduler knows the NodePool as it is here, and has looked after nodes twice since."""

    def looks() -> float:
        return scheduler.metric("dra_scheduler_disruption_seconds_count")

    scheduler.wait_seen(pool)
    before = looks()
    wait_until(lambda: looks() >= before + 2, "the scheduler to look after nodes twice")


def _is_deleting(value: Json) -> bool:
    return bool(value["metadata"].get("deletionTimestamp"))


@pytest.fixture
def stage(scene: Scene) -> Stage:
    """A scene in which nodes may go."""
    return Stage(scene)
