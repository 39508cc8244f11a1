"""Two NodeClaims for the same pods: a replica that was asleep in the middle of a write made the second one."""

import msgspec
import pytest

from dra_builders.values import node
from dra_operating.planning import World
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.events import LeadershipChanged
from dra_scheduling.inventory.nominations import NOMINATED_PODS, nominees_of, nominees_text
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus

EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z"


@pytest.fixture
def world() -> World:
    world = World()
    world.add(node_pool(), instance_type())
    return world


def at(claim: NodeClaim, created: str, *, provider_id: str = "", node_name: str = "") -> NodeClaim:
    """The NodeClaim as the server has it."""
    meta = msgspec.structs.replace(claim.metadata, creation_timestamp=created)
    status = NodeClaimStatus(provider_id=provider_id, node_name=node_name)
    return msgspec.structs.replace(claim, metadata=meta, status=status)


def another(claim: NodeClaim, created: str, provider_id: str = "") -> NodeClaim:
    """A NodeClaim of another name for the same pods."""
    meta = msgspec.structs.replace(claim.metadata, name="general-double", uid="uid-double")
    return at(msgspec.structs.replace(claim, metadata=meta), created, provider_id=provider_id)


def taken_back(world: World) -> list[str]:
    doubles: list[str] = []
    while not world.pause():
        doubles += [one.name for one in world.decide().withdrawn]
    return doubles


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_younger_one_goes_whichever_is_seen_first(world: World, order: tuple[int, int]) -> None:
    claim = world.nominate("a", "b")
    seen = (at(claim, EARLIER), another(claim, LATER))

    world.add(*(seen[number] for number in order), at(claim, EARLIER), another(claim, LATER))

    assert taken_back(world) == ["general-double"]


def test_one_that_has_a_machine_stays(world: World) -> None:
    claim = world.nominate("a")

    world.add(at(claim, EARLIER), another(claim, LATER, provider_id="machine"))

    assert taken_back(world) == []


def test_one_that_some_pod_waits_for_alone_stays(world: World) -> None:
    first = world.nominate("a")
    world.add(at(first, EARLIER))
    world.add(cpu_pod("b", "8"))
    (order,) = world.rest().node_claims
    second = at(world.settle(order), LATER)
    both = nominees_text((*nominees_of(first), *nominees_of(second)))
    meta = msgspec.structs.replace(second.metadata, annotations={NOMINATED_PODS: both})

    world.add(msgspec.structs.replace(second, metadata=meta))

    assert taken_back(world) == []


def test_one_whose_pods_wait_for_a_node_that_does_not_take_them_stays(world: World) -> None:
    claim = world.nominate("a")
    world.add(at(claim, EARLIER, node_name=claim.name))
    labels = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}
    world.add(node(claim.name, labels=labels, allocatable={"cpu": "500m"}))

    world.add(another(claim, LATER))

    assert taken_back(world) == []


def test_a_trial_takes_nothing_back(world: World) -> None:
    claim = world.nominate("a")
    trial = World(is_trial=True)

    trial.add(node_pool(), instance_type(), cpu_pod("a"), at(claim, EARLIER), another(claim, LATER))

    assert taken_back(trial) == []


def test_only_the_replica_that_leads_takes_back(world: World) -> None:
    claim = world.nominate("a")
    world.scheduler.observe(LeadershipChanged(is_leading=False), world.now)
    world.add(at(claim, EARLIER), another(claim, LATER))
    assert taken_back(world) == []

    world.scheduler.observe(LeadershipChanged(is_leading=True), world.now)

    assert taken_back(world) == ["general-double"]
