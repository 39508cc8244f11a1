"""Rules across nodes have their say in plans, in what-if and in explanations, and nothing of these outlasts them."""

from collections.abc import Mapping

from dra_builders.values import node, pod
from dra_cases.domain_rules import APP, KEEPS_OUT, ZONE, KeptOut, ZoneSpread
from dra_cases.turns import NOW, Play, Turn
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.simulate_scheduling import simulate_without
from dra_scheduling.fit.rules import RULES
from dra_scheduling.model.pods import Pod
from dra_simulator.explain.explain_pod import explain_with_supply

SUPPLY = {"pools": {"p": {}}, "types": {"t": {"cpu": 4, "zones": ["z1", "z2", "z3"]}}}


def play(*rules: ZoneSpread | KeptOut) -> Play:
    found = Play()
    found.cluster = Cluster(rules=(*RULES, *rules))
    found.add(SUPPLY)
    return found


def app_pod(name: str, app: str = "web", *, on: str = "", keeps_out: str = "") -> Pod:
    return pod(name, labels={APP: app} | ({KEEPS_OUT: keeps_out} if keeps_out else {}), node_name=on)


def zones_of(turn: Turn) -> Mapping[tuple[str, ...], object]:
    """Return the zones that NodeClaims may be in, by their pods."""
    return {tuple(one["pods"]): one["needs"].get("zone", "any") for one in turn.makes}


def test_nodes_are_planned_in_the_zones_that_a_rule_leaves_open_as_the_plan_itself_fills_them() -> None:
    world = play(ZoneSpread(1))
    for zone in ("z1", "z2", "z3"):
        world.cluster.apply(node(f"full-{zone}", labels={ZONE: zone}, allocatable={"pods": "1"}))
        world.cluster.apply(pod(f"fills-{zone}", node_name=f"full-{zone}"))
    for number in range(4):
        world.cluster.apply(app_pod(f"w{number}"))

    zones = zones_of(world.turn())

    # The fourth pod is in the zone of the first again, on its node.
    assert zones == {("w0", "w3"): ["z1"], ("w1",): ["z2"], ("w2",): ["z3"]}


def test_a_plan_leaves_nothing_behind_that_rules_count() -> None:
    world = play(ZoneSpread(1))
    world.cluster.apply(node("n1", labels={ZONE: "z1"}))
    world.cluster.apply(node("n2", labels={ZONE: "z2"}, allocatable={"pods": "0"}))
    world.cluster.apply(app_pod("first"))
    assert world.turn().binds == {"first": "n1"}
    world.cluster.apply(app_pod("planned"))
    assert zones_of(world.turn()) == {("planned",): ["z2"]}
    world.cluster.apply(node("n2", labels={ZONE: "z2"}))
    world.cluster.apply(app_pod("another"))

    assert world.turn().binds.keys() == {"planned", "another"}


def test_no_node_is_planned_in_a_zone_that_a_running_pod_keeps_the_pod_out_of() -> None:
    world = play(KeptOut())
    world.cluster.apply(node("n1", labels={ZONE: "z1"}))
    world.cluster.apply(app_pod("loud", "db", on="n1", keeps_out="web"))
    world.cluster.apply(app_pod("w0"))

    assert zones_of(world.turn()) == {("w0",): ["z2"]}


def test_pods_of_one_plan_that_keep_others_out_get_zones_of_their_own() -> None:
    world = play(KeptOut())
    world.cluster.apply(app_pod("a", "loud", keeps_out="web"))
    world.cluster.apply(app_pod("b"))

    zones = zones_of(world.turn())

    assert zones == {("a",): ["z1"], ("b",): ["z2"]}


def test_a_pod_says_that_every_zone_of_new_nodes_is_closed_to_it() -> None:
    world = play(KeptOut())
    for zone in ("z1", "z2", "z3"):
        world.cluster.apply(node(zone, labels={ZONE: zone}))
        world.cluster.apply(app_pod(f"loud-{zone}", "db", on=zone, keeps_out="web"))
    lost = app_pod("w0")
    world.cluster.apply(lost)

    assert "NodePool p: in its zone a pod keeps out app web" in world.turn().refuses["w0"]
    story = explain_with_supply(world.cluster, lost, NOW)
    (group,) = story.nodes
    assert [one.reason for one in group.reasons] == ["KeptOut"]
    assert story.supply is not None
    (types,) = story.supply.groups
    assert [one.reason for one in types.view.refusals] == ["KeptOut"]


def test_what_if_counts_pods_where_they_would_be() -> None:
    cluster = Cluster(rules=(*RULES, ZoneSpread(1)))
    for name, zone in (("n1", "z1"), ("n2", "z2"), ("n3", "z2")):
        cluster.apply(node(name, labels={ZONE: zone}))
    cluster.apply(app_pod("p", on="n1"))
    cluster.apply(app_pod("q", on="n2"))
    cluster.apply(node("n4", labels={ZONE: "z1"}, allocatable={"pods": "1"}))

    moved = simulate_without(cluster, ["n1", "n2"])

    # Whichever is first closes the zone that it goes to, so that the other one has to go to the other zone.
    assert sorted(one.node for one in moved.moves) == ["n3", "n4"]


def test_what_if_says_that_a_zone_would_be_closed() -> None:
    cluster = Cluster(rules=(*RULES, KeptOut()))
    cluster.apply(node("n1", labels={ZONE: "z1"}))
    cluster.apply(node("n2", labels={ZONE: "z2"}))
    cluster.apply(app_pod("loud", "db", on="n2", keeps_out="web"))
    cluster.apply(app_pod("w", on="n1"))

    (stuck,) = simulate_without(cluster, ["n1"]).stuck

    assert stuck.pod.metadata.name == "w"
