"""A rule that is added to the rulebook has its say wherever pods and nodes meet, and nothing else is changed for it."""

from typing import ClassVar

from dra_builders.values import node, pod
from dra_cases.turns import NOW, Play
from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.disruption.simulate_scheduling import simulate_without
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted, refused
from dra_scheduling.fit.rules import RULES
from dra_scheduling.model.node_selectors import NodeSelectorRequirement, NodeSelectorTerm
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Unschedulable
from dra_simulator.explain.explain_pod import explain_with_supply
from dra_simulator.explain.node_rows import view_of

TENANT = "example.com/namespace"
EXPERIMENT = "example.com/experiment"


class NamespaceNodes(Rule[str]):
    """Keeps pods off nodes that are labelled for another namespace than theirs, or for none."""

    name: ClassVar[str] = "NamespaceNodes"

    def signature(self, pod: Pod) -> object:
        return pod.metadata.namespace

    def prepare(self, wanted: Wanted, _: RuleView) -> str:
        return wanted.pod.metadata.namespace

    def narrow(self, prepared: str) -> tuple[NodeSelectorTerm, ...]:
        namespace = NodeSelectorRequirement(key=TENANT, operator="In", values=(prepared,))
        return (NodeSelectorTerm(match_expressions=(namespace,)),)

    def filter(self, prepared: str, host: Host) -> Refusal | None:
        if host.node.metadata.labels.get(TENANT) == prepared:
            return None
        return refused("OtherNamespace", f"not for namespace {prepared}")


class NoExperiments(Rule[str]):
    """Keeps pods of other namespaces than `lab` off hosts with an experimental taint, even if they tolerate it."""

    name: ClassVar[str] = "NoExperiments"
    minds_plain_hosts: ClassVar[bool] = False

    def signature(self, pod: Pod) -> object:
        return pod.metadata.namespace == "lab"

    def prepare(self, wanted: Wanted, _: RuleView) -> str | None:
        return None if wanted.pod.metadata.namespace == "lab" else EXPERIMENT

    def filter(self, prepared: str, host: Host) -> Refusal | None:
        if any(taint.key == prepared for taint in host.node.spec.taints):
            return refused("Experiment", "part of an experiment")
        return None


def tenants() -> Cluster:
    cluster = Cluster(rules=(*RULES, NamespaceNodes()))
    for name, namespace in (("n1", "red"), ("n2", "blue")):
        cluster.apply(node(name, labels={TENANT: namespace}))
    return cluster


def shape(cluster: Cluster, item: Pod) -> PodClass:
    found = cluster.shapes.shape_of(item, ResolvedClaims(), cluster.classes)
    assert isinstance(found, PodClass)
    return found


def test_pods_go_where_an_added_rule_lets_them() -> None:
    cluster = tenants()
    pods = [pod("p", namespace="blue"), pod("q", namespace="red")]
    for item in pods:
        cluster.apply(item)
    placed = [one for one in schedule(cluster, pods).outcomes if isinstance(one, Assignment)]
    assert {one.pod.metadata.name: one.node for one in placed} == {"p": "n2", "q": "n1"}


def test_the_message_on_the_pod_names_what_an_added_rule_says() -> None:
    cluster = tenants()
    lost = pod("p", namespace="green")
    cluster.apply(lost)
    (outcome,) = schedule(cluster, [lost]).outcomes
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/2 nodes fit: on 2: not for namespace green"


def test_explain_tells_an_added_rule_besides_what_others_say() -> None:
    cluster = tenants()
    wanted = pod("p", namespace="red", node_name="n1")
    view = view_of(cluster, shape(cluster, wanted), cluster.nodes["n2"], SearchBudget())
    assert [one.reason for one in view.obstacles] == ["NodeNameMismatch", "OtherNamespace"]


def test_what_an_added_rule_reads_tells_classes_of_pods_apart() -> None:
    red, blue = pod("p", namespace="red"), pod("p", namespace="blue")
    assert shape(Cluster(), red).plain_checks == ()
    plain = Cluster()
    assert shape(plain, red) is shape(plain, blue)
    cluster = tenants()
    assert shape(cluster, red) is not shape(cluster, blue)


def test_a_plan_makes_the_node_that_an_added_rule_demands_and_says_where_none_can_be() -> None:
    play = Play()
    play.cluster = tenants()
    pools = {name: {"needs": {TENANT: name}} for name in ("red", "green")}
    play.add({"pools": pools, "types": {"t": {}}})
    for name, namespace in (("p", "green"), ("q", "grey")):
        play.cluster.apply(pod(name, namespace=namespace))
    turn = play.turn()
    assert [one["pool"] for one in turn.makes] == ["green"]
    assert f"requires {TENANT} grey" in turn.refuses["q"]


def test_a_plan_asks_an_added_rule_that_is_not_about_labels() -> None:
    play = Play()
    play.cluster = Cluster(rules=(*RULES, NoExperiments()))
    play.add({"pools": {"trial": {"taints": [f"{EXPERIMENT}:PreferNoSchedule"]}}, "types": {"t": {}}})
    play.cluster.apply(pod("p"))
    play.cluster.apply(pod("q", namespace="lab"))
    turn = play.turn()
    assert [one["pods"] for one in turn.makes] == [["q"]]
    assert "NodePool trial: part of an experiment" in turn.refuses["p"]


def test_what_if_a_node_goes_an_added_rule_says_where_its_pods_can_be() -> None:
    cluster = tenants()
    cluster.apply(node("n3", labels={TENANT: "red"}))
    cluster.apply(pod("p", namespace="red", node_name="n1"))
    cluster.apply(pod("q", namespace="blue", node_name="n2"))
    moved = simulate_without(cluster, ["n1"])
    assert [(one.pod.metadata.name, one.node) for one in moved.moves] == [("p", "n3")]
    (stuck,) = simulate_without(cluster, ["n2"]).stuck
    assert stuck.pod.metadata.name == "q"


def test_explain_tells_an_added_rule_of_nodes_and_of_instance_types() -> None:
    play = Play()
    play.cluster = Cluster(rules=(*RULES, NamespaceNodes(), NoExperiments()))
    play.cluster.apply(node("n1", labels={TENANT: "red"}))
    pools = {"blue": {"needs": {TENANT: "blue"}, "taints": [f"{EXPERIMENT}:NoSchedule"]}}
    play.add({"pools": pools, "types": {"t": {}}})
    lost = pod("p", namespace="green")
    play.cluster.apply(lost)
    story = explain_with_supply(play.cluster, lost, NOW)
    (group,) = story.nodes
    assert [one.reason for one in group.reasons] == ["OtherNamespace"]
    assert story.supply is not None
    (types,) = story.supply.groups
    assert [one.reason for one in types.view.refusals] == ["UntoleratedTaint", "Experiment", "RequirementsConflict"]
