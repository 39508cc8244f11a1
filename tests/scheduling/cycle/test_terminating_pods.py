"""Pods that neither a node nor a NodePool helps, and others that begin to leave a node."""

from collections.abc import Iterable

import msgspec

from dra_builders.values import (
    GPU_DRIVER,
    allocated,
    claim,
    container,
    devices,
    driver_class,
    node,
    on_node,
    pod,
    request,
    resource_slice,
    templated_pod,
)
from dra_operating.planning import World, said
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.terminating_pods import CHECK_SECONDS
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

END = "2026-01-01T00:10:00Z"
ROLLING = 40
TO_COME = "waits for the pods that are being deleted on node n1"


def leaving(value: Pod) -> Pod:
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(value.metadata, deletion_timestamp=END))


def running(name: str, cpu: str = "4", on: str = "n1") -> Pod:
    return pod(name, container(requests={"cpu": cpu}), node_name=on)


def small_pool() -> tuple[KubernetesObject, ...]:
    """What makes nodes that are too small for every pod here and have no devices."""
    return node_pool(), instance_type(cpu=2)


def with_device(name: str) -> tuple[KubernetesObject, ...]:
    """A pod with a claim of its own for one device."""
    value = templated_pod(name, claims={"gpu": f"{name}-gpu"})
    return value, claim(f"{name}-gpu", request(), owner=value)


def holding(name: str) -> tuple[Pod, KubernetesObject]:
    """A pod on n1 that has the only device there."""
    value = templated_pod(name, claims={"gpu": f"{name}-gpu"})
    bound = msgspec.structs.replace(value, spec=msgspec.structs.replace(value.spec, node_name="n1"))
    held = claim(f"{name}-gpu", request(), owner=value)
    return bound, allocated(held, DeviceID(GPU_DRIVER, "n1", "gpu-0"), selector=on_node("n1"), consumers=(bound,))


def told(world: World, values: Iterable[KubernetesObject]) -> str:
    world.add(*values)
    return said(world.rest())


def test_a_refused_pod_waits_for_room_that_begins_to_be_free() -> None:
    world = World()
    world.add(*small_pool(), node("n1", allocatable={"cpu": "4"}), running("old"))
    assert "no new node" in told(world, [cpu_pod("a", "4")])

    assert told(world, [leaving(running("old"))]) == TO_COME
    world.remove(running("old"))
    assert [one.node for one in world.rest().outcomes if isinstance(one, Assignment)] == ["n1"]


def test_a_refused_pod_waits_for_a_device_that_begins_to_be_free() -> None:
    world = World()
    old, held = holding("old")
    world.add(*small_pool(), driver_class(), node("n1"), resource_slice("s1", devices(1), node="n1"), old, held)
    assert "no new node" in told(world, with_device("a"))

    assert told(world, [leaving(old)]) == TO_COME


def test_who_leaves_a_node_that_could_not_help_wakes_nobody() -> None:
    world = World()
    slices = resource_slice("s1", devices(1), node="n1")
    old, held = holding("old")
    plain = running("plain", on="n2")
    world.add(*small_pool(), driver_class(), node("n1"), node("n2"), slices, old, held, plain)
    assert "no new node" in told(world, with_device("a"))
    before = world.reporter.decisions

    world.add(leaving(plain))

    assert (world.rest().outcomes, world.reporter.decisions) == ((), before)


def test_while_many_pods_leave_who_waits_is_looked_at_once_in_a_while() -> None:
    world = World()
    world.add(*small_pool(), node("n1", allocatable={"cpu": "4"}))
    world.add(*(running(f"old-{number}", "100m") for number in range(ROLLING)))
    assert "no new node" in told(world, [cpu_pod("a", "4")])
    before, began = world.reporter.decisions, world.now

    for number in range(ROLLING):
        world.add(leaving(running(f"old-{number}", "100m")))
        world.now += 0.5
        while not world.pause():
            world.decide()
    assert said(world.rest()) == TO_COME

    assert world.reporter.decisions - before <= (world.now - began) / CHECK_SECONDS + 1


def test_without_node_pools_a_pod_is_looked_at_when_others_have_left_and_not_when_they_begin_to() -> None:
    world = World()
    world.add(node("n1", allocatable={"cpu": "4"}), running("old"), cpu_pod("a", "4"))
    world.rest()
    before = world.reporter.decisions

    world.add(leaving(running("old")))
    assert (world.rest().outcomes, world.reporter.decisions) == ((), before)

    world.remove(running("old"))
    assert [one.node for one in world.rest().outcomes if isinstance(one, Assignment)] == ["n1"]
