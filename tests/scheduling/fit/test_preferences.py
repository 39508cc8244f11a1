import msgspec

from dra_builders.values import labelled, node, pod
from dra_scheduling.fit.preferences import avoided_taints, preferred_weight
from dra_scheduling.model.node_selectors import NodeSelectorTerm, PreferredSchedulingTerm, Taint, Toleration
from dra_scheduling.model.pods import Affinity, NodeAffinity, PodSpec

AVOID = Taint(key="slow", effect="PreferNoSchedule")


def preferring(*wishes: tuple[int, NodeSelectorTerm]) -> Affinity:
    terms = tuple(PreferredSchedulingTerm(weight=weight, preference=term) for weight, term in wishes)
    return Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=terms))


def test_the_weights_of_matching_terms_add_up() -> None:
    (zone_a,) = labelled(zone="a").node_selector_terms
    (ssd,) = labelled(disk="ssd").node_selector_terms
    value = msgspec.structs.replace(pod("p"), spec=PodSpec(affinity=preferring((10, zone_a), (3, ssd))))

    assert preferred_weight(value, node("n1", labels={"zone": "a", "disk": "ssd"})) == 13
    assert preferred_weight(value, node("n2", labels={"zone": "a"})) == 10
    assert preferred_weight(value, node("n3")) == 0


def test_an_empty_preference_is_worth_nothing() -> None:
    value = msgspec.structs.replace(pod("p"), spec=PodSpec(affinity=preferring((10, NodeSelectorTerm()))))

    assert preferred_weight(value, node("n1")) == 0


def test_only_advising_taints_that_are_not_tolerated_count() -> None:
    tolerant = msgspec.structs.replace(pod("p"), spec=PodSpec(tolerations=(Toleration(key="slow", operator="Exists"),)))
    where = node("n1", taints=[AVOID, Taint(key="hot", effect="PreferNoSchedule"), Taint(key="x", effect="NoSchedule")])

    assert avoided_taints(pod("p"), where) == 2
    assert avoided_taints(tolerant, where) == 1
