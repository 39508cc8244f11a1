import msgspec
import pytest

from dra_builders.values import labelled, node, on_node, pod
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.fit.rules import RULES, BarePod, prepare, static_refusal
from dra_scheduling.model.node_selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
    Toleration,
)
from dra_scheduling.model.pods import Affinity, Node, NodeAffinity, NodeSpec, Pod, PodSpec
from dra_scheduling.state.node_state import NodeState

GPU_TAINT = Taint(key="dedicated", value="gpu", effect="NoSchedule")


def with_spec(spec: PodSpec) -> Pod:
    return msgspec.structs.replace(pod("p"), spec=spec)


def cordoned(*taints: Taint) -> Node:
    return msgspec.structs.replace(node("n1"), spec=NodeSpec(unschedulable=True, taints=taints))


def affine(selector: NodeSelector) -> Pod:
    required = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    return with_spec(PodSpec(affinity=Affinity(node_affinity=required)))


def is_choosy(value: Pod) -> bool:
    return any(check.rule.minds_plain_hosts for check in prepare(RULES, BarePod(value)))


def message(value: Pod, where: Node) -> str | None:
    refusal = static_refusal(value, where)
    return None if refusal is None else refusal.message


def test_a_plain_pod_goes_to_a_plain_node() -> None:
    assert static_refusal(pod("p"), node("n1")) is None


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    assert static_refusal(pod("p", node_name="n1"), node("n1")) is None
    assert message(pod("p", node_name="n1"), node("n2")) == "not the node n1 of spec.nodeName"


def test_every_label_of_the_node_selector_must_match() -> None:
    value = with_spec(PodSpec(node_selector={"zone": "a", "disk": "ssd"}))

    assert static_refusal(value, node("n1", labels={"zone": "a", "disk": "ssd"})) is None
    assert message(value, node("n2", labels={"zone": "a"})) == "outside of node selector disk=ssd,zone=a"


def test_required_affinity_must_match_in_one_term() -> None:
    value = affine(labelled(zone="a"))

    assert static_refusal(value, node("n1", labels={"zone": "a"})) is None
    assert message(value, node("n2", labels={"zone": "b"})) == "outside of required node affinity (zone In a)"


def test_required_affinity_may_name_the_node_itself() -> None:
    assert static_refusal(affine(on_node("n1")), node("n1")) is None
    assert static_refusal(affine(on_node("n1")), node("n2")) is not None


@pytest.mark.parametrize("selector", [NodeSelector(), NodeSelector(node_selector_terms=(NodeSelectorTerm(),))])
def test_required_affinity_without_any_requirement_matches_no_node(selector: NodeSelector) -> None:
    assert static_refusal(affine(selector), node("n1")) is not None


def test_a_long_affinity_is_cut_in_the_message() -> None:
    values = tuple(f"value-{number}" for number in range(100))
    requirement = NodeSelectorRequirement(key="zone", operator="In", values=values)
    text = message(affine(NodeSelector((NodeSelectorTerm((requirement,)),))), node("n1"))

    assert text is not None
    assert text.endswith("...)")
    assert len(text) < 250


@pytest.mark.parametrize(
    ("tolerations", "is_refused"),
    [
        ((), True),
        ((Toleration(key="dedicated", value="gpu"),), False),
        ((Toleration(key="dedicated", value="cpu"),), True),
        ((Toleration(key="dedicated", operator="Exists"),), False),
        ((Toleration(operator="Exists"),), False),
        ((Toleration(key="dedicated", value="gpu", effect="NoExecute"),), True),
        ((Toleration(key="other", operator="Exists"), Toleration(operator="Exists", effect="NoSchedule")), False),
    ],
)
def test_a_taint_refuses_pods_that_do_not_tolerate_it(tolerations: tuple[Toleration, ...], *, is_refused: bool) -> None:
    refusal = static_refusal(with_spec(PodSpec(tolerations=tolerations)), node("n1", taints=[GPU_TAINT]))

    assert (refusal is not None) == is_refused


def test_the_untolerated_taint_is_named() -> None:
    tolerated = Taint(key="dedicated", value="gpu", effect="NoSchedule")
    broken = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
    value = with_spec(PodSpec(tolerations=(Toleration(key="dedicated", operator="Exists"),)))

    text = message(value, node("n1", taints=[tolerated, broken]))
    assert text == "with untolerated taint node.kubernetes.io/not-ready:NoExecute"


def test_taints_that_only_advise_refuse_nothing() -> None:
    assert static_refusal(pod("p"), node("n1", taints=[Taint(key="slow", effect="PreferNoSchedule")])) is None


def test_a_cordoned_node_takes_only_pods_that_tolerate_it() -> None:
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    daemon = with_spec(PodSpec(tolerations=(Toleration(key=taint.key, operator="Exists"),)))

    assert message(pod("p"), cordoned(taint)) == "unschedulable (cordoned)"
    assert static_refusal(daemon, cordoned(taint)) is None


def test_only_a_change_of_the_node_can_help() -> None:
    refusal = static_refusal(pod("p"), cordoned())

    assert refusal is not None
    assert refusal.wake == ClusterEvent.NODE


@pytest.mark.parametrize(
    "value",
    [
        pod("p", node_name="n2"),
        with_spec(PodSpec(node_selector={"zone": "b"})),
        affine(on_node("n2")),
    ],
)
def test_a_pod_that_a_plain_node_does_not_suit_is_choosy(value: Pod) -> None:
    assert static_refusal(value, node("n1")) is not None
    assert is_choosy(value)


@pytest.mark.parametrize("where", [cordoned(), node("n1", taints=[GPU_TAINT])])
def test_a_node_that_does_not_take_a_plain_pod_is_guarded(where: Node) -> None:
    assert static_refusal(pod("p"), where) is not None
    assert NodeState(where, {}).is_guarded


def test_a_plain_pod_is_not_choosy_and_a_plain_node_not_guarded() -> None:
    assert not is_choosy(pod("p"))
    assert not NodeState(node("n1", labels={"zone": "a"}), {}).is_guarded
