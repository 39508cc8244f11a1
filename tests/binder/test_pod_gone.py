"""The pod vanishes in the middle of a bind, or comes back as another pod of the same name."""

import msgspec
import pytest

from dra_binder.binder import Failed
from dra_binder.plan import Bound
from dra_binder.stops import Gone
from dra_binding.faults import Fault, FaultRule
from dra_binding.world import GENERATED, LOG, NODE, POD, World, allocation, bind_request, device
from dra_builders.values import claim, pod, request
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.pods import Pod

# Special claim, its status, finalizer and status of the template claim, pod status.
WRITES_BEFORE_BINDING = range(1, 6)
LAGS = [0.0, 0.5]


def replace_pod(world: World) -> Pod:
    world.delete_pod()
    return world.server.put(msgspec.structs.replace(pod(POD), metadata=ObjectMeta(name=POD, namespace="default")))


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("write", WRITES_BEFORE_BINDING)
async def test_a_pod_deleted_after_any_write_leaves_nothing_behind(write: int, lag: float) -> None:
    world = World(lag=lag)
    value = world.add_both_kinds()
    world.start()
    world.server.after_write = lambda number: world.delete_pod() if number == write else None

    ending = await world.run(value)

    assert isinstance(ending, Gone)
    assert world.held() == []
    assert [one.metadata.name for one in world.server.all(ResourceClaim)] == [GENERATED]
    assert world.consumers(GENERATED) == []
    assert world.report.events == []


@pytest.mark.parametrize("write", WRITES_BEFORE_BINDING)
async def test_a_new_pod_of_the_same_name_is_never_bound_by_the_old_decision(write: int) -> None:
    world = World()
    value = world.add_both_kinds()
    world.start()

    def replace(number: int) -> None:
        if number == write:
            replace_pod(world)

    world.server.after_write = replace

    ending = await world.run(value)

    assert isinstance(ending, Gone)
    assert world.server.bindings == []
    assert world.held() == []
    assert world.server.all(BindRequest) == ()


async def test_a_bind_request_that_is_another_one_already_is_not_deleted_again_and_again() -> None:
    world = World()
    world.add_extended()
    owner = replace_pod(world)
    (old,) = world.server.all(BindRequest)
    world.server.remove(BindRequest, old.key)
    new = world.server.put(bind_request(owner))
    world.start()

    assert isinstance(await world.binder.run(old, LOG), Gone)
    assert world.server.clock.seconds == 0
    assert world.server.all(BindRequest) == (new,)


async def test_the_new_pod_may_have_the_devices_then() -> None:
    world = World()
    world.add_extended()
    owner = replace_pod(world)
    for old in world.server.all(BindRequest):
        await world.run(old)
    value = world.server.put(bind_request(owner, extended=old.spec.extended_resource_claim_allocation))

    assert await world.run(value) == Bound(NODE)
    assert world.held() == [device("gpu-1")]


async def test_a_bind_request_whose_pod_is_gone_is_left_to_the_garbage_collector() -> None:
    world = World()
    value = world.add_extended()
    world.delete_pod()

    assert isinstance(await world.run(value), Gone)
    assert world.server.writes == []


async def test_a_bind_request_that_nobody_owns_is_deleted_when_its_pod_is_gone() -> None:
    world = World()
    value = world.add_extended()
    metadata = msgspec.structs.replace(value.metadata, owner_references=())
    value = world.server.put(msgspec.structs.replace(value, metadata=metadata))
    world.delete_pod()

    await world.run(value)

    assert world.server.all(BindRequest) == ()


async def test_a_pod_that_is_being_deleted_frees_its_devices_without_a_word() -> None:
    world = World()
    value = world.add_extended()
    metadata = msgspec.structs.replace(world.pod().metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    world.server.put(msgspec.structs.replace(world.pod(), metadata=metadata))

    assert isinstance(await world.run(value), Failed)
    assert world.verbs() == ["patch bindrequests/status"]
    assert world.report.events == []


async def test_a_pod_that_has_ended_fails_its_bind_request_so_that_its_devices_are_free() -> None:
    world = World()
    value = world.add_extended()
    status = msgspec.structs.replace(world.pod().status, phase="Failed")
    world.server.put(msgspec.structs.replace(world.pod(), status=status))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "has ended already" in ending.reason


async def test_a_pod_bound_elsewhere_keeps_its_claims_and_fails_the_bind_request() -> None:
    world = World()
    value = world.add_both_kinds()
    world.server.after_write = lambda number: world.bind_pod(node_name="n2") if number == 4 else None

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "already bound to node n2" in ending.reason
    assert world.consumers(GENERATED) == [POD]
    assert len(world.special_claims()) == 1


async def test_a_bind_request_deleted_between_two_attempts_is_undone() -> None:
    world = World(FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding"))
    value = world.add_both_kinds()
    world.server.after_write = lambda number: world.server.remove(BindRequest, value.key) if number == 5 else None

    assert isinstance(await world.run(value), Gone)
    assert world.held() == []
    assert world.server.bindings == []


async def test_a_decision_replaced_between_two_attempts_is_undone() -> None:
    world = World(FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding"))
    value = world.add_both_kinds()
    metadata = msgspec.structs.replace(value.metadata, owner_references=())
    value = world.server.put(msgspec.structs.replace(value, metadata=metadata))
    newer = msgspec.structs.replace(value, metadata=msgspec.structs.replace(metadata, generation=2))

    def replace(number: int) -> None:
        if number == 5:
            world.server.put(newer)

    world.server.after_write = replace

    assert isinstance(await world.run(value), Gone)
    assert world.held() == []
    assert [one.phase for one in world.server.all(BindRequest)] == [""]


async def test_an_undo_leaves_the_claim_to_the_other_pods_that_use_it() -> None:
    world = World(FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding default/b"))
    world.server.put(claim("shared", request()))
    first, second = world.add_shared("a"), world.add_shared("b")

    await world.run(first)
    assert isinstance(await world.run(second), Failed)

    assert world.consumers("shared") == ["a"]
    assert world.held() == [device("gpu-0")]


async def test_an_undo_takes_back_the_allocation_that_nobody_else_uses() -> None:
    world = World(FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding"))
    world.server.put(claim("shared", request()))

    await world.run(world.add_shared("a"))

    assert world.claim("shared").status.allocation is None


async def test_an_undo_leaves_an_allocation_that_somebody_else_made() -> None:
    world = World(FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding"))
    bare = claim("shared", request())
    status = msgspec.structs.replace(bare.status, allocation=allocation("gpu-5"))
    world.server.put(msgspec.structs.replace(bare, status=status))
    value = world.add_shared("a")
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=())

    await world.run(world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert world.held() == [device("gpu-5")]
    assert world.consumers("shared") == []


async def test_a_start_undoes_reservations_that_no_bind_request_speaks_for() -> None:
    world = World(FaultRule(fault=Fault.CRASH_BEFORE, action="create pods/binding"))
    world.server.put(claim("shared", request()))
    value = world.add_shared("a")
    world.server.after_write = lambda number: world.server.remove(BindRequest, value.key) if number == 2 else None

    await world.run_with_restarts(value)

    assert world.held() == []
    assert world.consumers("shared") == []
