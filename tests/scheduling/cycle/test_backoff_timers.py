"""Instance types that have failed, and the moment from which on they may be tried again."""

from msgspec.structs import replace

from dra_operating.planning import World, names, pods_of, said
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.basics.times import time_of
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.state.assignments import Unschedulable

MINUTE = 60.0


def resting(world: World, *minutes: float, name: str = "large", failures: int = 1) -> InstanceType:
    """The type after its machines have failed: none is made for so long, and perhaps none for devices for so long."""
    value = instance_type(name)
    assert isinstance(value, InstanceType)
    ends = [time_of(world.now + MINUTE * one) for one in minutes]
    rest = {"registration_failures": failures, "registration_retry_after": ends[0], "retry_after": ends[-1]}
    return replace(value, status=replace(value.status, **rest))


def told_to_wait() -> World:
    """A pod whose only type rests for two minutes, and for three where devices are wanted."""
    world = World()
    world.add(node_pool(), resting(world, 2, 3), cpu_pod("p"))
    message = said(world.rest())
    assert "its instance types have failed to become nodes lately, tried again at 2026-01-01T00:02:00Z" in message
    return world


def waited(world: World, start: float) -> tuple[float, list[str]]:
    """How long it takes until something is made, and for whom."""
    for _ in range(100):
        if orders := world.decide().node_claims:
            return world.now - start, [name for order in orders for name in pods_of(order)]
        world.now += world.pause()
    return world.now - start, []


def test_a_pod_is_planned_for_at_the_moment_at_which_its_type_may_be_tried_again() -> None:
    start = World().now
    world = told_to_wait()

    seconds, pods = waited(world, start)

    assert pods == ["p"]
    assert 2 * MINUTE <= seconds <= 2 * MINUTE + 2


def test_a_type_that_is_gone_by_then_wakes_nobody() -> None:
    world = told_to_wait()
    world.remove(resting(world, 2, 3))
    world.rest()

    assert world.pause() > ARRIVAL_SECONDS
    world.now += 3 * MINUTE
    assert names(world.decide()) == []


def test_a_rest_that_somebody_ends_early_is_over_at_once() -> None:
    start = World().now
    world = told_to_wait()
    world.add(replace(resting(world, 1), status=replace(resting(world, 1).status, registration_retry_after="")))

    seconds, pods = waited(world, start)

    assert (pods, seconds < MINUTE) == (["p"], True)


def test_a_rest_that_is_made_longer_meanwhile_wakes_nobody_before_its_new_end() -> None:
    world = told_to_wait()
    start = world.now
    world.add(resting(world, 10, failures=2))
    assert set(names(world.rest(), Unschedulable)) == {"p"}

    seconds, pods = waited(world, start)

    assert pods == ["p"]
    assert 10 * MINUTE <= seconds <= 10 * MINUTE + 2
