"""Which node is the best: terms as kube-scheduler has them, and orders that follow what changes."""

import random
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_builders.values import container, node, pod
from dra_operator.settings import ScoreProfile
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.fit.preferences import avoided_taints, preferred_weight
from dra_scheduling.fit.score_profiles import KUBE_SCHEDULER, PACK, PROFILES
from dra_scheduling.fit.score_terms import FeasibleNode, balanced_allocation, least_allocated
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Taint,
)
from dra_scheduling.model.pods import Affinity, NodeAffinity, Pod
from dra_scheduling.state.assignments import Assignment
from dra_simulator.arguments import SCORE_PROFILES

PAGE = (Path(__file__).parents[3] / "docs/scheduling.md").read_text()


def asking(name: str, cpu: str, memory: str = "0", *, on: str = "") -> Pod:
    return pod(name, container(requests={"cpu": cpu, "memory": memory}), node_name=on)


def scored(offered: tuple[str, str], used: tuple[str, str], asked: tuple[str, str]) -> FeasibleNode:
    cluster = Cluster()
    cluster.apply(node("n", allocatable={"cpu": offered[0], "memory": offered[1]}))
    cluster.apply(asking("runs", *used, on="n"))
    wanted = asking("p", *asked)
    return FeasibleNode(wanted, cluster.nodes["n"], pod_requests(wanted), None, cluster.pools)


# The cases are kube-scheduler's own (least_allocated_test.go, balanced_allocation_test.go), cpu in milli.
@pytest.mark.parametrize(
    ("offered", "used", "asked", "least"),
    [
        (("4", "10000"), ("0", "0"), ("0", "0"), 100),
        (("4", "10000"), ("0", "0"), ("3", "5000"), 37),
        (("6", "10000"), ("0", "0"), ("3", "5000"), 50),
        (("10", "20000"), ("6", "0"), ("0", "0"), 70),
        (("10", "20000"), ("6", "5000"), ("0", "0"), 57),
        (("10", "20000"), ("3", "0"), ("3", "5000"), 57),
        (("10", "20000"), ("3", "5000"), ("3", "5000"), 45),
        (("10", "50000"), ("3", "5000"), ("3", "5000"), 60),
        (("0", "0"), ("0", "0"), ("0", "0"), 0),
        (("4", "10000"), ("3", "0"), ("3", "0"), 50),
    ],
)
def test_the_least_allocated_node_scores_as_in_kube_scheduler(
    offered: tuple[str, str], used: tuple[str, str], asked: tuple[str, str], least: int
) -> None:
    assert least_allocated(scored(offered, used, asked)) == least


@pytest.mark.parametrize(
    ("offered", "used", "asked", "balanced"),
    [
        (("4", "10000"), ("0", "0"), ("3", "5000"), 68),
        (("6", "10000"), ("0", "0"), ("3", "5000"), 75),
        (("4", "10000"), ("0", "0"), ("0", "0"), 0),
        (("10", "20000"), ("3", "0"), ("3", "5000"), 73),
    ],
)
def test_balance_scores_as_in_kube_scheduler(
    offered: tuple[str, str], used: tuple[str, str], asked: tuple[str, str], balanced: int
) -> None:
    assert balanced_allocation(scored(offered, used, asked)) == balanced


def test_pack_fills_a_node_and_kube_scheduler_spreads() -> None:
    placed = {}
    for profile in PROFILES.values():
        cluster = Cluster(profile=profile)
        for name in ("n1", "n2"):
            cluster.apply(node(name))
        pods = [asking(f"p{number}", "1") for number in range(4)]
        for one in pods:
            cluster.apply(one)
        placed[profile.name] = [one.node for one in _assigned(cluster, pods)]

    assert placed == {"pack": ["n1", "n1", "n1", "n1"], "kube-scheduler": ["n1", "n2", "n1", "n2"]}


def test_a_preference_outweighs_room_and_an_avoided_taint_outweighs_a_preference() -> None:
    cluster = Cluster(profile=KUBE_SCHEDULER)
    cluster.apply(node("empty"))
    cluster.apply(node("liked", labels={"zone": "a"}, allocatable={"cpu": "4"}))
    cluster.apply(node("tainted", labels={"zone": "a"}, taints=[Taint(key="t", effect="PreferNoSchedule")]))
    wanted = _preferring("p", 10)
    cluster.apply(wanted)

    assert [one.node for one in _assigned(cluster, [wanted])] == ["liked"]


