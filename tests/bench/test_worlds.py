import pytest

from dra_bench import candidates, sweeps
from dra_bench.fleets import Fleet, fleets, pod_with_claim, wish
from dra_bench.searches import solve
from dra_bench.worlds import TARGET_SOLVABLE, World, worlds
from dra_scheduling.allocation.allocation_outcomes import Allocated
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Outcome
from dra_scheduling.wire import read

SMALL = fleets(nodes=3, wide_nodes=3)


def decided(fleet: Fleet, count: int) -> Outcome:
    cluster = Cluster()
    claim, pod = (read(item) for item in pod_with_claim(0, wish(count, fleet.kind)))
    for item in (*map(read, fleet.objects()), claim, pod):
        cluster.apply(item)
    assert isinstance(pod, Pod)
    return schedule(cluster, (pod,)).outcomes[0]


@pytest.mark.parametrize("world", tuple(worlds()), ids=lambda world: world.name)
def test_only_the_world_that_is_said_to_be_solvable_is(world: World) -> None:
    assert isinstance(solve(world), Allocated) == (world.target == TARGET_SOLVABLE)


@pytest.mark.parametrize("fleet", SMALL, ids=lambda fleet: fleet.name)
def test_the_pod_that_shall_fit_does_and_the_other_one_does_not(fleet: Fleet) -> None:
    assert isinstance(decided(fleet, 1), Assignment)
    assert not isinstance(decided(fleet, sweeps.TOO_MANY), Assignment)


def test_only_the_last_instance_types_of_a_turn_have_no_devices() -> None:
    networks = candidates.KINDS["8 and 32, 8 and 16, none"]

    assert [len(candidates.slices_of("t", network)) for network in networks] == [2, 2, 2, 2, 0]
