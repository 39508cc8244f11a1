"""Rules across nodes: a placement in one zone changes what others are told, at the cost of what it changes."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from msgspec.structs import replace

from dra_builders.values import node, pod
from dra_cases.domain_rules import APP, KEEPS_OUT, ZONE, KeptOut, ZoneSpread
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.statement import EvictedAs
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.cycle.events import LeadershipChanged, ObjectChanged
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.fit.rules import RULES
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Unschedulable

ZONES = ("a", "b", "c")


def app_pod(name: str, app: str = "web", *, on: str = "", keeps_out: str = "") -> Pod:
    labels = {APP: app} if app else {}
    if keeps_out:
        labels[KEEPS_OUT] = keeps_out
    return pod(name, labels=labels, node_name=on)


def only_in(zone: str, item: Pod) -> Pod:
    return replace(item, spec=replace(item.spec, node_selector={ZONE: zone}))


def zoned(cluster: Cluster, nodes: int, zones: Iterable[str] = ZONES) -> Cluster:
    for zone in zones:
        for number in range(nodes):
            cluster.apply(node(f"{zone}{number}", labels={ZONE: zone}))
    return cluster


def place(cluster: Cluster, *pods: Pod) -> dict[str, str]:
    """Return the zones of those that found a place."""
    for one in pods:
        cluster.apply(one)
    outcomes = schedule(cluster, pods).outcomes
    return {one.pod.metadata.name: one.node[0] for one in outcomes if isinstance(one, Assignment)}


def message_of(cluster: Cluster, lost: Pod) -> str:
    cluster.apply(lost)
    (outcome,) = schedule(cluster, [lost]).outcomes
    assert isinstance(outcome, Unschedulable)
    return outcome.message


def test_a_zone_that_has_most_is_closed_until_the_others_have_caught_up() -> None:
    cluster = zoned(Cluster(rules=(*RULES, ZoneSpread(1))), 2)

    zones = place(cluster, *(app_pod(f"p{number}") for number in range(7)))

    assert sorted(Counter(zones.values()).values()) == [2, 2, 3]


def test_a_pod_that_leaves_a_zone_closes_the_others_again() -> None:
    cluster = zoned(Cluster(rules=(*RULES, ZoneSpread(1))), 1)
    for zone in ZONES:
        cluster.apply(app_pod(f"runs-{zone}", on=f"{zone}0"))
    cluster.remove(Pod, ObjectKey("default", "runs-b"))

    assert place(cluster, app_pod("p")) == {"p": "b"}


def test_the_message_says_which_zones_are_closed_and_why() -> None:
    cluster = zoned(Cluster(rules=(*RULES, ZoneSpread(1))), 1, zones=("a", "b"))
    cluster.apply(node("far"))
    cluster.apply(node("full", labels={ZONE: "c"}, allocatable={"cpu": "0", "pods": "0"}))
    for zone in ("a", "b"):
        cluster.apply(app_pod(f"runs-{zone}", on=f"{zone}0"))

    text = message_of(cluster, app_pod("p"))

    assert "on 2: 1 more of its app than in the emptiest zone already" in text
    assert "on 1: without a zone" in text


def test_a_running_pod_keeps_others_out_of_its_zone_that_ask_for_nothing() -> None:
    cluster = zoned(Cluster(rules=(*RULES, KeptOut())), 1, zones=("a", "b"))
    cluster.apply(app_pod("loud", "", on="a0", keeps_out="web"))

    assert place(cluster, app_pod("p"), app_pod("q"), app_pod("other", "db")).items() >= {"p": "b", "q": "b"}.items()


def test_a_label_that_a_running_pod_loses_lets_others_in() -> None:
    cluster = zoned(Cluster(rules=(*RULES, KeptOut())), 1, zones=("a",))
    cluster.apply(app_pod("loud", "", on="a0", keeps_out="web"))
    assert message_of(cluster, app_pod("p")) == "0/1 nodes fit: on 1: in its zone a pod keeps out app web"

    cluster.apply(app_pod("loud", "", on="a0"))

    assert place(cluster, app_pod("p")) == {"p": "a"}


def test_a_node_that_changes_its_zone_takes_its_pods_along() -> None:
    cluster = zoned(Cluster(rules=(*RULES, KeptOut())), 1, zones=("a", "b"))
    cluster.apply(app_pod("loud", "", on="a0", keeps_out="web"))
    cluster.apply(node("a0", labels={ZONE: "b"}))

    assert message_of(cluster, app_pod("p")) == "0/2 nodes fit: on 2: in its zone a pod keeps out app web"


def test_pods_count_that_were_seen_before_their_node() -> None:
    cluster = Cluster(rules=(*RULES, KeptOut()))
    cluster.apply(app_pod("loud", "", on="a0", keeps_out="web"))
    zoned(cluster, 1, zones=("a",))

    assert place(cluster, app_pod("p")) == {}


def test_the_loop_lets_a_pod_in_once_a_decision_about_another_has_opened_its_zone() -> None:
    scheduler = Scheduler(rules=(*RULES, ZoneSpread(1)))
    scheduler.observe(LeadershipChanged(is_leading=True), 0.0)
    zoned_objects = zoned(Cluster(), 1, zones=("a", "b"))
    for state in zoned_objects.nodes.values():
        scheduler.observe(ObjectChanged(state.node), 0.0)
    scheduler.observe(ObjectChanged(app_pod("runs", on="a0")), 0.0)
    first, second = only_in("a", app_pod("bound-to-a")), only_in("b", app_pod("free"))
    scheduler.observe(ObjectChanged(first), 0.0)
    assert not scheduler.decide(0.0).bind_groups
    scheduler.observe(ObjectChanged(second), 0.0)

    placed = [one.pod.metadata.name for group in _until_quiet(scheduler) for one in group]

    assert placed == ["free", "bound-to-a"]


def _until_quiet(scheduler: Scheduler) -> Iterable[Iterable[Assignment]]:
    for now in range(1, 4):
        for group in scheduler.decide(float(now)).bind_groups:
            yield group.members


@pytest.mark.parametrize(("zones", "asked"), [(3, [10, 4, 4, 8, 4, 4, 8]), (6, [19, 4, 4, 4, 4, 4, 17])])
def test_a_placement_looks_again_only_at_nodes_of_zones_that_were_closed_or_opened(
    zones: int, asked: list[int]
) -> None:
    """Three nodes a zone: a placement closes its zone, and the one that makes all equal opens the other ones.

    One more each time is the node that was chosen, which is asked for the devices once it is.
    """
    rule = ZoneSpread(1)
    cluster = zoned(Cluster(rules=(*RULES, rule)), 3, zones="abcdef"[:zones])
    looks = []
    for number in range(len(asked)):
        before = rule.asked
        assert place(cluster, app_pod(f"p{number}"))
        looks.append(rule.asked - before)

    assert looks == asked


def test_pods_that_no_zone_is_closed_to_look_at_no_node_again() -> None:
    rule = KeptOut()
    cluster = zoned(Cluster(rules=(*RULES, rule)), 50)
    place(cluster, app_pod("p"))
    before = rule.asked
    place(cluster, app_pod("loud", "db", keeps_out="cache"))
    place(cluster, app_pod("q"))

    # For app db all nodes are asked once; for app web the one that has got pods since; and whichever is chosen again.
    assert rule.asked - before == 151 + 2


def test_what_a_statement_undoes_is_asked_nowhere_again() -> None:
    rule = ZoneSpread(1)
    cluster = zoned(Cluster(rules=(*RULES, rule)), 10)
    place(cluster, app_pod("p"))
    place(cluster, app_pod("q"))
    place(cluster, app_pod("r"))
    cluster.forget("uid-default-r")
    place(cluster, app_pod("r"))
    runs = cluster.pod(ObjectKey("default", "p"))
    assert runs is not None
    with cluster.statement() as trial:
        trial.evict(runs, EvictedAs.GONE)
    before = rule.asked

    place(cluster, app_pod("s"))

    assert rule.asked - before <= 31


@pytest.mark.parametrize("seed", range(60))
def test_zones_are_closed_as_counting_all_pods_anew_closes_them(seed: int) -> None:
    world = random.Random(seed)
    most = world.randint(1, 2)
    cluster = Cluster(rules=(*RULES, ZoneSpread(most), KeptOut()))
    running: dict[str, Pod] = {}
    for step in range(25):
        _change(world, cluster, running, step)
        wanted = app_pod(f"wanted-{step}", world.choice(("web", "db")))
        cluster.apply(wanted)
        (outcome,) = schedule(cluster, [wanted]).outcomes
        allowed = _allowed(cluster, running.values(), wanted, most)
        if isinstance(outcome, Assignment):
            assert outcome.node in allowed
            cluster.forget(wanted.metadata.uid)
        else:
            assert not allowed
        cluster.remove(Pod, wanted.key)


def _change(world: random.Random, cluster: Cluster, running: dict[str, Pod], step: int) -> None:
    if not cluster.nodes or world.random() < 0.3:
        labels = {ZONE: world.choice(ZONES)} if world.random() < 0.9 else {}
        cluster.apply(node(f"n{world.randrange(5)}", labels=labels))
    elif running and world.random() < 0.4:
        name = world.choice(sorted(running))
        cluster.remove(Pod, running.pop(name).key)
    else:
        keeps_out = world.choice(("", "", "", "web", "db"))
        name, on = f"runs-{step}", world.choice(sorted(cluster.nodes))
        running[name] = app_pod(name, world.choice(("web", "db", "")), on=on, keeps_out=keeps_out)
        cluster.apply(running[name])
    if world.random() < 0.3:
        _undo_something(world, cluster, running)


def _undo_something(world: random.Random, cluster: Cluster, running: Mapping[str, Pod]) -> None:
    with cluster.statement() as trial:
        for one in world.sample(sorted(running), k=min(2, len(running))):
            trial.evict(running[one], EvictedAs.GONE)
        looked = app_pod("looks", "web")
        cluster.apply(looked)
        schedule(cluster, [looked])
        cluster.forget(looked.metadata.uid)
        cluster.remove(Pod, looked.key)


def _allowed(cluster: Cluster, running: Iterable[Pod], wanted: Pod, most: int) -> set[str]:
    app = wanted.metadata.labels[APP]
    zone_of = {name: state.node.metadata.labels.get(ZONE) for name, state in cluster.nodes.items()}
    counts = Counter(dict.fromkeys((zone for zone in zone_of.values() if zone is not None), 0))
    kept_out = set()
    for one in running:
        zone = zone_of[one.spec.node_name]
        if zone is not None:
            counts[zone] += one.metadata.labels.get(APP) == app
            if one.metadata.labels.get(KEEPS_OUT) == app:
                kept_out.add(zone)
    least = min(counts.values(), default=0)
    return {
        name
        for name, zone in zone_of.items()
        if zone is not None and counts[zone] < least + most and zone not in kept_out
    }
