import pytest

from dra_cluster.objects import from_template
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.world import World
from dra_controlplane.client import Json
from dra_controlplane.waiting import wait_until

pytestmark = pytest.mark.controlplane

NAMESPACE = "dra-scheduler-system"
ROLES = ("scheduler", "binder")


def pair(operators: Operators) -> tuple[RunningOperator, RunningOperator]:
    """Two replicas of both roles, the first of which leads."""
    first, second = (
        operators.add(name, roles=",".join(ROLES), account="dra-scheduler", leader_elect="true", lease_seconds="4")
        for name in ("first", "second")
    )
    first.run()
    wait_until(lambda: leads(first), "the first replica to lead")
    second.run()
    return first, second


def leads(operator: RunningOperator) -> bool:
    return all(operator.metric(f'dra_leading{{role="{role}"}}') == 1 for role in ROLES)


def lease(place: World, role: str) -> Json:
    found: Json = place.api.get("coordination.k8s.io/v1/leases", f"dra-{role}", namespace=NAMESPACE)["spec"]
    return found


def bind_one(place: World, name: str) -> str:
    place.pod(name, from_template("gpu", "gpus"))
    return place.bound(name)


@pytest.fixture
def ready(place: World) -> World:
    place.gpu_node("n1", 4)
    place.gpu_template(place.gpu_class())
    return place


def test_the_second_replica_watches_and_is_ready(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)

    assert bind_one(ready, "p")

    assert (leads(first), leads(second)) == (True, False)
    assert [lease(ready, role)["holderIdentity"] for role in ROLES] == ["first", "first"]


def test_a_replica_that_stops_hands_over_at_once(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)

    assert first.terminate()[0] == 0

    wait_until(lambda: leads(second), "the second replica to lead", seconds=3)
    assert bind_one(ready, "p")


def test_a_replica_that_is_killed_is_followed_when_its_lease_has_run_out(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)
    bind_one(ready, "before")

    first.kill()
    ready.pod("after", from_template("gpu", "gpus"))

    assert ready.bound("after", seconds=15)
    assert leads(second)


def test_a_replica_that_was_frozen_does_not_write_when_it_wakes(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)
    first.pause()
    wait_until(lambda: leads(second), "the second replica to lead", seconds=15)

    first.resume()
    assert bind_one(ready, "p")

    wait_until(lambda: not leads(first), "the first replica to know")
    assert leads(second)
