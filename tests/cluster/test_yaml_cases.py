"""The cases of the library on a real API server: decided as they say, and carried out to the letter."""

from collections.abc import Iterator

import pytest

from dra_cases import Case, cases
from dra_cluster.apart import Apart
from dra_cluster.operators import RunningOperator
from dra_cluster.play import Play
from dra_cluster.witness import devices_taken, leftovers
from dra_cluster.world import World

CASES = [case for case in cases() if not case.expectation.offline]
SWITCHED = [case for case in CASES if case.expectation.feature_gates]
ONCE = [case for case in CASES if case not in SWITCHED and not case.expectation.again]
TWICE = [case for case in CASES if case not in SWITCHED and case.expectation.again]


@pytest.fixture
def empty(world: World, scheduler: RunningOperator) -> Iterator[World]:
    """A cluster in which nothing is taken: cases use the same names, of devices too, as others before them."""
    wait_until_free(world, scheduler)
    yield world
    # A bind that is under way may hold its devices once more after its pod has gone.
    world.mirror.until(lambda: not leftovers(world.mirror, world.namespace), "every bind to end")
    world.leave()


def wait_until_free(world: World, scheduler: RunningOperator) -> None:
    """Waits until no device is taken, and the scheduler knows it."""
    world.mirror.until(
        lambda: devices_taken(world.mirror) == 0 and scheduler.metric('dra_scheduler_devices{state="reserved"}') == 0,
        "free devices",
    )


@pytest.mark.parametrize("case", ONCE, ids=[case.name for case in ONCE])
def test_a_case_comes_true_on_an_api_server(
    empty: World, scheduler: RunningOperator, binder: RunningOperator, case: Case
) -> None:
    play = Play(empty, case)
    play.set_up(scheduler, binder)

    assert play.pods_come() == []


@pytest.mark.parametrize("case", TWICE, ids=[case.name for case in TWICE])
def test_a_case_comes_true_once_more_when_its_pods_have_ended(
    empty: World, scheduler: RunningOperator, binder: RunningOperator, case: Case
) -> None:
    comes_true_twice(empty, case, scheduler, binder)


@pytest.mark.controlplane
@pytest.mark.parametrize("case", SWITCHED, ids=[case.name for case in SWITCHED])
def test_a_case_with_gates_of_its_own_comes_true_where_they_are_on(apart: Apart, site: World, case: Case) -> None:
    if not case.expectation.feature_gates.keys() <= apart.gates.keys():
        pytest.skip("this Kubernetes does not know the gate")
    operator = apart.operator("switched", feature_gates=case.switches)
    try:
        wait_until_free(site, operator)
        comes_true_twice(site, case, operator)
    finally:
        operator.kill()


def comes_true_twice(world: World, case: Case, scheduler: RunningOperator, *others: RunningOperator) -> None:
    """Plays a case, lets its pods end, and plays it again."""
    play = Play(world, case)
    play.set_up(scheduler, *others)
    assert play.pods_come() == []
    before = play.allocations()

    play.pods_end()
    wait_until_free(world, scheduler)

    assert play.pods_come() == []
    # Named claims outlive their pods; what is written into them depends on nothing but the claim, share ids included.
    assert before.items() >= {uid: one for uid, one in play.allocations().items() if uid in before}.items()
