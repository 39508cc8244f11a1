"""Every write of a bind goes wrong in every way: the pod is bound exactly once or nothing is left of the attempt."""

import msgspec
import pytest

from dra_binder.binder import Failed, Unfinished
from dra_binder.plan import Bound
from dra_binding.faults import RETRY_AFTER_SECONDS, TRANSIENT_FAULTS, Fault, FaultRule
from dra_binding.world import GENERATED, NODE, POD, World, device
from dra_scheduling.model.bindrequests import FAILED, SUCCEEDED, BindRequestStatus

# Special claim, its status, finalizer and status of the template claim, pod status, Binding, BindRequest.
BIND_WRITES = range(1, 8)
# After a refused Binding: the special claim's deletion and finalizer, the template claim's status, BindRequest.
UNDO_WRITES = range(7, 11)
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
LAGS = (0.0, 0.5)


def assert_bound_once(world: World) -> None:
    assert world.server.bindings == [(world.pod().metadata.uid, NODE)]
    (special,) = world.special_claims()
    status = world.pod().status.extended_resource_claim_status
    assert status is not None
    assert status.resource_claim_name == special.metadata.name
    assert world.held() == [device("gpu-0"), device("gpu-1"), device("gpu-2")]
    assert world.consumers(GENERATED) == world.consumers(special.metadata.name) == [POD]


def assert_nothing_left(world: World) -> None:
    assert world.server.bindings == []
    assert world.special_claims() == ()
    assert world.held() == []
    assert world.consumers(GENERATED) == []


async def test_a_bind_and_the_undo_of_a_refused_one_have_these_writes() -> None:
    bound, refused = World(), World(FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding"))

    await bound.run(bound.add_both_kinds())
    await refused.run(refused.add_both_kinds())

    assert len(bound.server.writes) == BIND_WRITES[-1]
    assert refused.verbs()[UNDO_WRITES[0] - 1 :] == [
        "delete resourceclaims",
        "update resourceclaims",
        "update resourceclaims/status",
        "patch bindrequests/status",
    ]


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("write", BIND_WRITES)
@pytest.mark.parametrize("fault", [*CRASHES, *TRANSIENT_FAULTS])
async def test_a_single_fault_at_any_write_is_overcome(fault: Fault, write: int, lag: float) -> None:
    world = World(FaultRule(fault=fault, write=write), lag=lag)
    value = world.add_both_kinds()

    await world.run_with_restarts(value)

    assert_bound_once(world)
    assert world.request(value).phase == SUCCEEDED


@pytest.mark.parametrize("second", CRASHES)
@pytest.mark.parametrize("write", BIND_WRITES)
@pytest.mark.parametrize("fault", [*CRASHES, *TRANSIENT_FAULTS])
async def test_a_second_fault_right_after_the_first_is_overcome(fault: Fault, write: int, second: Fault) -> None:
    world = World(FaultRule(fault=fault, write=write), FaultRule(fault=second, write=write + 1))
    value = world.add_both_kinds()

    await world.run_with_restarts(value)

    assert_bound_once(world)


@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("write", UNDO_WRITES)
@pytest.mark.parametrize("fault", [*CRASHES, *TRANSIENT_FAULTS])
async def test_a_refused_bind_is_undone_whatever_happens_to_the_undo(fault: Fault, write: int, lag: float) -> None:
    refused = FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding", times=10**6)
    world = World(FaultRule(fault=fault, write=write), refused, lag=lag)
    value = world.add_both_kinds()

    await world.run_with_restarts(value)

    assert_nothing_left(world)
    assert world.request(value).phase == FAILED


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.ERROR_UNAPPLIED, Fault.RESET_UNAPPLIED])
@pytest.mark.parametrize("action", ["create resourceclaims", "patch pods/status"])
async def test_a_lasting_fault_ends_in_a_clean_undo_after_the_backoff_limit(fault: Fault, action: str) -> None:
    world = World(FaultRule(fault=fault, action=action, times=10**6))
    value = world.add_both_kinds()

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert ending.attempts == 3
    assert_nothing_left(world)


async def test_a_binding_that_always_errs_but_was_applied_is_a_success() -> None:
    world = World(FaultRule(fault=Fault.RESET_APPLIED, action="create pods/binding", times=10**6))
    value = world.add_both_kinds()

    assert await world.run(value) == Bound(NODE)
    assert_bound_once(world)
    assert world.request(value).status.failed_attempts == 0


async def test_devices_stay_reserved_between_the_attempts() -> None:
    world = World(FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding", times=2))
    value = world.add_both_kinds()
    held: list[int] = []
    world.server.after_write = lambda _: held.append(len(world.held()))

    await world.run(value)

    assert held[4:] == [3] * len(held[4:])


async def test_pauses_between_attempts_double() -> None:
    world = World(FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding", times=2))

    await world.run(world.add_extended())

    assert world.server.clock.seconds == 1 + 2


async def test_the_server_says_how_long_to_wait() -> None:
    world = World(FaultRule(fault=Fault.THROTTLED, action="create pods/binding"))

    await world.run(world.add_extended())

    assert world.server.clock.seconds == RETRY_AFTER_SECONDS


async def test_each_failed_attempt_is_recorded_with_time_and_reason() -> None:
    world = World(
        FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding"),
        FaultRule(fault=Fault.CRASH_AFTER, write=5),
    )
    value = world.add_extended()

    await world.run_with_restarts(value)
    status = world.server.find(type(value), value.key)

    assert status is not None
    assert (status.status.failed_attempts, status.phase) == (1, SUCCEEDED)


async def test_attempts_of_an_earlier_process_count() -> None:
    world = World(
        FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding", times=2),
        FaultRule(fault=Fault.CRASH_AFTER, action="patch bindrequests/status"),
    )
    value = world.add_extended()

    await world.run_with_restarts(value)

    assert world.request(value).status.failed_attempts == 2


async def test_a_bind_request_whose_attempts_are_used_up_is_only_undone() -> None:
    world = World()
    value = world.add_extended()
    value = world.server.put(msgspec.structs.replace(value, status=BindRequestStatus(reason="no", failed_attempts=3)))

    assert await world.run(value) == Failed("no", 3)
    assert world.server.bindings == []


async def test_attempts_for_an_earlier_decision_do_not_count() -> None:
    world = World(FaultRule(fault=Fault.ERROR_UNAPPLIED, action="create pods/binding", times=2))
    value = world.add_extended()
    status = BindRequestStatus(phase=FAILED, failed_attempts=9, observed_generation=1)
    metadata = msgspec.structs.replace(value.metadata, generation=2)
    value = world.server.put(msgspec.structs.replace(value, metadata=metadata, status=status))

    assert await world.run(value) == Bound(NODE)
    assert world.request(value).status == BindRequestStatus(
        phase=SUCCEEDED, failed_attempts=2, observed_generation=2, last_attempt_time=world.server.clock.now()
    )


async def test_no_conflict_is_counted_as_an_attempt_while_another_look_helps() -> None:
    world = World(FaultRule(fault=Fault.CONFLICT, action="update resourceclaims/status"))
    value = world.add_extended()

    await world.run(value)

    assert world.request(value).status.failed_attempts == 0


async def test_what_cannot_be_undone_yet_is_not_called_failed() -> None:
    world = World(
        FaultRule(fault=Fault.FORBIDDEN, action="create pods/binding"),
        FaultRule(fault=Fault.ERROR_UNAPPLIED, action="delete resourceclaims", times=10**6),
    )
    value = world.add_extended()

    ending = await world.run(value)

    assert isinstance(ending, Unfinished)
    assert world.request(value).phase == ""
    assert world.report.events == []
