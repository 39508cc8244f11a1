from contextlib import suppress

import pytest

from dra_builders.manifests import from_template
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json
from dra_controlplane.waiting import wait_until

pytestmark = pytest.mark.controlplane

NAMESPACE = "dra-scheduler-system"
LEASES = "coordination.k8s.io/v1/leases"
ROLES = ("scheduler", "binder")


def pair(operators: Operators, *, lease_seconds: int = 4) -> tuple[RunningOperator, RunningOperator]:
    """Two replicas of both roles, the first of which leads."""
    settings = {"leader_elect": "true", "lease_seconds": str(lease_seconds)}
    first, second = (
        operators.add(name, roles=",".join(ROLES), account="dra-scheduler", **settings) for name in ("first", "second")
    )
    first.run()
    wait_until(lambda: leads(first), "the first replica to lead")
    second.run()
    return first, second


def leads(operator: RunningOperator) -> bool:
    return all(operator.metric(f'dra_scheduler_leading{{role="{role}"}}') == 1 for role in ROLES)


def lease(place: World, role: str) -> Json:
    found: Json = place.api.get(LEASES, f"dra-{role}", namespace=NAMESPACE)["spec"]
    return found


def bind_one(place: World, name: str) -> str:
    place.pod(name, from_template("gpu", "gpus"))
    return place.bound(name)


@pytest.fixture
def ready(place: World) -> World:
    """A node with devices, and no Lease of replicas that are gone."""
    for role in ROLES:
        with suppress(ApiError):
            place.api.delete(LEASES, f"dra-{role}", namespace=NAMESPACE)
    place.gpu_node("n1", 4)
    place.gpu_template(place.gpu_class())
    return place


def test_the_second_replica_watches_and_is_ready(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas, lease_seconds=60)

    assert bind_one(ready, "p")

    assert (leads(first), leads(second)) == (True, False)
    assert [lease(ready, role)["holderIdentity"] for role in ROLES] == ["first", "first"]


def test_a_replica_that_stops_hands_over_at_once(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas, lease_seconds=15)

    assert first.terminate()[0] == 0

    assert "first" not in [lease(ready, role)["holderIdentity"] for role in ROLES]
    wait_until(lambda: leads(second), "the second replica to lead")
    assert bind_one(ready, "p")


def test_a_replica_that_is_killed_is_followed_when_its_lease_has_run_out(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)
    bind_one(ready, "before")

    first.kill()
    ready.pod("after", from_template("gpu", "gpus"))

    assert ready.bound("after")
    wait_until(lambda: leads(second), "the second replica to lead")


def test_a_replica_that_was_frozen_does_not_write_when_it_wakes(replicas: Operators, ready: World) -> None:
    first, second = pair(replicas)
    first.pause()
    wait_until(lambda: leads(second), "the second replica to lead")

    first.resume()
    assert bind_one(ready, "p")

    wait_until(lambda: not leads(first), "the first replica to know")
    wait_until(lambda: leads(second), "the second replica to lead on")
