import pytest

from dra_builders import manifests
from dra_cluster.faults import Hold, Match
from dra_cluster.kwok import Kwok
from dra_cluster.machines import NODE_CLAIMS, TYPE_LABEL, Machines
from dra_cluster.mirror import PODS
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.planning import Planning, drivers_of, nominated, types_of
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.client import Json, path_of

CREATE = Match(method="POST", path=r"/nodeclaims$")
EXTEND = Match(method="PATCH", path=r"/nodeclaims/[^/]+$", body="nominated-pods")
WAITS = Match(method="PATCH", path=r"/pods/a/status$", body="waits for NodeClaim")


def shared(planning: Planning, name: str, count: int = 1) -> Json:
    """A claim that several pods use, as an entry of a pod."""
    request = manifests.request("gpu", planning.driver("gpu"), count=count)
    planning.world.create(manifests.claim(name, request))
    return manifests.from_claim("gpu", name)


def pod_with(planning: Planning, name: str, *claims: Json, cpu: int = 1) -> None:
    planning.world.pod(name, *claims, limits={"cpu": cpu})


def test_a_pod_gets_one_node_claim_for_the_only_type_that_serves_it(planning: Planning) -> None:
    world = planning.world
    planning.instance_type("plain")
    planning.instance_type("gpus", gpu=8)
    both = planning.instance_type("both", gpu=8, nic=4, price=9)
    gpu, nic = planning.driver("gpu"), planning.driver("nic")
    wanted = (manifests.request("gpu", gpu, count=4), manifests.request("nic", nic, count=1))
    world.create(manifests.template("devices", *wanted))
    world.pod("train", manifests.from_template("devices", "devices"))

    name = planning.waits("train")

    (claim,) = planning.claims()
    assert (claim["metadata"]["name"], types_of(claim), drivers_of(claim)) == (name, [both], f"{gpu},{nic}")
    assert [one["kind"] for one in claim["metadata"]["ownerReferences"]] == ["NodePool"]
    assert claim["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    world.told("train", "Nominated", f"waits for NodeClaim {name} (NodePool {planning.pool}, {both})")


def test_a_pod_that_no_node_could_ever_serve_makes_none(planning: Planning) -> None:
    planning.instance_type("gpus", gpu=40)
    pod_with(planning, "ok", shared(planning, "thirty-two", 32))
    pod_with(planning, "refused", shared(planning, "thirty-three", 33))
    planning.waits("ok")

    message = planning.world.pending("refused", "at most 32")

    assert "no new node" not in message
    assert [nominated(claim) for claim in planning.claims()] == [["ok"]]


def test_a_pod_that_no_type_serves_says_what_nodes_and_pools_say(planning: Planning) -> None:
    planning.instance_type("gpus", gpu=8)
    pod_with(planning, "greedy", shared(planning, "nine", 9))

    planning.world.pending("greedy", "nodes fit", "; no new node: ", planning.pool, "needs 9 matching")
    assert planning.claims() == []


def test_pods_of_one_claim_wait_for_one_node_and_who_does_not_fit_there_for_none(planning: Planning) -> None:
    planning.instance_type("gpus", cpu=16, gpu=8)
    entry = shared(planning, "common")
    for name in ("a", "b", "c"):
        pod_with(planning, name, entry, cpu=7)
    planning.world.mirror.until(lambda: sum(map(len, map(nominated, planning.claims()))) == 2, "two nominated pods")

    (claim,) = planning.claims()
    (left,) = {"a", "b", "c"} - set(nominated(claim))
    planning.world.pending(left, "no new node", "bound to a different in-flight NodeClaim")
    assert len(planning.claims()) == 1


def test_a_later_pod_joins_the_node_that_is_on_its_way(planning: Planning) -> None:
    planning.instance_type("both", gpu=8, nic=4)
    pod_with(planning, "a", shared(planning, "first"))
    name = planning.waits("a")
    nic = planning.driver("nic")
    planning.world.create(manifests.claim("second", manifests.request("nic", nic)))
    pod_with(planning, "b", manifests.from_claim("nic", "second"))

    claim = planning.claim_of("a", "b")

    assert planning.waits("b") == name == claim["metadata"]["name"]
    assert drivers_of(claim) == f"{planning.driver('gpu')},{nic}"


def test_of_two_node_claims_that_the_same_pods_wait_for_the_later_one_goes(planning: Planning) -> None:
    planning.instance_type("plain")
    pod_with(planning, "a")
    name = planning.waits("a")
    claim = planning.claim_of("a")
    meta = {part: claim["metadata"][part] for part in ("labels", "annotations")}

    planning.api.create({**claim, "metadata": {"name": f"{name}-double", **meta}})

    planning.world.mirror.until(
        lambda: [one["metadata"]["name"] for one in planning.claims()] == [name], "one NodeClaim to be left"
    )
    assert planning.waits("a") == name


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", ["create", "tell"])
def test_a_scheduler_that_is_killed_while_it_orders_orders_once(
    planning: Planning, proxy: Proxy, scheduler: RunningOperator, write: str, moment: str
) -> None:
    hold = Hold()
    proxy.disturb(CREATE if write == "create" else WAITS, hold.before() if moment == "before" else hold.after())
    planning.instance_type("plain")
    pod_with(planning, "a")
    kill_and_restart(hold, scheduler)

    name = planning.waits("a")

    assert [claim["metadata"]["name"] for claim in planning.claims()] == [name]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_scheduler_that_is_killed_while_it_adds_a_pod_adds_it_once(
    planning: Planning, proxy: Proxy, scheduler: RunningOperator, moment: str
) -> None:
    planning.instance_type("plain")
    pod_with(planning, "a")
    name = planning.waits("a")
    hold = Hold()
    proxy.disturb(EXTEND, hold.before() if moment == "before" else hold.after())
    pod_with(planning, "b")
    kill_and_restart(hold, scheduler)

    assert planning.waits("b") == name
    assert [nominated(claim) for claim in planning.claims()] == [["a", "b"]]


def test_what_was_ordered_is_known_though_the_watch_is_late(
    planning: Planning, proxy: Proxy, scheduler: RunningOperator
) -> None:
    scheduler.kill()
    hold = Hold()
    proxy.disturb(Match(method="GET", path=r"/nodeclaims\?.*watch="), hold.before())
    scheduler.start()
    hold.reached()
    planning.instance_type("plain")
    for name in ("a", "b", "c"):
        pod_with(planning, name)
        planning.waits(name)

    assert [nominated(claim) for claim in planning.claims()] == [["a", "b", "c"]]
    hold.drop()


def kill_and_restart(hold: Hold, scheduler: RunningOperator) -> None:
    hold.reached()
    scheduler.kill()
    hold.drop()
    scheduler.run()


def test_a_node_claim_that_fails_is_followed_by_another(planning: Planning) -> None:
    planning.instance_type("plain")
    pod_with(planning, "a")
    first = planning.claim_of("a")["metadata"]
    condition = {"type": "Launched", "status": "False", "reason": "InsufficientCapacity", "message": "none left"}
    failed = {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    planning.api.patch(path_of(NODE_CLAIMS, first["name"], subresource="status"), {"status": failed})

    def others() -> list[Json]:
        # The failed one may be gone already, and then its name is free.
        return [claim for claim in planning.claims() if claim["metadata"]["uid"] != first["uid"]]

    (other,) = planning.world.mirror.until(others, "another NodeClaim")
    assert nominated(other) == ["a"]
    planning.world.mirror.until(lambda: planning.waits("a") == other["metadata"]["name"], "the pod to say so")


def test_a_node_claim_stays_when_its_pod_goes(planning: Planning) -> None:
    planning.instance_type("plain")
    pod_with(planning, "a")
    name = planning.waits("a")
    planning.world.remove(PODS, "a")
    pod_with(planning, "b", cpu=15)

    assert planning.waits("b") == name
    assert len(planning.claims()) == 1


def test_a_pod_is_bound_to_its_node_once_that_is_initialized(planning: Planning) -> None:
    kind = planning.instance_type("plain")
    pod_with(planning, "a")
    claim = planning.waits("a")
    labels = {"karpenter.sh/nodepool": planning.pool, TYPE_LABEL: kind}
    node = planning.world.node("n", labels=labels)
    planning.api.patch(path_of(NODE_CLAIMS, claim, subresource="status"), {"status": {"nodeName": node}})
    planning.world.pending("a", f"waits for NodeClaim {claim}")

    planning.api.patch(path_of("v1/nodes", node), {"metadata": {"labels": {"karpenter.sh/initialized": "true"}}})

    assert planning.world.bound("a") == node
    assert len(planning.claims()) == 1


def test_a_pod_runs_on_the_node_that_was_made_for_it(
    planning: Planning, machines: Machines, kwok: Kwok, nodeclaims: RunningOperator
) -> None:
    world = planning.world
    planning.instance_type("gpus", gpu=8)
    both = planning.instance_type("both", gpu=8, nic=4, price=9)
    wanted = [manifests.request(kind, planning.driver(kind), count=count) for kind, count in (("gpu", 4), ("nic", 1))]
    world.create(manifests.template("devices", *wanted))
    world.pod("train", manifests.from_template("devices", "devices"))

    node = world.bound("train", seconds=60)

    (claim,) = planning.claims()
    assert (claim["status"]["nodeName"], claim["metadata"]["labels"][TYPE_LABEL]) == (node, both)
    published = {device["name"] for one in kwok.slices(node) for device in one["spec"]["devices"]}
    given = world.claim_of("train", "devices")["status"]["allocation"]["devices"]["results"]
    assert len({one["device"] for one in given} & published) == 5
    planning.empty()
    machines.gone(claim["metadata"]["name"])


def test_a_trial_tells_what_would_be_made_and_makes_nothing(
    ground: World, operators: Operators, scheduler: RunningOperator
) -> None:
    scheduler.kill()
    trial = operators.add("trial", roles="scheduler", account="dra-scheduler", nodeclaims="plan")
    planning = Planning(ground)
    planning.node_pool()
    kind = planning.instance_type("plain")
    try:
        trial.run()
        pod_with(planning, "a")

        ground.pending("a", f"a NodeClaim would serve it (NodePool {planning.pool}, {kind})")
        assert planning.claims() == []
    finally:
        planning.leave()
        trial.kill()


def test_a_replica_that_takes_over_orders_nothing_twice(
    ground: World, proxy: Proxy, operators: Operators, scheduler: RunningOperator
) -> None:
    scheduler.kill()
    first, second = (
        operators.add(name, roles="scheduler", account="dra-scheduler", leader_elect="true", lease_seconds="4")
        for name in ("first", "second")
    )
    planning = Planning(ground)
    planning.node_pool()
    planning.instance_type("plain")
    try:
        first.run()
        ground.mirror.until(lambda: first.metric('dra_scheduler_leading{role="scheduler"}') == 1, "the first to lead")
        second.run()
        hold = Hold()
        proxy.disturb(CREATE, hold.after())
        pod_with(planning, "a")
        hold.reached()
        first.kill()
        hold.drop()
        pod_with(planning, "big", cpu=12)

        assert planning.waits("a") == planning.waits("big")
        assert len(planning.claims()) == 1
    finally:
        planning.leave()
        for operator in (first, second):
            operator.kill()
