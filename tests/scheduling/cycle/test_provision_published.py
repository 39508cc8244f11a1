"""Refused pods, and published devices that nodes to come would reach."""

import pytest

from dra_builders.values import (
    GPU_DRIVER,
    allocated,
    claim,
    devices,
    driver_class,
    request,
    resource_slice,
    templated_pod,
)
from dra_operating.planning import World, pods_of, said
from dra_operating.supply import instance_type, node_pool
from dra_scheduling.cycle.provision import REPLAN_SECONDS
from dra_scheduling.model.ids import DeviceID

HELD = allocated(claim("held", request()), DeviceID(GPU_DRIVER, "net", "gpu-0"))


@pytest.fixture
def world() -> World:
    """A pool that makes nodes without devices."""
    world = World()
    world.add(node_pool(), instance_type(), driver_class())
    return world


def refuse(world: World) -> None:
    """A pod that wants a device is told that a new node would not help."""
    value = templated_pod("a", claims={"gpu": "a-gpu"})
    world.add(claim("a-gpu", request(), owner=value), value)
    assert "no new node" in said(world.rest())


def test_a_device_that_comes_where_new_nodes_reach_it_has_one_made_soon(world: World) -> None:
    refuse(world)
    began = world.now

    world.add(resource_slice("net", devices(1)))

    (order,) = world.rest().node_claims
    assert pods_of(order) == ["a"]
    assert world.now - began < 2 * REPLAN_SECONDS


def test_a_device_that_is_free_again_where_new_nodes_reach_it_has_one_made_soon(world: World) -> None:
    world.add(resource_slice("net", devices(1)), HELD)
    refuse(world)
    began = world.now

    world.remove(HELD)

    (order,) = world.rest().node_claims
    assert pods_of(order) == ["a"]
    assert world.now - began < 2 * REPLAN_SECONDS


def test_a_device_of_another_node_changes_nothing_for_new_ones(world: World) -> None:
    refuse(world)

    world.add(resource_slice("s1", devices(1), node="n1"))

    assert world.rest().node_claims == ()
    assert world.pause() > 2 * REPLAN_SECONDS
