"""A call of `decide` comes back after its steps, and the next one goes on."""

import pytest
from msgspec.structs import replace

from dra_builders.values import node
from dra_operating.planning import World, pods_of
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.decisions import NodeClaimOrder
from dra_scheduling.cycle.events import LeadershipChanged
from dra_scheduling.cycle.scheduler import LEAST_STEPS, Scheduler
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.pods import Pod

PODS = 6


def world_of(*objects: object) -> World:
    world = World()
    world.add(*objects, *(cpu_pod(f"p{number}") for number in range(PODS)))  # type: ignore[arg-type]
    return world


def in_steps(scheduler: Scheduler, now: float, steps: int) -> list[tuple[str, ...]]:
    """The pods that get a node, call by call, until there is nothing to do at this moment."""
    calls = []
    while (when := scheduler.next_time()) is not None and when <= now:
        made = scheduler.decide(now, steps)
        calls.append(tuple(f"{one.pod.metadata.name} {one.node}" for one in made.assignments))
    return calls


@pytest.mark.parametrize(("steps", "calls"), [(1, PODS), (2 * LEAST_STEPS, PODS // 2), (10**9, 1)])
def test_pods_are_decided_in_as_many_calls_as_the_steps_demand_and_alike(steps: int, calls: int) -> None:
    world, whole = world_of(node("n1"), node("n2")), world_of(node("n1"), node("n2"))

    found = in_steps(world.scheduler, world.now, steps)

    assert len(found) == calls
    assert [tuple(one for call in found for one in call)] == in_steps(whole.scheduler, whole.now, 10**9)


def test_a_pod_that_comes_between_two_calls_is_decided_in_its_turn() -> None:
    world = world_of(node("n1"))
    world.scheduler.decide(world.now, 1)
    world.add(urgent(cpu_pod("urgent")))

    (first, *_) = in_steps(world.scheduler, world.now, 1)

    assert first == ("urgent n1",)


def test_a_pod_that_goes_between_two_calls_is_not_decided() -> None:
    world = world_of(node("n1"))
    world.scheduler.decide(world.now, 1)
    world.remove(cpu_pod("p1"))

    names = {one.split()[0] for call in in_steps(world.scheduler, world.now, 1) for one in call}

    assert names == {"p2", "p3", "p4", "p5"}


def planning() -> World:
    """A world in the middle of a plan: one pod of it has its place."""
    world = world_of(node_pool(), instance_type(cpu=2))
    world.decide()
    world.now += 1.0
    while not world.scheduler.is_busy:
        assert world.scheduler.decide(world.now, 1).is_empty
    return world


def rest_of_plan(world: World) -> list[list[str]]:
    orders = list[NodeClaimOrder]()
    while world.scheduler.is_busy:
        orders += world.scheduler.decide(world.now, 1).node_claims
    return [pods_of(order) for order in orders]


def test_a_plan_in_many_calls_is_the_plan_of_one() -> None:
    world = world_of(node_pool(), instance_type(cpu=2))

    assert rest_of_plan(planning()) == [pods_of(order) for order in world.rest().node_claims]


def test_what_happens_during_a_plan_is_taken_in_once_it_is_made() -> None:
    world = planning()
    world.remove(cpu_pod("p5"))
    assert world.cluster.pod(cpu_pod("p5").key) is not None

    rest_of_plan(world)

    assert world.cluster.pod(cpu_pod("p5").key) is None


def test_a_replica_that_loses_its_lease_during_a_plan_decides_nothing_after_it() -> None:
    world = planning()
    world.scheduler.observe(LeadershipChanged(is_leading=False), world.now)

    claims = rest_of_plan(world)

    assert len(claims) == PODS // 2
    assert world.scheduler.next_time() is None


def test_a_plan_counts_in_the_inventory_when_it_is_made_and_not_before() -> None:
    world = planning()
    assert world.cluster.inventory.claims == {}

    rest_of_plan(world)

    named = [nominees_of(claim) for claim in world.cluster.inventory.claims.values()]
    assert sum(map(len, named)) == PODS


def urgent(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, priority=1_000))
