"""Whatever a statement did, a rollback leaves the cluster as if nothing had been done, kept answers included."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_builders.values import allocated, claim, device, driver_class, pod, pool, request
from dra_builders.values import resource_slice as slice_of
from dra_cases.fleet import NIC, Fleet, device_class, share_of, shared_device
from dra_cases.trials import LEDGER, Operation, answers_of, carry_out, operations, state_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.statement import EvictedAs
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import Counter, CounterSet, Device, DeviceCounterConsumption, ResourceSlice
from kube_cel.quantity import Quantity

PARTS = "parts.example.com"
NODES = 3


def partition(name: str, drawn: str) -> Device:
    drawing = DeviceCounterConsumption(counter_set="gpu", counters={"memory": Counter(Quantity.parse(drawn))})
    return replace(device(name), consumes_counters=(drawing,))


def partitions(*content: Device, generation: int) -> tuple[ResourceSlice, ResourceSlice]:
    """Return the partitions of one device of node n0, and the counters that they draw from."""
    of_pool = pool("n0-parts", generation=generation, slices=2)
    counters = slice_of("counters", (), driver=PARTS, node="n0", pool=of_pool)
    sets = (CounterSet(name="gpu", counters={"memory": Counter(Quantity.parse("80Gi"))}),)
    shared = replace(counters, spec=replace(counters.spec, shared_counters=sets))
    return shared, slice_of("parts", content, driver=PARTS, node="n0", pool=of_pool)


def cluster_of() -> Cluster:
    """Return nodes with bound and pending pods that use devices, shares, partitions and extended resources."""
    fleet = Fleet()
    cluster = fleet.cluster
    for number in range(NODES):
        fleet.node(f"n{number}", "gpu-2")
    fleet.show(device_class(NIC), shared_device("10"))
    cluster.apply(driver_class(PARTS, extended_resource_name="example.com/part"))
    for value in partitions(partition("gone", "40Gi"), generation=1):
        cluster.apply(value)
    fleet.show(share_of("both", ["4"], users=["b0", "b1"]), share_of("own", ["3"], users=["b2"]))
    fleet.pod("b0", "n0", gpus=1, claims={"net": "both"})
    fleet.pod("b1", "n1", gpus=2, claims={"net": "both"})
    ports = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    fleet.pod("b2", "n2", gpus=1, claims={"net": "own"}, spec={"containers": ports})
    waiting = pod("b3", claims={"part": "part"})
    user = replace(waiting, spec=replace(waiting.spec, node_name="n0"))
    cluster.apply(user)
    cluster.apply(
        allocated(claim("part", request(class_name=PARTS)), DeviceID(PARTS, "n0-parts", "gone"), consumers=(user,))
    )
    # What the taken partition drew is known from a slice that is no longer there.
    for value in partitions(partition("other", "40Gi"), partition("more", "40Gi"), generation=2):
        cluster.apply(value)
    for number in range(3):
        fleet.pod(f"w{number}", gpus=1 + number % 2)
    fleet.pod("w3", spec={"containers": ports})
    cluster.apply(claim("w4", request(class_name=PARTS)))
    cluster.apply(pod("w4", claims={"part": "w4"}))
    fleet.show(share_of("both-too", ["2"], users=[]))
    return cluster


@settings(max_examples=150, deadline=None)
@given(operations)
def test_leaving_a_statement_undoes_everything_it_did(done: list[Operation]) -> None:
    cluster, untouched = cluster_of(), cluster_of()
    answers_of(cluster)
    before = state_of(cluster)
    with cluster.statement() as statement:
        for one in done:
            carry_out(cluster, statement, one)
            answers_of(cluster)
    assert state_of(cluster) == before
    assert answers_of(cluster) == answers_of(untouched)
    assert not cluster.journal.is_open


@settings(max_examples=100, deadline=None)
@given(operations, operations)
def test_a_rollback_returns_to_its_checkpoint_and_can_do_so_again(kept: list[Operation], done: list[Operation]) -> None:
    cluster = cluster_of()
    with cluster.statement() as statement:
        for one in kept:
            carry_out(cluster, statement, one)
        point, before, answers = statement.checkpoint(), state_of(cluster), answers_of(cluster)
        for _ in range(2):
            for one in done:
                carry_out(cluster, statement, one)
            statement.rollback(point)
            assert state_of(cluster) == before
            assert answers_of(cluster) == answers


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6), st.randoms())
def test_evictions_taken_back_in_any_order_leave_nothing_behind(done: list[tuple[int, bool]], random: Random) -> None:
    cluster = cluster_of()
    before = state_of(cluster)
    with cluster.statement() as statement:
        for number, is_gone in done:
            bound = sorted(
                (one for one in cluster.placements.pods.values() if one.spec.node_name), key=lambda one: one.key
            )
            if bound:
                victim = bound[number % len(bound)]
                statement.evict(victim, EvictedAs.GONE if is_gone else EvictedAs.TERMINATING)
        victims = list(statement.evicted)
        random.shuffle(victims)
        for victim in victims:
            statement.restore(victim)
        # What a device drew that is not published any more is known again after the rollback only.
        assert [one for number, one in enumerate(state_of(cluster)) if number != LEDGER] == [
            one for number, one in enumerate(before) if number != LEDGER
        ]
    assert state_of(cluster) == before
