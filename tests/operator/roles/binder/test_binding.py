import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from structlog.typing import FilteringBoundLogger

from dra_binder.binder import Ending, Failed, Unfinished
from dra_binder.plan import Bound
from dra_binder.undo import Leftover
from dra_builders.values import node, pod
from dra_operating.clock import ManualClock
from dra_operating.loop import settle
from dra_operating.objects import at, bind_request, held_claim
from dra_operator.roles.binder.binding import SUSPICION_SECONDS, Binding
from dra_operator.roles.binder.concurrency import Slot
from dra_operator.roles.binder.view import ClusterView
from dra_operator.roles.binder.wakeups import ChangeHub
from dra_operator.watch.cache import Cache
from dra_scheduling.model.bindrequests import FAILED, SUCCEEDED, BindRequest
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import KubernetesObject


class Carrier:
    """Notes what it is asked to carry out; each bind ends when the test says how."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cleaned: list[str] = []
        self.cancelled: list[str] = []
        self.ends: dict[str, asyncio.Future[Ending]] = {}

    async def run(self, request: BindRequest, log: FilteringBoundLogger, slot: Slot) -> Ending:
        name = request.metadata.name
        self.begun.append(name)
        end: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.ends[name] = end
        try:
            return await end
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    async def clean(self, leftover: Leftover, log: FilteringBoundLogger) -> None:
        self.cleaned.append(leftover.pod.name)

    async def end(self, name: str, ending: Ending) -> None:
        self.ends.pop(name).set_result(ending)
        await settle()


class World:
    def __init__(self, concurrency: int = 10) -> None:
        self.carrier = Carrier()
        self.cache = Cache()
        self.clock = ManualClock()
        self.may_write = True
        self.view = ClusterView(self.cache, scheduler_name="dra-scheduler", progress=lambda: 0, clock=self.clock)
        self.changes = ChangeHub()
        self.binding = Binding(
            self.carrier,
            self.view,
            self.changes,
            concurrency=concurrency,
            may_write=lambda: self.may_write,
            clock=self.clock,
        )
        self._version = 0

    async def see(self, *values: KubernetesObject) -> None:
        for value in values:
            self._version += 1
            current = at(value, self._version)
            self.cache.put(current)
            self.view.changed(current)
            self.binding.changed(current)
        await settle()

    async def bound(self, name: str) -> None:
        await self.carrier.end(name, Bound("n1"))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.binding.finish(0)


def request_of(name: str, phase: str = "", generation: int = 1) -> BindRequest:
    return bind_request(pod(name), "gpu-0", phase=phase, generation=generation)


async def test_a_bind_request_is_carried_out_once(world: World) -> None:
    await world.see(request_of("p"))
    await world.see(request_of("p"))
    await world.bound("p")

    await world.see(request_of("p"))

    assert world.carrier.begun == ["p"]


@pytest.mark.parametrize("phase", [SUCCEEDED, FAILED])
async def test_a_bind_request_that_has_ended_is_left_alone(world: World, phase: str) -> None:
    await world.see(request_of("p", phase=phase))

    assert world.carrier.begun == []


async def test_a_new_decision_in_a_failed_bind_request_is_carried_out(world: World) -> None:
    await world.see(request_of("p"))
    await world.carrier.end("p", Failed("no", 3))

    await world.see(request_of("p", generation=2))

    assert world.carrier.begun == ["p", "p"]


async def test_a_decision_that_came_while_the_former_ran_is_carried_out_after_it(world: World) -> None:
    await world.see(request_of("p"))
    await world.see(request_of("p", generation=2))
    assert world.carrier.begun == ["p"]

    await world.carrier.end("p", Failed("no", 1))

    assert world.carrier.begun == ["p", "p"]


async def test_bind_requests_that_name_no_pod_do_not_wait_for_each_other(world: World) -> None:
    nameless = [request_of(name) for name in "ab"]
    await world.see(
        *(msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, pod_uid="")) for one in nameless)
    )

    assert world.carrier.begun == ["a", "b"]


async def test_another_bind_request_for_the_same_pod_waits_for_the_first(world: World) -> None:
    await world.see(request_of("p"))
    other = msgspec.structs.replace(
        request_of("p"), metadata=msgspec.structs.replace(request_of("p").metadata, name="q", uid="other")
    )
    await world.see(other)
    assert world.carrier.begun == ["p"]

    await world.bound("p")

    assert world.carrier.begun == ["p", "q"]


async def test_no_more_binds_run_at_once_than_allowed() -> None:
    world = World(concurrency=2)
    await world.see(*(request_of(name) for name in "abc"))
    assert world.carrier.begun == ["a", "b"]

    await world.bound("a")

    assert world.carrier.begun == ["a", "b", "c"]
    await world.binding.finish(0)


async def test_a_bind_that_pauses_leaves_its_place_to_another() -> None:
    world = World(concurrency=1)
    paused = asyncio.Event()

    async def pausing(request: BindRequest, log: FilteringBoundLogger, slot: Slot) -> Ending:
        if request.metadata.name == "pauses":
            paused.set()
            await slot.sleep(3_600)
        world.carrier.begun.append(request.metadata.name)
        return Bound("n1")

    world.carrier.run = pausing  # type: ignore[method-assign]
    await world.see(request_of("pauses"), request_of("goes"))

    assert paused.is_set()
    assert world.carrier.begun == ["goes"]
    await world.binding.finish(0)


async def test_a_bind_that_could_not_be_told_is_run_again(world: World) -> None:
    await world.see(request_of("p"))

    await world.carrier.end("p", Unfinished("no server", after=0))

    assert world.carrier.begun == ["p", "p"]


async def test_a_replica_that_does_not_lead_begins_nothing(world: World) -> None:
    world.may_write = False

    await world.see(request_of("p"))

    assert world.carrier.begun == []


async def test_a_replica_that_begins_to_lead_takes_up_what_is_there(world: World) -> None:
    world.may_write = False
    await world.see(request_of("a"), request_of("b", phase=SUCCEEDED))
    world.may_write = True

    world.binding.lead()
    await settle()

    assert world.carrier.begun == ["a"]


async def test_a_replica_that_stops_leading_leaves_everything_at_once(world: World) -> None:
    await world.see(request_of("a"))
    world.may_write = False

    world.binding.drop()
    await settle()

    assert world.carrier.cancelled == ["a"]


async def test_a_stop_waits_for_binds_that_end_soon(world: World) -> None:
    await world.see(request_of("soon"), request_of("late"))
    asyncio.get_running_loop().call_later(0.01, world.carrier.ends["soon"].set_result, Bound("n1"))

    await world.binding.finish(0.1)

    assert world.carrier.cancelled == ["late"]


def let_binds_wait(world: World) -> None:
    """Binds that wait until their pod changes, the one of `c` for its node."""

    async def waiting(request: BindRequest, log: FilteringBoundLogger, slot: Slot) -> Ending:
        world.carrier.begun.append(request.metadata.name)
        keys = [request.pod_key] if request.metadata.name != "c" else [ObjectKey("", "n1")]
        with world.changes.of(keys, slot) as change:
            change.clear()
            await change.wait(3_600)
        return Bound("n1")

    world.carrier.run = waiting  # type: ignore[method-assign]


async def test_binds_that_wait_are_woken_by_what_changes_and_by_what_goes(world: World) -> None:
    let_binds_wait(world)
    await world.see(request_of("a"), request_of("b"), request_of("c"))
    assert len(world.changes.waiting) == 3

    await world.see(pod("a"))
    world.binding.removed(pod("b"))
    world.binding.removed(node("n1"))
    await settle()

    assert world.changes.waiting == frozenset()


async def test_a_stop_does_not_wait_for_binds_that_wait_themselves(world: World) -> None:
    let_binds_wait(world)
    await world.see(request_of("a"))

    await world.binding.finish(3_600)

    assert world.changes.waiting == frozenset()


async def test_binds_that_wait_leave_their_places_to_others() -> None:
    world = World(concurrency=1)
    let_binds_wait(world)

    await world.see(*(request_of(name) for name in "abc"))

    assert world.carrier.begun == ["a", "b", "c"]
    await world.binding.finish(0)


async def look(world: World) -> None:
    """Lets the suspects be looked at."""
    world.binding.look()
    await settle()


async def test_a_claim_left_by_a_bind_that_nobody_carries_on_is_undone(world: World) -> None:
    await world.see(pod("p"), held_claim("c", "gpu-0", pods=(pod("p"),)))
    world.clock.advance(SUSPICION_SECONDS)

    await look(world)

    assert world.carrier.cleaned == ["p"]


async def test_a_claim_that_a_bind_request_speaks_for_is_not_undone(world: World) -> None:
    await world.see(pod("p"), held_claim("c", "gpu-0", pods=(pod("p"),)), request_of("p"))
    world.clock.advance(SUSPICION_SECONDS)

    await look(world)

    assert world.carrier.cleaned == []


async def test_watches_that_do_not_keep_step_raise_no_suspicion(world: World) -> None:
    await world.see(pod("p"), request_of("p"), held_claim("c", "gpu-0", pods=(pod("p"),)))
    await world.bound("p")
    await world.see(request_of("p", phase=SUCCEEDED))
    world.clock.advance(SUSPICION_SECONDS - 0.1)
    await look(world)

    await world.see(pod("p", node_name="n1"))
    world.clock.advance(1)
    await look(world)

    assert world.carrier.cleaned == []


async def test_no_bind_begins_for_a_pod_whose_leftovers_are_being_undone(world: World) -> None:
    gate = asyncio.Event()

    async def slow(leftover: Leftover, log: FilteringBoundLogger) -> None:
        await gate.wait()

    world.carrier.clean = slow  # type: ignore[method-assign]
    await world.see(pod("p"), held_claim("c", "gpu-0", pods=(pod("p"),)))
    world.clock.advance(SUSPICION_SECONDS)
    await look(world)
    await world.see(request_of("p"))
    assert world.carrier.begun == []

    gate.set()
    await settle()

    assert world.carrier.begun == ["p"]
