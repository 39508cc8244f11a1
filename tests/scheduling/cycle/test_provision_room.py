"""Who gets the room that a pod is about to leave, or that has come for another one."""

import msgspec
import pytest

from dra_builders.values import container, node, pod
from dra_operating.planning import POOL_LABEL, World, pods_of, said
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.provision import OVERDUE_SECONDS
from dra_scheduling.model.pods import NodeSpec, Pod
from dra_scheduling.state.assignments import Assignment


@pytest.fixture
def world() -> World:
    world = World()
    world.add(node_pool(), instance_type())
    return world


def leaving(name: str, when: str) -> Pod:
    """A pod that fills node n1 and is to be gone at this time."""
    value = pod(name, container(requests={"cpu": "4"}), node_name="n1")
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(value.metadata, deletion_timestamp=when))


def test_a_pod_waits_for_room_that_is_about_to_be_free(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "4"}), leaving("old", "2026-01-01T00:00:30Z"), cpu_pod("a", "4"))

    plans = world.rest()

    assert (plans.node_claims, said(plans)) == ((), "waits for the pods that are being deleted on node n1")
    world.remove(leaving("old", ""))
    assert [getattr(one, "node", "") for one in world.rest().outcomes] == ["n1"]


def test_a_pod_does_not_wait_for_one_that_hangs_while_it_ends(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "4"}), leaving("hung", "2025-12-31T23:00:00Z"), cpu_pod("a", "4"))

    (order,) = world.rest().node_claims

    assert pods_of(order) == ["a"]


def test_room_that_a_pod_waits_for_is_not_promised_to_another(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "4"}), leaving("going", "2026-01-01T00:05:00Z"), cpu_pod("a", "4"))
    world.rest()
    world.add(cpu_pod("b", "4"))

    (order,) = world.rest().node_claims

    assert pods_of(order) == ["b"]


def test_a_pod_waits_only_so_long_for_room_that_does_not_come(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "4"}), leaving("going", "2026-01-01T00:00:01Z"), cpu_pod("a", "4"))
    assert world.rest().node_claims == ()
    world.now += OVERDUE_SECONDS + 2

    (order,) = world.rest().node_claims

    assert pods_of(order) == ["a"]


def test_a_node_is_the_pods_that_it_was_made_for_before_its_node_claim_names_it(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "4"}), leaving("going", "2026-01-01T00:00:30Z"), cpu_pod("a", "4"))
    world.rest()
    world.add(cpu_pod("b", "4"))
    (order,) = world.rest().node_claims
    claim = world.show(world.settle(order), provider_id="machine")
    labels = POOL_LABEL | {"karpenter.sh/initialized": "true"}
    come = node(claim.name, labels=labels, allocatable={"cpu": "4"})
    world.add(msgspec.structs.replace(come, spec=NodeSpec(provider_id="machine")))

    placed = [one for one in world.rest().outcomes if isinstance(one, Assignment)]

    assert [(one.pod.metadata.name, one.node) for one in placed] == [("b", claim.name)]
