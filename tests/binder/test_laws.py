"""Laws that hold whatever goes wrong, however often."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from dra_binding.drivers import ATTACHED, BROKEN, add_waiting, later, say
from dra_binding.faults import Crash, Fault, FaultRule
from dra_binding.world import GENERATED, NODE, POD, World
from dra_scheduling.model.bindrequests import SUCCEEDED, BindRequest

RULES = st.lists(
    st.builds(FaultRule, fault=st.sampled_from(list(Fault)), write=st.integers(min_value=1, max_value=20)), max_size=5
)


async def settle(world: World, value: BindRequest) -> None:
    """Run the BindRequest through all faults, until a start finds nothing more to do."""
    await world.run_with_restarts(value)
    for _ in range(10):
        try:
            await world.restart()
        except Crash:
            continue
        if world.request(value).has_ended:
            return


@given(rules=RULES, lag=st.sampled_from([0.0, 0.3, 2.0]))
def test_a_pod_is_bound_once_with_all_its_devices_or_nothing_is_left(rules: list[FaultRule], lag: float) -> None:
    world = World(*rules, lag=lag)
    value = world.add_both_kinds()

    asyncio.run(settle(world, value))

    is_bound = world.request(value).phase == SUCCEEDED
    assert world.server.bindings == ([(world.pod().metadata.uid, NODE)] if is_bound else [])
    assert len(world.special_claims()) == is_bound
    assert len(world.held()) == (3 if is_bound else 0)
    assert world.consumers(GENERATED) == ([POD] if is_bound else [])


@given(rules=RULES)
def test_no_name_or_uid_that_exists_only_in_memory_reaches_the_server(rules: list[FaultRule]) -> None:
    world = World(*rules)

    asyncio.run(settle(world, world.add_both_kinds()))

    assert [action for action in world.server.writes if "<" in action or ">" in action] == []


@given(rules=RULES)
def test_another_pods_place_in_a_shared_claim_is_never_lost(rules: list[FaultRule]) -> None:
    world = World(*rules)
    world.add_neighbour("neighbour")

    asyncio.run(settle(world, world.add_shared("a")))

    assert "neighbour" in world.consumers("shared")


@given(rules=RULES, lag=st.sampled_from([0.0, 0.3, 2.0]), said=st.lists(st.sampled_from([ATTACHED, BROKEN, "other"])))
def test_a_pod_whose_device_has_to_be_made_ready_is_bound_once_or_nothing_is_left(
    rules: list[FaultRule], lag: float, said: list[str]
) -> None:
    world = World(*rules, lag=lag)
    value = add_waiting(world)
    for number, condition in enumerate(said):
        later(world, 100.0 * number, lambda condition=condition: say(world.server, condition))  # type: ignore[misc]

    asyncio.run(settle(world, value))

    is_bound = world.request(value).phase == SUCCEEDED
    assert world.server.bindings == ([(world.pod().metadata.uid, NODE)] if is_bound else [])
    assert len(world.held()) == is_bound
    assert world.consumers("prepared") == ([POD] if is_bound else [])
