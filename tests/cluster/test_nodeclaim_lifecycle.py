from datetime import datetime, timedelta

import pytest

from dra_builders import manifests
from dra_cluster.faults import Action, Hold, Match, answer, answer_after_applying, reset, reset_after_applying
from dra_cluster.machines import NODE_CLAIMS, POOLS, TYPES, Machines
from dra_cluster.mirror import PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import NODES, World
from dra_controlplane.client import Json, path_of

STATUS = r"/nodeclaims/n-[^/]+/status"
NODE = r"/nodes/n-[^/]+$"
WRITES = {
    "register the node": Match(method="PATCH", path=NODE, body="karpenter.sh/registered"),
    "say that it is registered": Match(method="PATCH", path=STATUS, body='"nodeName":"n-'),
    "label the node": Match(method="PATCH", path=NODE, body="karpenter.sh/initialized"),
    "say that it is initialized": Match(method="PATCH", path=STATUS, body='"type":"Initialized","status":"True"'),
    "keep new pods away": Match(method="PATCH", path=NODE, body="karpenter.sh/disrupted"),
    "say that pods go": Match(method="PATCH", path=STATUS, body='"Draining"'),
    "evict": Match(method="POST", path=r"/pods/worker/eviction"),
    "say that it is drained": Match(method="PATCH", path=STATUS, body='"type":"Drained","status":"True"'),
    "let it go": Match(method="PATCH", path=r"/nodeclaims/n-[^/]+$", body='"finalizers"'),
}


def run_through(machines: Machines) -> str:
    """Begins a life, up to a node whose driver has published, and returns its name."""
    machines.instance_type()
    name = machines.up("n", machines.world.driver)
    machines.world.publish(name, manifests.numbered(2))
    return name


def put_pod(world: World, name: str, node: str, **metadata: Json) -> None:
    """Has a pod run on a node. Of one that does not run yet no budget would be asked."""
    pod = manifests.pod(name)
    pod["metadata"] |= metadata
    pod["spec"] |= {"nodeName": node, "schedulerName": "somebody"}
    world.create(pod)
    world.patch_status(PODS, name, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})


def test_a_node_is_registered_with_all_that_its_claim_says(machines: Machines) -> None:
    machines.instance_type()
    taint = {"key": "example.com/mine", "value": "x", "effect": "NoSchedule"}
    name = machines.claim("n", taints=[taint])
    machines.launch(name)
    machines.node(name, taints=[{"key": "example.com/other", "effect": "NoExecute"}])
    machines.until(name, "Ready", "True")
    node = machines.api.get(NODES, name)

    assert sorted(machines.taints(name)) == ["example.com/mine", "example.com/other"]
    assert node["metadata"]["labels"]["karpenter.sh/registered"] == "true"
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == machines.type
    assert [one["name"] for one in node["metadata"]["ownerReferences"]] == [name]
    assert machines.get(name)["status"]["nodeName"] == name


