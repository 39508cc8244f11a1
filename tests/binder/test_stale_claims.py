"""Special claims that an earlier attempt left (in any state), and what the next attempt makes of them."""

import msgspec
import pytest

from dra_binder.binder import Failed
from dra_binder.plan import Bound
from dra_binder.undo import Leftover
from dra_binding.faults import Fault, FaultRule
from dra_binding.world import LOG, NODE, POD, SPECIAL_REQUEST, World, allocation, device
from dra_builders.values import node
from dra_scheduling.model.bindrequests import BindRequest, BindRequestStatus
from dra_scheduling.model.claims import AllocationResult

OURS = allocation("gpu-1", "gpu-2", request_name=SPECIAL_REQUEST)
ELSEWHERE = allocation("gpu-8", "gpu-9", request_name=SPECIAL_REQUEST, node_name="n2")


@pytest.fixture
def world() -> World:
    world = World()
    world.server.put(node("n2"))
    return world


@pytest.mark.parametrize("held", [None, OURS])
async def test_one_that_fits_is_used_as_it_is(world: World, held: AllocationResult | None) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    stale = world.add_stale("stale", held=held)

    assert await world.run(value) == Bound(NODE)
    assert [one.metadata.uid for one in world.special_claims()] == [stale.metadata.uid]
    assert "create resourceclaims" not in world.verbs()


async def test_one_for_another_node_is_replaced(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    world.add_stale("stale", held=ELSEWHERE)

    assert await world.run(value) == Bound(NODE)
    assert world.held() == [device("gpu-1"), device("gpu-2")]


async def test_one_with_other_requests_is_replaced(world: World) -> None:
    value = world.add_extended(POD, "gpu-1")
    world.add_stale("stale")

    await world.run(value)

    (special,) = world.special_claims()
    assert special.metadata.name != "stale"
    assert special.spec.devices.requests[0].exactly is not None
    assert special.spec.devices.requests[0].exactly.count == 1


async def test_one_that_is_no_longer_wanted_is_deleted(world: World) -> None:
    value = world.add_both_kinds()
    world.add_stale("stale", held=ELSEWHERE)
    spec = msgspec.structs.replace(value.spec, extended_resource_claim_allocation=None)

    assert await world.run(world.server.put(msgspec.structs.replace(value, spec=spec))) == Bound(NODE)
    assert world.special_claims() == ()


async def test_of_two_the_one_that_the_pod_names_stays(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    world.add_stale("older")
    world.add_stale("named")
    world.name_in_status("named")

    await world.run(value)

    assert [one.metadata.name for one in world.special_claims()] == ["named"]


async def test_one_of_a_former_pod_of_that_name_is_left_alone(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    former = world.add_stale("stale", uid="uid-of-the-former-pod")

    assert await world.run(value) == Bound(NODE)
    assert world.claim("stale") == former


async def test_one_that_is_being_deleted_is_finished_off_and_replaced(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    await world.ports.claims.delete(world.add_stale("stale", held=OURS))

    assert await world.run(value) == Bound(NODE)
    assert [one.metadata.name == "stale" for one in world.special_claims()] == [False]


async def test_one_that_somebody_else_holds_on_to_keeps_its_name(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    stale = world.add_stale("stale")
    metadata = msgspec.structs.replace(stale.metadata, finalizers=("example.com/theirs",))
    await world.ports.claims.delete(world.server.put(msgspec.structs.replace(stale, metadata=metadata)))
    world.name_in_status("stale")

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "still being deleted" in ending.reason
    assert world.server.bindings == []


async def test_the_name_in_the_pods_status_is_used_again_so_that_quota_is_not_charged_twice(world: World) -> None:
    value = world.add_extended()
    world.name_in_status("trainer-0-extended-resources-dead1")

    await world.run(value)

    assert [one.metadata.name for one in world.special_claims()] == ["trainer-0-extended-resources-dead1"]


async def test_a_claim_of_that_name_that_is_not_the_pods_own_is_left_alone(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    theirs = world.add_stale("taken", uid="uid-of-the-former-pod")
    world.name_in_status("taken")

    assert await world.run(value) == Bound(NODE)
    assert world.claim("taken") == theirs
    assert world.special_claims()[0].metadata.name.startswith("trainer-0-extended-resources-")


async def test_an_attempt_after_an_undo_gives_the_claim_its_old_name() -> None:
    world = World(FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding"))
    first = world.add_extended()
    await world.run(first)
    status = world.pod().status.extended_resource_claim_status
    assert status is not None

    await world.run(world.server.put(msgspec.structs.replace(first, status=BindRequestStatus())))

    assert [one.metadata.name for one in world.special_claims()] == [status.resource_claim_name]


@pytest.mark.parametrize("held", [None, ELSEWHERE])
@pytest.mark.parametrize("in_status", ["", "stale"])
async def test_a_start_deletes_those_that_no_bind_request_needs(
    world: World, held: AllocationResult | None, in_status: str
) -> None:
    world.server.remove(BindRequest, world.add_extended().key)
    world.add_stale("stale", held=held)
    world.add_stale("second")
    world.name_in_status(in_status)

    await world.restart()

    assert world.special_claims() == ()


@pytest.mark.parametrize("change", [{"scheduler_name": "default-scheduler"}, {"node_name": "n2"}])
async def test_a_start_leaves_bound_pods_and_those_of_other_schedulers_alone(
    world: World, change: dict[str, str]
) -> None:
    world.server.remove(BindRequest, world.add_extended().key)
    stale = world.add_stale("stale", held=ELSEWHERE)
    spec = msgspec.structs.replace(world.pod().spec, **change)
    world.server.put(msgspec.structs.replace(world.pod(), spec=spec))

    await world.restart()

    assert world.claim("stale") == stale


@pytest.mark.parametrize("held", [None, ELSEWHERE])
async def test_a_start_takes_away_what_a_bound_pod_has_beside_the_claim_that_it_names(
    world: World, held: AllocationResult | None
) -> None:
    await world.run(world.add_extended())
    (named,) = world.special_claims()
    world.add_stale("stale", held=held)

    await world.restart()

    assert world.special_claims() == (named,)


async def test_what_the_sweep_did_not_see_a_bound_pod_name_is_not_touched(world: World) -> None:
    world.add_extended()
    stale = world.add_stale("stale", held=OURS)
    pod = world.pod()
    leftover = Leftover(pod=pod.key, uid=pod.metadata.uid, special=frozenset({stale.key}), regular=frozenset())
    world.name_in_status("stale")
    world.bind_pod()

    await world.binder.clean(leftover, LOG)

    assert world.claim("stale") == stale


async def test_a_leftover_whose_pod_was_bound_after_the_sweep_is_not_touched(world: World) -> None:
    world.add_extended()
    stale = world.add_stale("stale", held=OURS)
    pod = world.pod()
    leftover = Leftover(pod=pod.key, uid=pod.metadata.uid, special=frozenset({stale.key}), regular=frozenset())
    world.bind_pod()

    await world.binder.clean(leftover, LOG)

    assert world.claim("stale") == stale


async def test_a_start_finds_nothing_to_write_in_a_cluster_in_order(world: World) -> None:
    await world.run(world.add_both_kinds())
    before = len(world.server.writes)

    await world.restart()

    assert len(world.server.writes) == before
