"""A statement changes the cluster by trial: what is not committed is undone, at the cost of what was done."""

from collections.abc import Callable

import pytest

from dra_cases.fleet import DRIVER, NIC, Fleet, claim, device_class, network_devices
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.statement import EvictedAs, Statement
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.inventory.nominations import nominees_of
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.state.change_log import Everything


def full(nodes: int = 1) -> Cluster:
    """Return nodes on each of which a running pod has the only GPU, and a pod that waits for one."""
    fleet = Fleet()
    for number in range(nodes):
        fleet.node(f"n{number}", "gpu-1")
        fleet.pod(f"runs-{number}", f"n{number}", gpus=1)
    fleet.pod("waits", gpus=1)
    return fleet.cluster


def named(cluster: Cluster, name: str) -> Pod:
    found = cluster.pod(ObjectKey("default", name))
    assert found is not None
    return found


def placed(cluster: Cluster) -> list[Assignment]:
    outcomes = schedule(cluster, cluster.pending()).outcomes
    found = [one for one in outcomes if isinstance(one, Assignment)]
    for one in found:
        cluster.forget(one.pod.metadata.uid)
    return found


def test_a_pod_fits_once_its_victim_is_gone_and_not_while_it_is_terminating() -> None:
    cluster = full()
    with cluster.statement() as trial:
        trial.evict(named(cluster, "runs-0"), EvictedAs.TERMINATING)
        assert placed(cluster) == []
        trial.evict(named(cluster, "runs-0"), EvictedAs.GONE)
        assert [one.node for one in placed(cluster)] == ["n0"]
    assert placed(cluster) == []


def test_a_claim_of_two_pods_keeps_its_devices_until_both_are_gone() -> None:
    fleet = Fleet()
    fleet.node("n0", "gpu-1")
    fleet.show(claim("shared", [DeviceID(DRIVER, "n0", "gpu-0")], users=["a", "b"]))
    fleet.pod("a", "n0", claims={"gpus": "shared"})
    fleet.pod("b", "n0", claims={"gpus": "shared"})
    cluster = fleet.cluster
    with cluster.statement() as trial:
        trial.evict(named(cluster, "a"), EvictedAs.GONE)
        assert cluster.ledger.taken_count == 1
        trial.evict(named(cluster, "b"), EvictedAs.GONE)
        assert cluster.ledger.taken_count == 0
        trial.restore(trial.evicted[0])
        assert cluster.ledger.taken_count == 1


def test_what_a_statement_commits_counts_and_its_victims_count_until_they_are_gone() -> None:
    cluster = full()
    with cluster.statement() as trial:
        trial.evict(named(cluster, "runs-0"), EvictedAs.GONE)
        (found,) = placed(cluster)
        trial.assume(found)
        decided = trial.commit()
    assert [one.metadata.name for one in decided.evictions] == ["runs-0"]
    assert decided.assignments == (found,)
    assert cluster.placements.assumed() == (found,)
    (device,) = (result.device_id for result in found.claims[0].allocation.devices.results)
    cluster.remove(Pod, ObjectKey("default", "runs-0"))
    assert cluster.ledger.is_taken(device)


def test_a_nominated_pod_stands_behind_those_that_the_nodeclaim_names_already() -> None:
    cluster = full()
    with cluster.statement() as trial:
        trial.nominate(named(cluster, "runs-0"), "claim-n0")
        trial.nominate(named(cluster, "waits"), "claim-n0")
        named_now = [one.key.name for one in nominees_of(cluster.inventory.claims["claim-n0"])]
        assert named_now == ["runs-0", "waits"]
    assert nominees_of(cluster.inventory.claims["claim-n0"]) == ()


@pytest.mark.parametrize("nodes", [1, 40])
def test_a_rollback_costs_what_was_done_however_large_the_cluster_is(nodes: int) -> None:
    cluster = full(nodes)
    end = cluster.changes.end
    with cluster.statement() as trial:
        trial.evict(named(cluster, "runs-0"), EvictedAs.GONE)
        (found,) = placed(cluster)
        trial.assume(found)
    assert cluster.journal.undone == 13
    assert cluster.changes.end == end


def test_one_statement_at_a_time() -> None:
    cluster = full()
    with cluster.statement(), pytest.raises(ValueError, match="is open"), cluster.statement():
        pass
    with cluster.statement() as again:
        assert again.evicted == ()


def test_a_checkpoint_of_undone_history_is_refused() -> None:
    cluster = full()
    with cluster.statement() as trial:
        outer = trial.checkpoint()
        trial.evict(named(cluster, "runs-0"), EvictedAs.TERMINATING)
        inner = trial.checkpoint()
        trial.rollback(outer)
        with pytest.raises(ValueError, match="is undone"):
            trial.rollback(inner)


def test_a_trial_that_fails_is_undone_too() -> None:
    cluster = full()
    with pytest.raises(ValueError, match="there is no NodeClaim other"):
        nominate_in_vain(cluster)
    assert cluster.pod(ObjectKey("default", "runs-0")) is not None
    assert placed(cluster) == []


