"""Many nodes at once: as many as are needed, and as many writes as there are pods and nodes."""

from collections import Counter

from dra_builders import manifests
from dra_builders.manifests import from_template
from dra_cluster.faults import Decisive
from dra_cluster.planning import nominated
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_cluster.witness import leftovers


def test_sixteen_pods_that_need_a_node_each_get_sixteen(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("rack", scene.group("gpu", 4), scene.group("nic", 1, "channel"))
    scene.world.create(manifests.template("tray", scene.wants("gpu", 4), scene.wants("nic")))
    names = [f"p{number}" for number in range(16)]
    for name in names:
        scene.world.pod(name, from_template("devices", "tray"))

    assert len(set(scene.runs(*names))) == len(scene.claims()) == 16


def test_sixteen_pods_that_need_half_a_node_get_eight(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("big", scene.group("gpu", 8))
    scene.world.create(manifests.template("half", scene.wants("gpu", 4)))
    names = [f"p{number}" for number in range(16)]
    for name in names:
        scene.world.pod(name, from_template("devices", "half"))

    assert sorted(Counter(scene.runs(*names)).values()) == [2] * 8
    assert [len(nominated(claim)) for claim in scene.claims()] == [2] * 8


NODES, EACH = 40, 2
# Of a pod: what it waits for, that it runs, its BindRequest and that one's end, its claim twice, its binding.
OF_POD = 7
# Of a node: its NodeClaim, what it is to be, three states of it, the node, two patches of that, its devices; its pool.
OF_NODE = 10
OTHERS = 5


def decided(whole: Whole) -> Counter[str]:
    """How many decisions about pods the scheduler has made since it started, by kind."""
    kinds = ("assignment", "nominated", "unschedulable", "waiting", "outofbudget")
    read = whole["scheduler"].metric
    return Counter({kind: int(read(f'dra_scheduler_outcomes_total{{outcome="{kind}"}}')) for kind in kinds})


def test_many_nodes_at_once_take_one_plan_and_so_many_writes_for_each_pod_and_node(
    scene: Scene, proxy: Proxy, whole: Whole
) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", EACH))
    scene.world.create(manifests.template("one", scene.wants("gpu")))
    names = [f"p{number}" for number in range(NODES * EACH)]
    whole["scheduler"].kill()
    for name in names:
        scene.world.pod(name, from_template("devices", "one"))
    scene.world.mirror.until(lambda: all(scene.world.claim_of(name, "devices") for name in names), "claims of all pods")
    before = len(proxy.writes(Decisive()))
    whole.run()

    assert len(set(scene.runs(*names, seconds=120))) == NODES
    scene.world.mirror.until(lambda: not leftovers(scene.world.mirror, scene.world.namespace), "the last binds to end")
    assert len(proxy.writes(Decisive())) - before <= OF_POD * len(names) + OF_NODE * NODES + OTHERS
    assert decided(whole) == {"assignment": 80, "nominated": 80, "unschedulable": 80, "waiting": 0, "outofbudget": 0}
    assert whole["scheduler"].metric("dra_scheduler_plan_seconds_count") == 1