@pytest.mark.parametrize("seed", range(40))
def test_the_node_with_the_largest_sum_is_chosen_whatever_happened_before(seed: int) -> None:
    world = random.Random(seed)
    cluster = Cluster(profile=KUBE_SCHEDULER)
    for step in range(30):
        _happen(world, cluster, step)
        wanted = _preferring(f"p{step}", world.choice((1, 50)), cpu=world.choice(("1", "2")))
        cluster.apply(wanted)
        before = _sums(cluster, wanted)
        found = _assigned(cluster, [wanted])
        if found:
            best = min(before, key=lambda name: (-before[name], name))
            assert found[0].node == best, before


def _happen(world: random.Random, cluster: Cluster, step: int) -> None:
    if step < 3 or world.random() < 0.3:
        taints = [Taint(key=f"t{number}", effect="PreferNoSchedule") for number in range(world.randrange(3))]
        labels = {"zone": world.choice("ab"), "disk": world.choice("xy")}
        room = {"cpu": world.choice(("8", "16")), "memory": world.choice(("16Gi", "64Gi"))}
        cluster.apply(node(f"n{world.randrange(6)}", labels=labels, taints=taints, allocatable=room))
    elif world.random() < 0.3 and len(cluster.nodes) > 1:
        name = world.choice(sorted(cluster.nodes))
        cluster.remove(type(cluster.nodes[name].node), ObjectKey("", name))
    placed = cluster.placements.assumed()
    if placed and world.random() < 0.3:
        cluster.forget(world.choice(sorted(one.pod.metadata.uid for one in placed)))


def _sums(cluster: Cluster, wanted: Pod) -> dict[str, int]:
    """The weighted sums by name, straight from what kube-scheduler's documents say."""
    need = pod_requests(wanted)
    fits = {name: state for name, state in cluster.nodes.items() if need.has_room_in(state.free)}
    taints = {name: avoided_taints(wanted, state.node) for name, state in fits.items()}
    weights = {name: preferred_weight(wanted, state.node) for name, state in fits.items()}
    most_taints, most_weight = max(taints.values(), default=0), max(weights.values(), default=0)
    found = {}
    for name, state in fits.items():
        place = FeasibleNode(wanted, state, need, None, cluster.pools)
        taint = 100 - (taints[name] * 100 // most_taints if most_taints else 0)
        affinity = weights[name] * 100 // most_weight if most_weight else 0
        found[name] = 3 * taint + 2 * affinity + least_allocated(place) + balanced_allocation(place)
    return found


def _preferring(name: str, weight: int, cpu: str = "1") -> Pod:
    terms = tuple(
        PreferredSchedulingTerm(
            weight=each,
            preference=NodeSelectorTerm(
                match_expressions=(NodeSelectorRequirement(key=key, operator="In", values=(value,)),)
            ),
        )
        for each, key, value in ((weight, "zone", "a"), (20, "disk", "x"))
    )
    affinity = Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=terms))
    made = asking(name, cpu, "1Gi")
    return replace(made, spec=replace(made.spec, affinity=affinity))


def _assigned(cluster: Cluster, pods: Iterable[Pod]) -> list[Assignment]:
    return [one for one in schedule(cluster, pods).outcomes if isinstance(one, Assignment)]


def test_the_page_has_every_term_of_every_profile_with_its_weight() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| (\d) \|", PAGE, re.MULTILINE)

    assert [(name, int(weight)) for name, _, _, weight in rows] == [
        (one.plugin, one.weight) for one in KUBE_SCHEDULER.terms
    ]
    tiers = re.findall(r"^\| (\d) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert tiers == [(str(number), name) for number, name in enumerate(PACK.terms, 1)]


def test_operator_and_simulator_know_every_profile() -> None:
    assert tuple(PROFILES) == SCORE_PROFILES == tuple(one.value for one in ScoreProfile)
