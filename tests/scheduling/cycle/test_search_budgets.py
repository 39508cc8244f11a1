"""What a pod may spend on existing nodes: running out keeps what was finished, and stops nobody else."""

from collections.abc import Callable

from dra_builders.values import claim, device_class, devices, node, pod, request, resource_slice
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import by_clock, schedule
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, OutOfBudget

IN_TIME, LATE = 1.0, 9.0


def ticking(*times: float) -> Callable[[], float]:
    """A clock that shows one time after the other, and then the last for ever."""
    remaining = list(times)
    return lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def cluster_of(*nodes: str) -> Cluster:
    made = Cluster()
    made.apply(device_class())
    for name in nodes:
        made.apply(node(name))
        made.apply(resource_slice(f"{name}-gpus", devices(1), node=name))
    return made


def waiting(cluster: Cluster, name: str) -> Pod:
    item = pod(name, claims={"gpu": name})
    cluster.apply(claim(name, request(), owner=item))
    cluster.apply(item)
    return item


def test_a_node_found_in_time_is_taken_though_others_were_not_looked_at() -> None:
    cluster = cluster_of("n1", "n2", "n3")

    (outcome,) = schedule(cluster, [waiting(cluster, "a")], by_clock(ticking(0, IN_TIME, LATE))).outcomes

    assert isinstance(outcome, Assignment)
    assert outcome.node == "n1"


def test_no_time_at_all_is_no_refusal() -> None:
    cluster = cluster_of("n1")

    (outcome,) = schedule(cluster, [waiting(cluster, "a")], by_clock(ticking(0, LATE))).outcomes

    assert isinstance(outcome, OutOfBudget)
    assert outcome.message == 'the search ran out of time: 0/1 nodes fit: on 1: claim "gpu": not looked at in time'


def test_nodes_that_were_not_looked_at_are_next_time() -> None:
    cluster = cluster_of("n1", "n2")
    item = waiting(cluster, "a")
    schedule(cluster, [item], by_clock(ticking(0, LATE)))

    (outcome,) = schedule(cluster, [item], by_clock(ticking(LATE))).outcomes

    assert isinstance(outcome, Assignment)


def test_what_was_found_in_time_is_looked_at_again_though_time_is_up() -> None:
    cluster = Cluster()
    for value in (device_class(), node("n1"), node("n2"), resource_slice("everywhere", devices(2))):
        cluster.apply(value)
    first, second = (waiting(cluster, name) for name in ("a", "b"))
    schedule(cluster, [first])

    (outcome,) = schedule(cluster, [second], by_clock(ticking(0, LATE))).outcomes

    assert isinstance(outcome, Assignment)


def test_a_pod_that_runs_out_of_time_leaves_the_next_one_its_own() -> None:
    cluster = cluster_of("n1")
    budgets = [by_clock(ticking(0, LATE))(), by_clock(ticking(0, IN_TIME))()]

    first, second = schedule(cluster, [waiting(cluster, "a"), waiting(cluster, "b")], lambda: budgets.pop(0)).outcomes

    assert isinstance(first, OutOfBudget)
    assert isinstance(second, Assignment)


def test_what_needs_no_search_needs_no_time() -> None:
    cluster = cluster_of("n1")
    cluster.apply(pod("plain"))

    (outcome,) = schedule(cluster, cluster.pending(), by_clock(ticking(0, LATE))).outcomes

    assert isinstance(outcome, Assignment)


def test_a_pod_without_steps_left_still_takes_the_answer_that_another_node_gave() -> None:
    cluster = cluster_of("n1", "n2")
    first, second = (waiting(cluster, name) for name in ("a", "b"))
    schedule(cluster, [first])

    (outcome,) = schedule(cluster, [second], lambda: SearchBudget(steps=0)).outcomes

    assert isinstance(outcome, Assignment)
