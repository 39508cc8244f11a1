import pytest

from dra_builders.manifests import from_template
from dra_cluster.binds import DECISION, assert_bound_once, begin_bind
from dra_cluster.faults import Hold, Match
from dra_cluster.mirror import BIND_REQUESTS, PODS
from dra_cluster.operators import RunningOperator, run_all
from dra_cluster.proxy import Proxy
from dra_cluster.world import World, devices


def test_a_decision_outlives_the_scheduler_that_made_it(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    node = world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    binder.pause()
    world.pod("first", from_template("gpu", "gpus"))
    decided = world.mirror.until(lambda: world.request("first"), "the decision")
    scheduler.kill()
    world.pod("second", from_template("gpu", "gpus"))
    scheduler.run()
    world.pending("second", "gpu")
    binder.resume()

    assert world.bound("first") == node
    assert world.ended("first")["metadata"]["uid"] == decided["metadata"]["uid"]
    assert world.request("second") == {}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_scheduler_that_is_killed_while_it_writes_decides_once(
    world: World, proxy: Proxy, scheduler: RunningOperator, moment: str
) -> None:
    hold = Hold()
    proxy.disturb(DECISION, hold.before() if moment == "before" else hold.after())
    begin_bind(world)
    hold.reached()
    scheduler.kill()
    hold.drop()
    scheduler.run()

    assert_bound_once(world)
    uids = {request["metadata"]["uid"] for _, request in world.mirror.history(BIND_REQUESTS, world.namespace)}
    assert len(uids) == 1


def test_a_crowd_is_bound_over_a_crash_of_everything(
    world: World, proxy: Proxy, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    for number in range(4):
        world.gpu_node(f"n{number}", 4)
    world.gpu_template(world.gpu_class(extended=world.resource))
    names = [f"p{number}" for number in range(20)]
    hold = Hold()
    proxy.disturb(Match(path=f"{world.namespace}/pods/[^/]*/binding"), hold.after(), skip=5)
    for number, name in enumerate(names):
        claims = () if number % 2 else (from_template("gpu", "gpus"),)
        world.pod(name, *claims, limits={world.resource: number % 2})
    hold.reached()
    for operator in (scheduler, binder):
        operator.kill()
    hold.drop()
    run_all(scheduler, binder)

    def bound() -> list[str]:
        return [name for name in names if world.node_of(name)]

    world.mirror.until(lambda: len(bound()) == 16, "sixteen pods to be bound")
    world.mirror.catch_up(world.namespace)
    held = [devices(world.claim_of(name) or world.special_claim(name)) for name in bound()]
    assert [len(names) for names in held] == [1] * 16


def test_a_start_into_a_cluster_at_rest_writes_nothing(
    world: World, proxy: Proxy, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    world.gpu_node("n1", 2)
    world.gpu_template(world.gpu_class(extended=world.resource))
    world.pod("bound", from_template("gpu", "gpus"), limits={world.resource: 1})
    world.ended("bound")
    world.pod("waiting", from_template("gpu", "gpus"))
    world.pending("waiting", "gpu")
    for operator in (scheduler, binder):
        operator.kill()
    before = len(proxy.writes(Match(path=world.namespace)))
    run_all(scheduler, binder)
    world.gpu_node("n2", 1)
    world.bound("waiting")

    written = {one.path.split("?")[0] for one in proxy.writes(Match(path=world.namespace))[before:]}
    assert [path for path in written if "/bound" in path] == []


def test_devices_of_a_pod_that_went_while_nobody_was_there_are_free(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    node = world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    world.pod("first", from_template("gpu", "gpus"))
    world.ended("first")
    for operator in (scheduler, binder):
        operator.kill()
    world.remove(PODS, "first")
    world.pod("second", from_template("gpu", "gpus"))
    run_all(scheduler, binder)

    assert world.bound("second") == node