def test_a_node_opens_step_by_step_in_the_order_of_the_checks(machines: Machines) -> None:
    world = machines.world
    machines.instance_type()
    startup = {"key": "example.com/starting", "effect": "NoSchedule"}
    requests = {"requests": {"rdma/hca": "4"}}
    name = machines.claim("n", world.driver, startupTaints=[startup], resources=requests)
    machines.launch(name)
    machines.until(name, "Registered", "Unknown", "NodeNotFound")
    machines.node(name)
    world.patch_status(NODES, name, {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]})
    machines.until(name, "Initialized", "Unknown", "NodeNotReady")
    world.patch_status(NODES, name, {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]})
    machines.until(name, "Initialized", "Unknown", "StartupTaintsExist", "example.com/starting:NoSchedule")
    machines.api.patch(path_of(NODES, name), {"spec": {"taints": None}})
    machines.until(name, "Initialized", "Unknown", "ResourceNotRegistered", "rdma/hca")
    world.patch_status(NODES, name, {"allocatable": {"rdma/hca": "8"}})
    machines.until(name, "Initialized", "Unknown", "DRADriverPoolsNotPublished", world.driver)
    world.publish(name, manifests.numbered(2))

    machines.until(name, "Ready", "True")
    assert machines.is_open(name)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_a_life_goes_on_where_a_killed_process_left_it(
    machines: Machines, proxy: Proxy, nodeclaims: RunningOperator, write: str, moment: str
) -> None:
    hold = Hold()
    proxy.disturb(WRITES[write], hold.before() if moment == "before" else hold.after())
    name = run_through(machines)
    is_of_the_end = list(WRITES).index(write) > list(WRITES).index("say that it is initialized")
    if is_of_the_end:
        machines.until(name, "Ready", "True")
        put_pod(machines.world, "worker", name)
        machines.api.delete(NODE_CLAIMS, name)
        if write == "let it go":
            machines.until(name, "Drained", "True")
            machines.world.remove(NODES, name)
    hold.reached()
    nodeclaims.kill()
    hold.drop()
    nodeclaims.run()

    if not is_of_the_end:
        machines.until(name, "Ready", "True")
        assert machines.is_open(name)
        put_pod(machines.world, "worker", name)
        machines.api.delete(NODE_CLAIMS, name)
    if write != "let it go":
        machines.until(name, "Drained", "True")
        machines.world.remove(NODES, name)
    machines.gone(name)
    assert machines.world.mirror.until(lambda: not machines.world.find_pod("worker"), "the pod to be gone")


@pytest.mark.parametrize(
    "fault",
    [answer(409), answer(500), answer(429, retry_after=1), answer_after_applying(500), reset(), reset_after_applying()],
    ids=["conflict", "error", "throttled", "applied with an error", "broken", "applied and broken"],
)
def test_a_write_that_fails_is_made_good(machines: Machines, proxy: Proxy, fault: Action) -> None:
    for match in WRITES.values():
        proxy.disturb(match, fault)
    name = run_through(machines)
    machines.until(name, "Ready", "True")
    put_pod(machines.world, "worker", name)
    machines.api.delete(NODE_CLAIMS, name)
    machines.until(name, "Drained", "True")
    machines.world.remove(NODES, name)

    machines.gone(name)
    assert machines.world.mirror.until(lambda: not machines.world.find_pod("worker"), "the pod to be gone")


def test_a_budget_holds_a_node_until_its_pod_may_go(machines: Machines) -> None:
    world = machines.world
    name = run_through(machines)
    machines.until(name, "Ready", "True")
    put_pod(world, "worker", name)
    world.api.patch(
        path_of("v1/pods", "worker", namespace=world.namespace), {"metadata": {"labels": {"app": "worker"}}}
    )
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "worker"}}}
    meta = {"name": "worker"}
    world.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": budget})
    world.patch_status("policy/v1/poddisruptionbudgets", "worker", budget_status(allowed=0))
    machines.api.delete(NODE_CLAIMS, name)
    world.told(name, "EvictionBlocked", f"{world.namespace}/worker")
    assert machines.condition(name, "Drained")["status"] == "Unknown"
    assert "karpenter.sh/disrupted" in machines.taints(name)
    world.patch_status("policy/v1/poddisruptionbudgets", "worker", budget_status(allowed=1))

    machines.until(name, "Drained", "True")
    world.remove(NODES, name)
    machines.gone(name)


def budget_status(*, allowed: int) -> Json:
    counts = {"currentHealthy": 1, "desiredHealthy": 1 - allowed, "expectedPods": 1}
    return {"disruptionsAllowed": allowed, "observedGeneration": 1, **counts}


