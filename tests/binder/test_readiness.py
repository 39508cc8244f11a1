"""Devices with binding conditions: the pod is bound when their driver has made them ready, or everything is undone."""

from collections.abc import Callable

import msgspec
import pytest

from dra_binder.binder import Failed
from dra_binder.plan import Bound
from dra_binder.stops import Gone
from dra_binding.drivers import (
    ATTACHED,
    BROKEN,
    add_waiting,
    add_waiting_special,
    attach_later,
    later,
    prepared,
    say,
)
from dra_binding.faults import TRANSIENT_FAULTS, Crash, Fault, FaultRule
from dra_binding.world import NODE, POD, World, allocation, bind_request, device
from dra_builders.values import claim, pod, request, reserved_for
from dra_scheduling.model.bindrequests import FAILED, PENDING, SUCCEEDED, BindRequest
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node

TIMEOUT = 600.0
CLAIM = "prepared"
# Finalizer and status of the claim, "it waits", Binding, "it is bound".
BIND_WRITES = range(1, 6)
# Instead of the Binding: the claim's status, "it failed".
UNDO_WRITES = range(4, 6)
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
LAGS = (0.0, 0.5)


def assert_bound_once(world: World) -> None:
    assert world.server.bindings == [(world.pod().metadata.uid, NODE)]
    assert world.held() == [device("gpu-0")]
    assert world.consumers(CLAIM) == [POD]


def assert_nothing_left(world: World) -> None:
    assert world.server.bindings == []
    assert world.special_claims() == ()
    assert all(value.status == ResourceClaimStatus() for value in world.server.all(ResourceClaim))


def is_waiting(world: World, value: BindRequest) -> bool:
    return world.request(value).phase == PENDING and world.held() != [] and world.server.bindings == []


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("lag", LAGS)
async def test_the_pod_is_bound_when_all_devices_are_ready(lag: float) -> None:
    world = World(lag=lag)
    value = add_waiting(world)
    attach_later(world, 30)

    await world.run_with_restarts(value)

    assert_bound_once(world)
    assert 30 <= world.server.clock.seconds <= 32
    assert world.request(value).phase == SUCCEEDED


async def test_while_it_waits_the_bind_request_and_one_event_say_what_for(world: World) -> None:
    value = add_waiting(world)
    said: list[str] = []
    for second in (10, 20, 30):
        later(world, second, lambda: said.append(world.request(value).status.reason))
    attach_later(world, 40)

    await world.run(value)

    expected = f"waiting for device {device('gpu-0')} of claim default/{CLAIM}: condition {ATTACHED}"
    assert said == [expected] * 3
    assert [event for event, _, _ in world.report.events] == ["BindingConditionsPending", "Scheduled"]
    assert world.report.events[0][2] == expected


async def test_a_condition_that_is_not_true_is_waited_for(world: World) -> None:
    value = add_waiting(world)
    later(world, 5, lambda: say(world.server, ATTACHED, "False"))
    later(world, 9, lambda: say(world.server, ATTACHED, "Unknown"))
    attach_later(world, 50)

    assert await world.run(value) == Bound(NODE)
    assert world.server.clock.seconds == 50


async def test_devices_that_are_ready_already_are_not_waited_for(world: World) -> None:
    first = add_waiting(world, "first")
    attach_later(world, 0)
    await world.run(first)

    second = add_waiting(world, POD)
    before = world.server.clock.seconds

    assert await world.run(second) == Bound(NODE)
    assert world.server.clock.seconds == before
    assert world.request(second).status.reason == ""


@pytest.mark.parametrize("condition", [ATTACHED, "another.example.com/condition"])
async def test_only_failure_conditions_are_failures(world: World, condition: str) -> None:
    value = add_waiting(world)
    later(world, 5, lambda: say(world.server, condition, "False" if condition == ATTACHED else "True"))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert world.server.clock.seconds == TIMEOUT


async def test_a_failure_condition_undoes_everything(world: World) -> None:
    value = add_waiting(world)
    later(world, 20, lambda: say(world.server, BROKEN))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert ending.reason == (
        f"device {device('gpu-0')} of claim default/{CLAIM} could not be made ready: {BROKEN}: Said: by the test"
    )
    assert_nothing_left(world)
    assert world.server.clock.seconds == 20
    assert world.request(value).phase == FAILED


