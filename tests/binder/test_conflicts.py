"""Two schedulers give one device to two claims: one of them keeps it, whoever looks, and the other is undone."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_binder.binder import Ending, Failed
from dra_binder.conflicts import find_conflict
from dra_binder.plan import Bound
from dra_binder.undo import Leftover
from dra_binding.faults import Fault, FaultRule
from dra_binding.server import InMemoryClock
from dra_binding.world import LOG, NODE, POD, SPECIAL_REQUEST, World, allocation, device
from dra_builders.values import GPU_CLASS, NAMESPACE, allocated, claim, pod, request
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey, PoolKey

OURS = device("gpu-1")


def add_rival(world: World, *, scheduler: str, created: str = "", node_name: str = "") -> None:
    """A claim of another pod takes `gpu-1` while ours is being written."""
    consumer = pod("rival", node_name=node_name)
    consumer = msgspec.structs.replace(consumer, spec=msgspec.structs.replace(consumer.spec, scheduler_name=scheduler))
    world.server.put(consumer)
    rival = allocated(claim("theirs", request()), OURS, consumers=(consumer,))
    metadata = msgspec.structs.replace(rival.metadata, creation_timestamp=created)
    world.server.put(msgspec.structs.replace(rival, metadata=metadata))


def take_meanwhile(world: World, write: int, **rival: str) -> None:
    world.server.after_write = lambda number: add_rival(world, **rival) if number == write else None


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("write", [1, 2, 3])
async def test_a_foreign_schedulers_claim_wins_since_nobody_there_looks_back(world: World, write: int) -> None:
    value = world.add_extended()
    take_meanwhile(world, write, scheduler="default-scheduler", created="2030-01-01T00:00:00Z")

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "is also held by claim default/theirs" in ending.reason
    assert world.held() == [OURS]
    assert world.special_claims() == ()
    assert world.server.clock.seconds == 0


async def test_a_bound_pods_claim_wins_over_an_older_one(world: World) -> None:
    value = world.add_extended()
    take_meanwhile(world, 2, scheduler="dra-scheduler", created="2030-01-01T00:00:00Z", node_name=NODE)

    assert isinstance(await world.run(value), Failed)
    assert world.server.bindings == []


async def test_of_two_of_our_own_the_older_claim_wins(world: World) -> None:
    value = world.add_extended()
    take_meanwhile(world, 2, scheduler="dra-scheduler", created="2020-01-01T00:00:00Z")

    assert isinstance(await world.run(value), Failed)


async def test_the_winner_waits_until_the_loser_has_given_the_device_back(world: World) -> None:
    value = world.add_extended()
    take_meanwhile(world, 2, scheduler="dra-scheduler", created="2030-01-01T00:00:00Z")
    running = asyncio.create_task(world.run(value))
    for _ in range(50):
        await asyncio.sleep(0)

    assert world.server.bindings == []
    for rival in world.server.all(ResourceClaim):
        if rival.metadata.name == "theirs":
            world.server.remove(ResourceClaim, rival.key)
    assert await running == Bound(NODE)


async def test_a_winner_whose_rival_never_gives_way_is_undone_in_the_end(world: World) -> None:
    value = world.add_extended()
    take_meanwhile(world, 2, scheduler="dra-scheduler", created="2030-01-01T00:00:00Z")

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert world.held() == [OURS]
    assert world.server.bindings == []


class LateRival(InMemoryClock):
    """A clock that lets another scheduler write when it is waited for the n-th time."""

    def __init__(self, world: World, turn: int) -> None:
        super().__init__()
        self.world = world
        self.turns_left = turn

    async def sleep(self, seconds: float) -> None:
        self.turns_left -= 1
        if not self.turns_left:
            add_rival(self.world, scheduler="default-scheduler")
        await super().sleep(seconds)


async def test_where_another_scheduler_is_active_its_late_write_is_waited_for(world: World) -> None:
    value = world.add_extended()
    world.server.clock = LateRival(world, turn=2)
    world.start()
    world.view.contended = {PoolKey(OURS.driver, OURS.pool)}

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "which has precedence" in ending.reason
    assert world.server.bindings == []


async def test_another_scheduler_that_is_about_goes_first_and_sees_no_claim_of_ours(world: World) -> None:
    value = world.add_extended()
    world.server.clock = LateRival(world, turn=1)
    world.start()
    world.view.wanted = {GPU_CLASS}

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "is held by claim default/theirs" in ending.reason
    assert world.special_claims() == ()
    assert not any("resourceclaims" in verb for verb in world.verbs())


async def test_a_bind_whose_claim_is_written_already_stands_back_no_more(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    world.add_stale("stale", held=allocation("gpu-1", "gpu-2", request_name=SPECIAL_REQUEST))
    world.start()
    world.view.wanted = {GPU_CLASS}

    assert await world.run(value) == Bound(NODE)
    assert world.server.clock.seconds == world.settings.settle_seconds


async def test_nothing_is_bound_before_the_cache_shows_what_was_written() -> None:
    world = World(lag=3.0)
    value = world.add_extended()
    world.start()

    assert await world.run(value) == Bound(NODE)
    assert world.server.clock.seconds >= 3.0


async def test_a_cache_that_stands_still_binds_nothing() -> None:
    world = World(lag=1e6)
    value = world.add_extended()
    world.start()

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "watch of ResourceClaims" in ending.reason
    assert world.held() == []


@pytest.mark.parametrize("lag", [0.0, 0.1, 2.0])
async def test_of_two_binds_at_once_for_one_device_only_one_gets_through(lag: float) -> None:
    world = World(lag=lag)
    first, second = world.add_extended("a"), world.add_extended("b")
    world.start()

    await asyncio.gather(world.run(first), world.run(second))

    assert len(world.server.bindings) == 1
    assert world.held() == [OURS]


@pytest.mark.parametrize("lag", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("created", ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"])
async def test_two_that_both_wrote_before_they_saw_each_other_are_not_both_bound(lag: float, created: str) -> None:
    world = World(lag=lag)
    first = world.add_extended("a")
    world.start()
    others: list[asyncio.Task[Ending]] = []

    def decide_again(number: int) -> None:
        if number == 1:
            value = world.add_extended("b")
            metadata = msgspec.structs.replace(value.metadata, creation_timestamp=created)
            rival = world.server.put(msgspec.structs.replace(value, metadata=metadata))
            others.append(asyncio.create_task(world.binder.run(rival, LOG)))

    world.server.after_write = decide_again
    await world.run(first)
    await asyncio.gather(*others)

    assert len(world.server.bindings) <= 1
    assert len(world.held()) == len(world.server.bindings)


async def test_pods_that_share_a_claim_are_bound_at_once_without_losing_an_entry() -> None:
    world = World(FaultRule(fault=Fault.CONFLICT, action="update resourceclaims/status", times=2))
    world.server.put(claim("shared", request()))
    values = [world.add_shared(name) for name in "abc"]

    endings = await asyncio.gather(*map(world.run, values))

    assert endings == [Bound(NODE)] * 3
    assert sorted(world.consumers("shared")) == ["a", "b", "c"]


@pytest.mark.parametrize("lag", [0.0, 2.0])
async def test_any_number_of_pods_that_share_a_claim_are_bound_at_the_first_attempt(lag: float) -> None:
    world = World(lag=lag)
    world.server.put(claim("shared", request()))
    values = [world.add_shared(f"p{number}") for number in range(40)]
    world.start()

    endings = await asyncio.gather(*map(world.run, values))

    assert endings == [Bound(NODE)] * 40
    assert {world.request(value).status.failed_attempts for value in values} == {0}


async def test_any_number_of_pods_that_share_a_claim_leave_it_at_the_first_attempt() -> None:
    world = World()
    world.server.put(claim("shared", request()))
    values = [world.add_shared(f"p{number}") for number in range(40)]
    world.start()
    await asyncio.gather(*map(world.run, values))
    left = frozenset({ObjectKey(NAMESPACE, "shared")})
    for value in values:
        world.delete_pod(value.metadata.name)

    leftovers = [Leftover(pod=one.pod_key, uid=one.pod_uid, special=frozenset(), regular=left) for one in values]
    await asyncio.gather(*(world.binder.clean(leftover, LOG) for leftover in leftovers))

    assert world.consumers("shared") == []


SIDES = st.tuples(
    st.sampled_from(["dra-scheduler", "default-scheduler"]),
    st.sampled_from(["", NODE]),
    st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]),
)


@given(one=SIDES, other=SIDES)
def test_both_sides_name_the_same_winner(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    world = World()
    sides = []
    for name, (scheduler, node_name, created) in zip("ab", (one, other), strict=True):
        plain = pod(name, node_name=node_name)
        spec = msgspec.structs.replace(plain.spec, scheduler_name=scheduler)
        consumer = world.server.put(msgspec.structs.replace(plain, spec=spec))
        value = allocated(claim(name, request()), OURS, consumers=(consumer,))
        metadata = msgspec.structs.replace(value.metadata, creation_timestamp=created)
        sides.append(world.server.put(msgspec.structs.replace(value, metadata=metadata)))

    verdicts = [find_conflict([side], world.view, "dra-scheduler") for side in sides]

    assert sorted(verdict.is_lost for verdict in verdicts if verdict is not None) == [False, True]