def nominate_in_vain(cluster: Cluster) -> None:
    with cluster.statement() as trial:
        trial.evict(named(cluster, "runs-0"), EvictedAs.GONE)
        trial.nominate(named(cluster, "waits"), "other")


def test_only_what_a_statement_evicted_can_be_restored() -> None:
    cluster = full()
    with cluster.statement() as trial, pytest.raises(ValueError, match="was not evicted"):
        trial.restore(named(cluster, "runs-0"))


def test_a_closed_node_takes_no_pod_and_comes_back() -> None:
    fleet = Fleet()
    fleet.node("n0", "gpu-1")
    fleet.node("n1", "gpu-2")
    fleet.pod("waits", gpus=1)
    cluster = fleet.cluster
    with cluster.statement() as trial:
        trial.close("n0")
        assert [one.node for one in placed(cluster)] == ["n1"]
        with pytest.raises(ValueError, match="is closed already"):
            trial.close("n0")
    assert [one.node for one in placed(cluster)] == ["n0"]


def test_a_network_device_that_was_free_by_trial_leaves_no_node_to_look_at_again() -> None:
    fleet = Fleet()
    for number in range(3):
        fleet.node(f"n{number}", "gpu-1")
    fleet.show(device_class(NIC), *network_devices(1))
    fleet.show(claim("taken", [DeviceID(NIC, "network", "net-0")], users=["user"]))
    fleet.pod("user", "n0", claims={"net": "taken"})
    cluster = fleet.cluster
    before = cluster.changes.mark()
    with cluster.statement() as trial:
        trial.evict(named(cluster, "user"), EvictedAs.GONE)
        assert cluster.changes.since(before.end) is Everything.EVERYTHING
    assert cluster.changes.mark() == before


def test_a_pod_that_was_about_to_use_a_claim_leaves_it_when_it_is_evicted_last() -> None:
    fleet = Fleet()
    fleet.node("n0", "gpu-1")
    fleet.show(claim("shared", [DeviceID(DRIVER, "n0", "gpu-0")], users=["a"]))
    fleet.pod("a", "n0", claims={"gpus": "shared"})
    fleet.pod("b", claims={"gpus": "shared"})
    cluster = fleet.cluster
    outcomes = schedule(cluster, cluster.pending()).outcomes
    assert [one.node for one in outcomes if isinstance(one, Assignment)] == ["n0"]
    with cluster.statement() as trial:
        trial.evict(named(cluster, "a"), EvictedAs.GONE)
        assert cluster.ledger.taken_count == 1
        trial.evict(named(cluster, "b"), EvictedAs.GONE)
        assert cluster.ledger.taken_count == 0
    assert cluster.ledger.taken_count == 1


def network(nodes: int) -> Cluster:
    """Return nodes, of which the first has a pod with a device of the network, and a pod that waits for another."""
    fleet = Fleet()
    for number in range(nodes):
        fleet.node(f"n{number}", "gpu-1")
    fleet.show(device_class(NIC), *network_devices(2))
    fleet.show(claim("taken", [DeviceID(NIC, "network", "net-0")], users=["user"]))
    fleet.show(claim("wanted", [], driver=NIC))
    fleet.pod("user", "n0", claims={"net": "taken"})
    fleet.pod("waits", claims={"net": "wanted"})
    return fleet.cluster


def test_an_assignment_with_a_network_device_leaves_nothing_to_look_at_again() -> None:
    cluster = network(3)
    (found,) = placed(cluster)
    before = cluster.changes.mark()
    with cluster.statement() as trial:
        trial.assume(found)
        assert cluster.ledger.taken_count == 2
    assert cluster.ledger.taken_count == 1
    assert cluster.changes.mark() == before
    assert cluster.changes.since(before.end) == frozenset()


def decide_and_assume(cluster: Cluster, trial: Statement) -> None:
    for one in placed(cluster):
        trial.assume(one)


COSTS: dict[str, tuple[int, Callable[[Cluster, Statement], object]]] = {
    "terminating": (2, lambda cluster, trial: trial.evict(named(cluster, "user"), EvictedAs.TERMINATING)),
    "gone": (5, lambda cluster, trial: trial.evict(named(cluster, "user"), EvictedAs.GONE)),
    "decide and assume": (7, decide_and_assume),
    "close": (1, lambda _, trial: trial.close("n0")),
    "nominate": (2, lambda cluster, trial: trial.nominate(named(cluster, "waits"), "claim-n0")),
}


@pytest.mark.parametrize("nodes", [2, 40])
@pytest.mark.parametrize("word", COSTS)
def test_each_step_costs_the_same_to_undo_in_any_cluster(word: str, nodes: int) -> None:
    cluster = network(nodes)
    placed(cluster)
    cost, step = COSTS[word]
    with cluster.statement() as trial:
        step(cluster, trial)
    assert cluster.journal.undone == cost
