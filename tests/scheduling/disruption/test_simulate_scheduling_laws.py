"""What holds of every question of what would be if nodes went away."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_cases.fleet import NOW, Fleet
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption import Decision, DisruptionView, WhatIfOptions, next_decision, simulate_without
from dra_scheduling.disruption.prices import Prices
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod

KINDS = ("gpu-1", "gpu-2", "gpu-4", "cpu-8")
Written = list[tuple[str, list[tuple[int, int, bool]]]]

pods = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.booleans()), max_size=4)
fleets = st.lists(st.tuples(st.sampled_from(KINDS), pods), min_size=1, max_size=5)


def fleet_of(nodes: Written) -> Fleet:
    fleet = Fleet()
    for number, (kind, content) in enumerate(nodes):
        name = f"n{number}"
        fleet.node(name, kind)
        for place, (gpus, cpu, is_deleting) in enumerate(content):
            has_room = fleet.cluster.nodes[name].free["cpu"] >= 1000 * cpu
            if has_room and gpus <= sum(1 for device in fleet.free_devices() if device.pool == name):
                fleet.pod(f"p{number}-{place}", name, gpus=gpus, cpu=str(cpu), is_deleting=is_deleting)
    return fleet


@given(fleets, st.integers(1, 31))
def test_asking_changes_nothing(nodes: Written, chosen: int) -> None:
    cluster = fleet_of(nodes).cluster
    before = state_of(cluster)

    simulate_without(cluster, names_of(cluster, chosen))

    assert state_of(cluster) == before


@given(fleets, st.integers(1, 31))
def test_every_moved_pod_has_a_place_or_a_reason_and_no_device_is_given_twice(nodes: Written, chosen: int) -> None:
    fleet = fleet_of(nodes)
    gone = names_of(fleet.cluster, chosen)
    staying = [pod for pod in fleet.cluster.placements.pods.values() if not pod.metadata.is_deleting]

    found = simulate_without(fleet.cluster, gone)

    moved = [move.pod.metadata.name for move in found.moves] + [one.pod.metadata.name for one in found.stuck]
    assert sorted(moved) == sorted(pod.metadata.name for pod in staying if pod.spec.node_name in gone)
    given_out = [device for move in found.moves for device in move.devices]
    assert len(given_out) == len(set(given_out))
    held = {
        result.device_id
        for claim in fleet.cluster.claims.values()
        if claim.status.reserved_for and claim.status.reserved_for[0].uid in uids_elsewhere(staying, gone)
        for result in claim.status.allocation.devices.results  # type: ignore[union-attr]
    }
    assert held.isdisjoint(given_out)
    assert all(move.node not in gone for move in found.moves)


@given(fleets, st.integers(1, 31))
def test_no_node_gets_more_than_it_has_room_for(nodes: Written, chosen: int) -> None:
    fleet = fleet_of(nodes)
    cluster = fleet.cluster

    found = simulate_without(cluster, names_of(cluster, chosen))

    for name, state in cluster.nodes.items():
        leaving = [charge.amounts.get("cpu", 0) for charge in state.charges.values() if charge.is_going]
        coming = [pod_cpu(move.pod) for move in found.moves if move.node == name]
        assert sum(coming) <= state.free["cpu"] + sum(leaving)


def names_of(cluster: Cluster, chosen: int) -> set[str]:
    return {name for number, name in enumerate(sorted(cluster.nodes)) if chosen >> number & 1}


def uids_elsewhere(staying: list[Pod], gone: set[str]) -> set[str]:
    return {pod.metadata.uid for pod in staying if pod.spec.node_name not in gone}


def pod_cpu(pod: Pod) -> int:
    return sum(one.resources.requests["cpu"].nano // 1_000_000 for one in pod.spec.containers)


def state_of(cluster: Cluster) -> tuple[object, ...]:
    return (
        dict(cluster.ledger.held),
        cluster.ledger.taken_count,
        dict(cluster.inventory.claims),
        {name: (dict(state.free), dict(state.charges)) for name, state in cluster.nodes.items()},
        list(cluster.claims.values()),
        cluster.pending(),
        cluster.changes.end,
    )


@settings(max_examples=40)
@given(fleets)
def test_decisions_come_to_an_end_and_each_makes_the_nodes_cheaper(nodes: Written) -> None:
    fleet = fleet_of([(kind, [(gpus, cpu, False) for gpus, cpu, _ in content]) for kind, content in nodes])
    wanted = sorted(pod.metadata.name for pod in fleet.cluster.placements.pods.values())
    prices = [price_of(fleet)]

    while (decision := next_decision(DisruptionView(fleet.cluster), WhatIfOptions(now=NOW))) is not None:
        carry_out(fleet, decision)
        prices.append(price_of(fleet))
        assert prices[-1] < prices[-2]

    placed = [pod for pod in fleet.cluster.placements.pods.values() if pod.spec.node_name in fleet.cluster.nodes]
    assert sorted(pod.metadata.name for pod in placed) == wanted


def carry_out(fleet: Fleet, decision: Decision) -> None:
    """Let the decision come true: new nodes of the cheapest type, pods where the question said, old nodes gone."""
    going = [claim.status.node_name for claim in decision.claims]
    moves = simulate_without(fleet.cluster, going).moves
    for made in decision.created:
        types = next(one.values for one in made.spec.requirements if one.key.endswith("instance-type"))
        fleet.node(made.name, types[0], name_of_claim=made.name)
    for move in moves:
        pod = move.pod
        key = ObjectKey("default", f"{pod.metadata.name}-gpus")
        held = fleet.cluster.claims.get(key)
        gpus = len(held.status.allocation.devices.results) if held and held.status.allocation else 0
        fleet.cluster.remove(ResourceClaim, key)
        fleet.cluster.remove(Pod, pod.key)
        cpu = str(pod_cpu(pod) // 1000)
        fleet.pod(pod.metadata.name, move.node or move.node_claim, gpus=gpus, cpu=cpu)
    for claim in decision.claims:
        fleet.remove_node(claim)


def price_of(fleet: Fleet) -> float:
    labels = (state.node.metadata.labels for state in fleet.cluster.nodes.values())
    prices = Prices(fleet.cluster.inventory)
    return sum(prices.of(one) or 0.0 for one in labels)
