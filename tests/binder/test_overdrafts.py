"""Claims of two schedulers draw more from a device or a pool than there is: some keep it, the others are undone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_binder.binder import Failed
from dra_binder.conflicts import find_conflict
from dra_binder.plan import Bound
from dra_binder.ports import Account
from dra_binding.world import NODE, POD, World, allocation, bind_request, device
from dra_builders.values import claim, pod, request, reserved_for
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.pods import Pod
from kube_cel.quantity import Quantity

GPU = device("gpu-0")
MEMORY = Account(GPU.pool_key, "memory", GPU.device)
SLOTS = Account(GPU.pool_key, "slots of counter set gpu")
OURS, THEIRS = "dra-scheduler", "default-scheduler"
LIMIT = 80
LATE = "2030-01-01T00:00:00Z"


def share(amount: int, share_id: str) -> AllocationResult:
    """So much of the memory of gpu-0."""
    whole = allocation("gpu-0")
    results = tuple(
        msgspec.structs.replace(one, share_id=share_id, consumed_capacity={"memory": Quantity.from_int(amount)})
        for one in whole.devices.results
    )
    return msgspec.structs.replace(whole, devices=msgspec.structs.replace(whole.devices, results=results))


def add_sharing(world: World, value: AllocationResult, name: str = POD) -> BindRequest:
    """Add a pod of ours that gets this by a claim of its name."""
    world.server.put(claim(name, request()))
    owner = world.server.put(pod(name, claims={"gpu": name}))
    return world.server.put(bind_request(owner, claims={"gpu": value}))


def of(scheduler: str, name: str, node_name: str = "") -> Pod:
    value = pod(name, claims={"gpu": name}, node_name=node_name)
    return msgspec.structs.replace(value, spec=msgspec.structs.replace(value.spec, scheduler_name=scheduler))


def add_rival(
    world: World,
    name: str,
    value: AllocationResult,
    *,
    scheduler: str = THEIRS,
    created: str = "2026-01-01T00:00:00Z",
    node_name: str = "",
) -> ResourceClaim:
    """Another pod has this by a claim of its name."""
    consumer = world.server.put(of(scheduler, name, node_name))
    bare = claim(name, request())
    metadata = msgspec.structs.replace(bare.metadata, creation_timestamp=created)
    status = ResourceClaimStatus(allocation=value, reserved_for=(reserved_for(consumer),))
    return world.server.put(msgspec.structs.replace(bare, metadata=metadata, status=status))


def add_meanwhile(world: World, write: int, name: str, value: AllocationResult, **rest: str) -> None:
    """Another pod gets this while ours is being bound, right after that write."""

    def add(number: int) -> None:
        if number == write:
            add_rival(world, name, value, **rest)

    world.server.after_write = add


@pytest.fixture
def world() -> World:
    return limited(World())


def limited(world: World) -> World:
    nano = Quantity.from_int(1).nano
    world.view.limits = {MEMORY: LIMIT * nano, SLOTS: 2}
    world.view.charges = {device("whole"): (("slots of counter set gpu", 2),)}
    world.view.charges |= {device(f"half-{side}"): (("slots of counter set gpu", 1),) for side in "ab"}
    return world


@pytest.mark.parametrize(("theirs", "ending"), [(40, Bound), (41, Failed), (0, Bound)])
async def test_shares_are_given_out_as_long_as_the_capacity_lasts(
    world: World, theirs: int, ending: type[Bound | Failed]
) -> None:
    value = add_sharing(world, share(40, "ours"))
    add_rival(world, "theirs", share(theirs, "theirs"))

    assert isinstance(await world.run(value), ending)
    assert len(world.held()) == 1 + (ending is Bound)


async def test_what_is_used_up_before_anything_is_written_is_left_alone(world: World) -> None:
    value = add_sharing(world, share(40, "ours"))
    add_rival(world, "theirs", share(50, "theirs"))

    ending = await world.run(value)

    assert ending == Failed(f"there is not enough left of {MEMORY}", 1)
    assert world.verbs() == ["patch bindrequests/status"]


@pytest.mark.parametrize("write", [1, 2])
async def test_a_foreign_share_written_meanwhile_wins(world: World, write: int) -> None:
    value = add_sharing(world, share(40, "ours"))
    add_meanwhile(world, write, "theirs", share(50, "theirs"), created=LATE)

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert ending.reason.startswith(f"claims default/{POD} and default/theirs together draw too much of {MEMORY}")
    assert world.held() == [GPU]
    assert world.server.bindings == []


async def test_a_device_taken_whole_meanwhile_is_lost_to_those_who_share_it(world: World) -> None:
    value = add_sharing(world, share(10, "ours"))
    add_meanwhile(world, 2, "theirs", allocation("gpu-0"))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "is also held by claim default/theirs" in ending.reason
    assert world.held() == [GPU]


async def test_counters_of_a_pool_count_like_capacities(world: World) -> None:
    value = add_sharing(world, allocation("half-a"))
    add_meanwhile(world, 2, "theirs", allocation("whole"))

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert str(SLOTS) in ending.reason
    assert world.held() == [device("whole")]


async def test_partitions_that_go_together_are_both_bound(world: World) -> None:
    first, second = add_sharing(world, allocation("half-a"), "first"), add_sharing(world, allocation("half-b"), "b")

    assert [await world.run(first), await world.run(second)] == [Bound(NODE), Bound(NODE)]


async def test_the_winner_waits_until_the_loser_of_ours_has_given_its_share_back(world: World) -> None:
    value = add_sharing(world, share(40, "ours"))
    add_meanwhile(world, 2, "late", share(50, "late"), scheduler=OURS, created=LATE)

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "which has to give it back first" in ending.reason
    assert world.server.bindings == []


async def test_what_is_in_use_is_never_asked_to_give_way(world: World) -> None:
    add_rival(world, "shared", share(50, "shared"), scheduler=OURS, node_name=NODE)
    add_rival(world, "theirs", share(50, "theirs"), node_name=NODE)
    joining = world.server.put(pod("joining", claims={"gpu": "shared"}))

    assert await world.run(world.server.put(bind_request(joining))) == Bound(NODE)


@given(
    amounts=st.lists(st.integers(1, LIMIT), min_size=1, max_size=6),
    times=st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_of_our_claims_some_keep_what_there_is_and_no_more(amounts: list[int], times: list[int]) -> None:
    world = World()
    claims = [
        add_rival(world, f"c{number}", share(amount, f"s{number}"), scheduler=OURS, created=f"202{times[number]}")
        for number, amount in enumerate(amounts)
    ]
    limited(world)

    kept = []
    for one, amount in zip(claims, amounts, strict=True):
        conflict = find_conflict([one], world.view, OURS)
        if conflict is None or not conflict.is_lost:
            kept.append(amount)

    assert 0 < sum(kept) <= LIMIT
    assert (len(kept) == len(amounts)) == (sum(amounts) <= LIMIT)
