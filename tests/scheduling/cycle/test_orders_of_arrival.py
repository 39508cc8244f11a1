"""Each kind has a watch of its own: whatever is seen last, nobody is left waiting for something that is there."""

import itertools
from collections.abc import Sequence

import pytest

from dra_builders.values import claim, container, devices, driver_class, node, pod, request, resource_slice
from dra_operating.core import pause
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.events import LeadershipChanged, ObjectChanged
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

SOON = 15.0
"""Seconds; what is only found by looking at everything anew takes minutes."""
RESOURCE = "example.com/gpu"
WITH_CLAIM = (driver_class(), claim("c", request()), pod("p", claims={"gpu": "c"}))
EXTENDED = (driver_class(extended_resource_name=RESOURCE), pod("p", container(limits={RESOURCE: "1"})))
NODE = (node("n"), resource_slice("s", devices(1), node="n"))
SUPPLY = (node_pool(), instance_type(gpus=1))
WORLDS: dict[str, tuple[KubernetesObject, ...]] = {
    "a node": (node("n"), cpu_pod("p")),
    "a node to come": (*SUPPLY, cpu_pod("p")),
    "a device": (*NODE, *WITH_CLAIM),
    "a device to come": (*SUPPLY, *WITH_CLAIM),
    "a device for a resource": (*NODE, *EXTENDED),
    "a device to come for a resource": (*SUPPLY, *EXTENDED),
    "a device to come where a node has none": (node("n"), *SUPPLY, *WITH_CLAIM),
}


def is_served(objects: Sequence[KubernetesObject]) -> bool:
    """Whether the one pod gets a node, now or to come, when all that can be is decided after each object."""
    now = 1_767_225_600.0
    core = Scheduler(SchedulerSettings(cycle_pods=10, plan=PlanSettings()))
    core.observe(LeadershipChanged(is_leading=True), now)
    for value in objects:
        core.observe(ObjectChanged(value), now)
        while (seconds := pause(core, now)) <= SOON:
            now += seconds
            plans = core.decide(now)
            if plans.node_claims or any(isinstance(one, Assignment) for one in plans.outcomes):
                return True
    return False


@pytest.mark.parametrize("world", WORLDS)
def test_a_pod_is_served_in_whatever_order_objects_are_seen(world: str) -> None:
    left = [order for order in itertools.permutations(WORLDS[world]) if not is_served(order)]

    assert [[type(value).__name__ for value in order] for order in left] == []
