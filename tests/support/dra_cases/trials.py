"""What a statement may do to a cluster, drawn at random, and all that can be seen of a cluster afterwards."""

from collections.abc import Sequence
from copy import deepcopy
from typing import TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.statement import EvictedAs, Statement
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Outcome

LEDGER = 2
"""The place of what the ledger knows of each pool in `state_of`."""
T = TypeVar("T")
Operation = tuple[str, int, bool]

KINDS = ("evict", "restore", "assume", "allocate", "release", "open", "nominate", "close")
operations = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 11), st.booleans()), max_size=12)


def carry_out(cluster: Cluster, statement: Statement, operation: Operation) -> None:
    """Do what is drawn, where the cluster has anything that it can be done to."""
    kind, number, flag = operation
    pods = sorted(cluster.placements.pods.values(), key=lambda one: one.key)
    match kind:
        case "evict" if pods:
            statement.evict(chosen(pods, number), EvictedAs.GONE if flag else EvictedAs.TERMINATING)
        case "restore" if statement.evicted:
            statement.restore(chosen(statement.evicted, number))
        case "assume":
            for one in decided(cluster, number):
                statement.assume(one)
        case "nominate" if pods and cluster.inventory.claims:
            statement.nominate(chosen(pods, number), chosen(sorted(cluster.inventory.claims), number))
        case "close" if cluster.nodes:
            statement.close(chosen(sorted(cluster.nodes), number))
        case _:
            _change_objects(cluster, statement, operation)


def _change_objects(cluster: Cluster, statement: Statement, operation: Operation) -> None:
    kind, number, _ = operation
    claims = tuple(cluster.claims.values())
    free = [one for one in claims if one.status.allocation is None]
    held = [one.status.allocation for one in claims if one.status.allocation is not None]
    sources = sorted(cluster.ledger.held)
    if kind == "allocate" and free and held:
        statement.allocate(chosen(free, number), chosen(held, number))
    elif kind == "release" and sources:
        statement.release(chosen(sources, number))
    elif kind == "open" and cluster.inventory.claims:
        first = min(cluster.inventory.claims.values(), key=lambda one: one.name)
        statement.open(replace(first, metadata=replace(first.metadata, name=f"new-{number}")))


def chosen(among: Sequence[T], number: int) -> T:
    """Return one of these."""
    return among[number % len(among)]


def decided(cluster: Cluster, number: int) -> list[Assignment]:
    """Return what a cycle would decide of one pending pod; the cluster counts nothing of it yet."""
    pending = cluster.pending()
    found = schedule(cluster, [chosen(pending, number)]).outcomes if pending else ()
    assignments = [one for one in found if isinstance(one, Assignment)]
    for one in assignments:
        cluster.forget(one.pod.metadata.uid)
    return assignments


def state_of(cluster: Cluster) -> tuple[object, ...]:
    """Return everything that a cluster holds, as values that stay what they are."""
    ledger = cluster.ledger
    pools = {device.pool_key for held in ledger.held.values() for device in held.everything}
    taken = {key: ledger.taken(key) for key in pools}
    return (
        dict(ledger.held),
        ledger.taken_count,
        {
            key: deepcopy((one.dedicated, one.shared, one.charges, one.uncharged))
            for key, one in taken.items()
            if one is not None
        },
        {name: (dict(state.free), dict(state.charges), state.used_ports) for name, state in cluster.nodes.items()},
        {one.key: one for one in cluster.claims.values()},
        {one.key: cluster.claims.intended_consumers(one.key) for one in cluster.claims.values()},
        dict(cluster.placements.pods),
        {one.pod.key: one for one in cluster.placements.assumed()},
        dict(cluster.inventory.claims),
        {one.name: one for one in cluster.inventory.assumed()},
        {key: _names_for(cluster, one) for key, one in cluster.placements.pods.items()},
        cluster.pending(),
    )


def _names_for(cluster: Cluster, one: Pod) -> list[str]:
    return sorted(found.name for found in cluster.inventory.nominated_to(one))


def answers_of(cluster: Cluster) -> list[Outcome]:
    """Return what a cycle decides of all pending pods; the cluster counts nothing of it afterwards."""
    outcomes = schedule(cluster, cluster.pending()).outcomes
    for one in outcomes:
        cluster.forget(one.pod.metadata.uid)
    return list(outcomes)
