"""In any cluster, with every device feature, a statement that is left or rolled back has changed nothing at all."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_cases.random_clusters import living_cluster
from dra_cases.trials import Operation, answers_of, carry_out, operations, state_of
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import shape_of, usable_claims
from dra_scheduling.provisioning import plan

seeds = st.integers(0, 10_000)


def orders_of(cluster: Cluster) -> dict[str, list[str]]:
    """Return the nodes that take each pending pod, the best first, as the kept answers have it."""
    found = {}
    for pod in cluster.pending():
        resolved = usable_claims(cluster, pod)
        shape = resolved if isinstance(resolved, Refusal) else shape_of(cluster, pod, resolved)
        if not isinstance(shape, Refusal):
            with cluster.statement() as asking:
                found[pod.metadata.name] = list(asking.evaluate(shape))
    return found


def seen_of(cluster: Cluster) -> tuple[object, ...]:
    """Return all that anybody is told about the cluster: its state, its decisions and its plans."""
    return state_of(cluster), answers_of(cluster), orders_of(cluster), plan(cluster, cluster.pending())


@settings(max_examples=120, deadline=None)
@given(seeds, operations, st.integers(1, 13))
def test_a_statement_that_is_left_leaves_the_cluster_as_a_fresh_one(
    seed: int, done: list[Operation], pace: int
) -> None:
    cluster = living_cluster(seed)
    if pace % 2:
        answers_of(cluster)
    before = cluster.changes.mark()
    with cluster.statement() as statement:
        for number, one in enumerate(done, start=1):
            carry_out(cluster, statement, one)
            if number % pace == 0:
                answers_of(cluster)
    assert cluster.changes.mark() == before
    assert seen_of(cluster) == seen_of(living_cluster(seed))
    cluster.forget_answers()
    assert seen_of(cluster) == seen_of(living_cluster(seed))


@settings(max_examples=60, deadline=None)
@given(seeds, operations, operations)
def test_a_rollback_leaves_what_was_done_before_its_checkpoint(
    seed: int, kept: list[Operation], done: list[Operation]
) -> None:
    cluster = living_cluster(seed)
    with cluster.statement() as statement:
        for one in kept:
            carry_out(cluster, statement, one)
        point, before, answers = statement.checkpoint(), state_of(cluster), answers_of(cluster)
        for _ in range(2):
            for one in done:
                carry_out(cluster, statement, one)
                answers_of(cluster)
            statement.rollback(point)
            assert state_of(cluster) == before
            assert answers_of(cluster) == answers
    assert seen_of(cluster) == seen_of(living_cluster(seed))