def test_a_grace_period_ends_what_a_budget_protects(machines: Machines) -> None:
    world = machines.world
    machines.instance_type()
    name = machines.up("n", terminationGracePeriod="3s")
    machines.until(name, "Ready", "True")
    put_pod(world, "worker", name, annotations={"karpenter.sh/do-not-disrupt": "true"})
    machines.api.delete(NODE_CLAIMS, name)
    begun = machines.get(name)["metadata"]["deletionTimestamp"]
    drained = machines.until(name, "Drained", "True")

    assert parsed(drained["lastTransitionTime"]) - parsed(begun) >= timedelta(seconds=3)
    assert world.mirror.until(lambda: not world.find_pod("worker"), "the pod to be gone")


def parsed(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def test_a_node_that_goes_by_itself_takes_its_claim_along(machines: Machines) -> None:
    name = run_through(machines)
    machines.until(name, "Ready", "True")
    machines.world.remove(NODES, name)

    machines.gone(name)
    machines.world.told(name, "NodeGone", name)


def test_a_second_claim_of_a_machine_leaves_the_node_and_its_pods_alone(machines: Machines) -> None:
    name = run_through(machines)
    machines.until(name, "Ready", "True")
    put_pod(machines.world, "worker", name)
    twin = machines.claim("twin")
    machines.launch(twin, machine=name)
    machines.until(twin, "Registered", "Unknown", "NodeNotFound")
    machines.api.delete(NODE_CLAIMS, twin)

    machines.gone(twin)
    assert machines.taints(name) == []
    assert "deletionTimestamp" not in machines.world.find_pod("worker")["metadata"]


def test_a_bad_pool_says_what_is_wrong_and_harms_no_other(machines: Machines) -> None:
    machines.instance_type()
    gpu = {"key": "example.com/kind", "operator": "In", "values": ["a"]}
    cpu = {"key": "example.com/kind", "operator": "In", "values": ["b"]}
    machines.node_pool(gpu, cpu)
    text = "spec.template.spec.requirements[1]"

    machines.until(machines.pool, "ValidationSucceeded", "False", "", text, resource=POOLS)
    machines.until(machines.pool, "Ready", "False", resource=POOLS)
    machines.until(machines.up("n"), "Ready", "True")


def test_amounts_that_nobody_can_read_are_named_where_people_look_until_they_are_mended(machines: Machines) -> None:
    machines.instance_type()
    machines.node_pool()
    machines.until(machines.type, "Valid", "True", resource=TYPES)
    machines.until(machines.pool, "Ready", "True", resource=POOLS)
    change(machines, price="1e400", limit="1e400")
    machines.until(machines.type, "Valid", "False", "", "spec.offerings[0].price", resource=TYPES)
    machines.until(machines.pool, "ValidationSucceeded", "False", "", "spec.limits", resource=POOLS)
    machines.until(machines.pool, "Ready", "False", resource=POOLS)
    change(machines, price="1", limit="8")

    machines.until(machines.type, "Valid", "True", resource=TYPES)
    machines.until(machines.pool, "Ready", "True", resource=POOLS)


def change(machines: Machines, *, price: str, limit: str) -> None:
    """Lets the type have a price, and the pool a limit."""
    machines.api.patch(path_of(TYPES, machines.type), {"spec": {"offerings": [{"zone": "a", "price": price}]}})
    machines.api.patch(path_of(POOLS, machines.pool), {"spec": {"limits": {"cpu": limit}}})


def test_pools_and_types_show_what_they_have(machines: Machines) -> None:
    machines.instance_type(count=3)
    machines.node_pool()
    machines.until(machines.up("n"), "Ready", "True")

    def nodes() -> bool:
        status = machines.api.get(POOLS, machines.pool).get("status") or {}
        return bool(status.get("nodes") == 1 and status["resources"]["nodes"] == "1")

    machines.world.mirror.until(nodes, "the pool to count its node")
    machines.until(machines.pool, "Ready", "True", resource=POOLS)
    devices = f"3 {machines.world.driver}"
    machines.world.mirror.until(
        lambda: (machines.api.get(TYPES, machines.type).get("status") or {}).get("devices") == devices, devices
    )
