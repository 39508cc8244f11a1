"""What a start finds unfinished; what it does about it is in the tests of stale claims and of vanished pods."""

import msgspec
import pytest

from dra_binder.sweep import Remains, sweep
from dra_binding.world import GENERATED, POD, World
from dra_scheduling.model.bindrequests import BindRequest, BindRequestStatus
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod

NONE: frozenset[ObjectKey] = frozenset()


@pytest.fixture
def world() -> World:
    return World()


def look(world: World) -> Remains:
    pods = {pod.key: pod for pod in world.server.all(Pod)}
    return sweep(world.server.all(BindRequest), world.server.all(ResourceClaim), pods, "dra-scheduler")


def test_unfinished_bind_requests_are_gone_on_with_the_oldest_first(world: World) -> None:
    world.server.clock.seconds = 60
    world.add_extended("younger")
    world.server.clock.seconds = 0
    world.add_extended("older")

    assert [request.metadata.name for request in look(world).bind_requests] == ["older", "younger"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_bind_requests_are_not(world: World, phase: str) -> None:
    value = world.add_extended()
    world.server.put(msgspec.structs.replace(value, status=BindRequestStatus(phase=phase)))

    assert look(world).bind_requests == ()


def test_kais_pending_is_unfinished(world: World) -> None:
    value = world.add_extended()
    world.server.put(msgspec.structs.replace(value, status=BindRequestStatus(phase="Pending")))

    assert len(look(world).bind_requests) == 1


def test_a_phase_of_an_earlier_decision_finishes_nothing(world: World) -> None:
    value = world.add_extended()
    metadata = msgspec.structs.replace(value.metadata, generation=2)
    status = BindRequestStatus(phase="Failed", observed_generation=1)
    world.server.put(msgspec.structs.replace(value, metadata=metadata, status=status))

    assert len(look(world).bind_requests) == 1


async def test_a_template_claim_that_only_exists_is_no_leftover(world: World) -> None:
    world.server.remove(BindRequest, world.add_both_kinds().key)

    assert look(world) == Remains()


def test_a_special_claim_is_told_from_the_others(world: World) -> None:
    world.server.remove(BindRequest, world.add_both_kinds().key)
    stale = world.add_stale("stale")

    (leftover,) = look(world).leftovers

    assert (leftover.pod.name, leftover.special, leftover.regular) == (POD, frozenset({stale.key}), NONE)


def test_a_template_that_imitates_the_annotation_makes_no_special_claim(world: World) -> None:
    world.server.remove(BindRequest, world.add_both_kinds().key)
    imitation = msgspec.structs.replace(
        world.claim(GENERATED).metadata, annotations={"resource.kubernetes.io/extended-resource-claim": "true"}
    )
    world.server.put(msgspec.structs.replace(world.claim(GENERATED), metadata=imitation))

    assert look(world) == Remains()


def test_what_a_living_bind_request_needs_is_no_leftover(world: World) -> None:
    world.add_both_kinds()
    world.add_stale("stale")

    assert look(world).leftovers == ()
