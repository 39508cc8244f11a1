"""Every role is killed at once at some write of a life from no node to none; the next ones go on where they stopped."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dra_cluster.faults import Decisive, Hold, Match
from dra_cluster.operators import Operators
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_cluster.whole import Whole
from dra_controlplane.waiting import wait_until

EXTENDED = "nvidia.com/gpu"
SETTINGS = {"disruption_interval_seconds": "0.3"}
AT_ONCE = {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
CREATE = Match(method="POST", path=r"/nodeclaims$")


def kill_at(proxy: Proxy, whole: Whole, number: int, course: Callable[[], None]) -> None:
    """Lets something take its course; all roles are killed at that write, or after fewer, and started again."""
    hold = Hold()
    rule = proxy.disturb(Decisive(), hold.before() if number % 2 else hold.after(), skip=number - 1)
    # What a thread has started ends with it.
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(course)
        wait_until(lambda: rule.hits or done.done(), f"write {number}")
        if rule.hits:
            hold.reached()
        whole.kill()
        hold.drop()
        whole.run()
        done.result()


def live(scene: Scene) -> None:
    """Pods come, run on two nodes that are made for them, and go."""
    scene.pod("half", scene.wants("gpu", 4))
    scene.pod("whole", scene.wants("gpu", 8))
    scene.pod("two", limits={EXTENDED: 2})
    half, whole, two = scene.runs("half", "whole", "two")
    assert (half == two, half != whole) == (True, True)
    assert len(scene.claims()) == 2
    scene.remove_pods()


def live_and_end(scene: Scene) -> None:
    """The same, and somebody deletes the nodes."""
    live(scene)
    scene.end_machines()


# About sixty writes are all that there are.
@pytest.mark.parametrize("number", [1, 8, 15, 22, 29, 36, 43, 50, 57])
def test_a_life_that_is_cut_is_gone_on_with(scene: Scene, proxy: Proxy, whole: Whole, number: int) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 8))
    scene.world.gpu_class(stem="extended", extended=EXTENDED)
    before = len(proxy.writes(CREATE))
    kill_at(proxy, whole, number, lambda: live_and_end(scene))

    assert len(made(proxy, before)) == 2


def test_a_replica_that_takes_over_goes_on_until_nodes_that_nobody_needs_are_gone(
    scene: Scene, proxy: Proxy, whole: Whole, operators: Operators
) -> None:
    whole.kill()
    settings = {**SETTINGS, "leader_elect": "true", "lease_seconds": "4"}
    first, second = (Whole(operators, settings, name) for name in ("first", "second"))
    scene.open_pool(disruption=AT_ONCE)
    scene.machine("gpus", scene.group("gpu", 8))
    scene.world.gpu_class(stem="extended", extended=EXTENDED)
    before = len(proxy.writes(CREATE))
    try:
        first.run()
        second.run()
        hold = Hold()
        proxy.disturb(CREATE, hold.after())
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(live, scene)
            hold.reached()
            first.kill()
            hold.drop()
            done.result()
        scene.until_nothing_remains()
    finally:
        first.kill()
        second.kill()

    assert len(made(proxy, before)) == 2


def made(proxy: Proxy, before: int) -> set[str]:
    """The names of the NodeClaims that were ever made, those known before left out."""
    return {json.loads(one.body)["metadata"]["name"] for one in proxy.writes(CREATE)[before:]}