async def test_time_runs_out_from_the_allocation_on(world: World) -> None:
    value = add_waiting(world)

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert ending.reason.startswith("not ready 600 s after the allocation: ")
    assert world.server.clock.seconds == TIMEOUT
    assert_nothing_left(world)


async def test_a_claim_says_when_it_was_allocated(world: World) -> None:
    world.server.clock.seconds = 77
    value = add_waiting(world)
    attach_later(world, 100)

    await world.run(value)

    assert allocation_times(world) == ["2026-01-01T00:01:17Z"]


async def test_claims_whose_devices_need_nothing_say_no_time(world: World) -> None:
    await world.run(world.add_both_kinds())

    assert allocation_times(world) == ["", ""]


def allocation_times(world: World) -> list[str]:
    found = (one.status.allocation for one in world.server.all(ResourceClaim))
    return [one.allocation_timestamp for one in found if one is not None]


@pytest.mark.parametrize("condition", [ATTACHED, BROKEN, ""])
async def test_the_devices_of_a_special_claim_are_waited_for(world: World, condition: str) -> None:
    value = add_waiting_special(world)
    if condition:
        later(world, 30, lambda: say(world.server, condition))

    ending = await world.run(value)

    assert isinstance(ending, Bound if condition == ATTACHED else Failed)
    assert len(world.special_claims()) == (condition == ATTACHED)
    assert len(world.held()) == (condition == ATTACHED)


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("write", BIND_WRITES)
@pytest.mark.parametrize("fault", [*CRASHES, *TRANSIENT_FAULTS])
async def test_a_fault_at_any_write_is_overcome(fault: Fault, write: int, lag: float) -> None:
    world = World(FaultRule(fault=fault, write=write), lag=lag)
    value = add_waiting(world)
    attach_later(world)

    await world.run_with_restarts(value)

    assert_bound_once(world)
    assert world.request(value).phase == SUCCEEDED


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("write", [*BIND_WRITES[:3], *UNDO_WRITES])
@pytest.mark.parametrize("fault", [*CRASHES, *TRANSIENT_FAULTS])
async def test_what_fails_is_undone_whatever_happens_to_the_undo(fault: Fault, write: int, lag: float) -> None:
    world = World(FaultRule(fault=fault, write=write), lag=lag)
    value = add_waiting(world)
    later(world, 30, lambda: say(world.server, BROKEN))

    await world.run_with_restarts(value)

    assert_nothing_left(world)
    assert world.request(value).phase == FAILED
    assert world.server.clock.seconds < TIMEOUT


def kill() -> None:
    raise Crash("while it waits")


@pytest.mark.parametrize("lag", LAGS)
async def test_a_process_that_is_killed_while_it_waits_leaves_the_rest_to_the_next(lag: float) -> None:
    world = World(lag=lag)
    value = add_waiting(world)
    for second in (10, 20):
        later(world, second, kill)
    attach_later(world, 50)

    await world.run_with_restarts(value)

    assert_bound_once(world)
    assert [event for event, _, _ in world.report.events] == ["BindingConditionsPending", "Scheduled"]


async def test_a_restart_gives_drivers_no_more_time(world: World) -> None:
    value = add_waiting(world)
    for second in (200, 400, 599):
        later(world, second, kill)

    await world.run_with_restarts(value)

    assert world.server.clock.seconds == TIMEOUT
    assert_nothing_left(world)


@pytest.mark.parametrize("add", [add_waiting, add_waiting_special])
async def test_a_pod_that_is_deleted_meanwhile_gives_everything_back_at_once(
    world: World, add: Callable[[World], BindRequest]
) -> None:
    value = add(world)
    later(world, 15, world.delete_pod)

    ending = await world.run(value)

    assert isinstance(ending, Gone)
    assert world.server.clock.seconds == 15
    assert world.held() == []


async def test_a_bind_request_that_is_deleted_meanwhile_gives_everything_back(world: World) -> None:
    value = add_waiting(world)
    later(world, 15, lambda: world.server.remove(BindRequest, value.key))

    assert isinstance(await world.run(value), Gone)
    assert_nothing_left(world)


async def test_a_node_that_goes_meanwhile_ends_the_bind(world: World) -> None:
    value = add_waiting(world)
    later(world, 15, lambda: world.server.remove(Node, ObjectKey("", NODE)))

    ending = await world.run(value)

    assert ending == Failed(f"node {NODE} does not exist any more", 1)
    assert_nothing_left(world)
    assert world.server.clock.seconds == 15


async def test_a_claim_that_is_taken_away_meanwhile_ends_the_bind(world: World) -> None:
    value = add_waiting(world)

    def take_away() -> None:
        world.server.put(msgspec.structs.replace(world.claim(CLAIM), status=ResourceClaimStatus()))

    later(world, 15, take_away)
    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert ending.reason == f"claim default/{CLAIM} has been taken away from the pod"
    assert world.server.clock.seconds == 15


async def test_devices_stay_held_as_long_as_the_pod_waits(world: World) -> None:
    value = add_waiting(world)
    seen: list[bool] = []
    for second in range(1, 100, 7):
        later(world, second, lambda: seen.append(is_waiting(world, value)))
    attach_later(world, 100)

    await world.run(value)

    assert set(seen) == {True}


def add_sharer(world: World, *, ready: bool, node_name: str = "") -> None:
    """Another pod already has the claim, decided by somebody else; its device is ready, or broken."""
    sharer = world.server.put(pod("sharer", claims={"gpu": CLAIM}, node_name=node_name))
    held = msgspec.structs.replace(prepared(allocation("gpu-0")), allocation_timestamp=world.server.clock.now())
    bare = claim(CLAIM, request())
    status = ResourceClaimStatus(allocation=held, reserved_for=(reserved_for(sharer),))
    world.server.put(msgspec.structs.replace(bare, status=status))
    say(world.server, ATTACHED if ready else BROKEN)


def add_joining(world: World) -> BindRequest:
    """A pod that uses the claim as it is allocated already."""
    return world.server.put(bind_request(world.server.put(pod(POD, claims={"gpu": CLAIM}))))


async def test_a_pod_that_joins_a_claim_waits_for_its_devices_as_well(world: World) -> None:
    add_sharer(world, ready=False)
    say(world.server, ATTACHED, "False")
    value = add_joining(world)
    attach_later(world, 60)

    assert await world.run(value) == Bound(NODE)
    assert world.server.clock.seconds == 60


async def test_a_pod_that_joins_late_has_no_more_time_than_the_first(world: World) -> None:
    add_sharer(world, ready=False)
    say(world.server, ATTACHED, "False")
    world.server.clock.seconds = 500

    assert isinstance(await world.run(add_joining(world)), Failed)
    assert world.server.clock.seconds == TIMEOUT


async def test_a_broken_claim_that_others_use_stays_theirs(world: World) -> None:
    add_sharer(world, ready=False, node_name=NODE)

    assert isinstance(await world.run(add_joining(world)), Failed)
    assert world.consumers(CLAIM) == ["sharer"]
    assert world.held() == [device("gpu-0")]


async def test_the_last_of_a_broken_claims_pods_gives_it_back_whoever_allocated_it(world: World) -> None:
    add_sharer(world, ready=False)
    before = world.claim(CLAIM)
    alone = msgspec.structs.replace(before.status, reserved_for=())
    world.server.put(msgspec.structs.replace(before, status=alone))

    assert isinstance(await world.run(add_joining(world)), Failed)
    assert_nothing_left(world)


async def test_of_two_pods_with_one_claim_both_are_bound_when_it_is_ready(world: World) -> None:
    first, second = add_waiting(world, "first"), add_waiting(world, POD)
    attach_later(world, 20)

    assert [await world.run(first), await world.run(second)] == [Bound(NODE), Bound(NODE)]
    assert world.held() == [device("gpu-0")]


async def test_a_server_that_drops_binding_conditions_is_not_trusted(world: World) -> None:
    value = add_waiting(world)

    def drop(number: int) -> None:
        found = world.claim(CLAIM)
        if found.status.allocation is not None and found.status.allocation.allocation_timestamp:
            status = msgspec.structs.replace(found.status, allocation=allocation("gpu-0"))
            world.server.put(msgspec.structs.replace(found, status=status))

    world.server.after_write = drop
    world.server.rules.append(FaultRule(fault=Fault.ERROR_APPLIED, action="update resourceclaims/status"))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "DRADeviceBindingConditions" in ending.reason
    assert_nothing_left(world)
