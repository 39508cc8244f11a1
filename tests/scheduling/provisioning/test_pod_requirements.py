"""In which order what pods wish of a node is given up."""

import pytest

from dra_cases.planning import Json, needs_of
from dra_cases.worlds import pod_spec
from dra_scheduling.fit.rules import RULES, demands
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.pod_requirements import MAX_VARIANTS, Variant, variants
from dra_scheduling.wire import read_as


def of(said: Json) -> tuple[Variant, ...]:
    pod = read_as(Pod, {"metadata": {"name": "p"}, "spec": pod_spec(said)})
    return variants(pod, demands(RULES, pod))


def held(said: Json) -> list[tuple[list[str], bool]]:
    """The labels that each variant demands, and whether it avoids."""
    return [(sorted(needs_of(one.requirements or ())), one.avoids) for one in of(said)]


def preferring(*weights: int) -> Json:
    return {"prefers": [{"weight": weight, f"w{weight}": "x"} for weight in weights]}


def test_a_pod_without_wishes_has_one_variant_and_one_that_avoids_nothing() -> None:
    assert held({"selector": {"team": "red"}}) == [(["team"], True), (["team"], False)]


def test_wishes_are_given_up_by_the_sum_of_weights_and_what_is_avoided_last() -> None:
    assert held(preferring(5, 3, 1)) == [
        (["w1", "w3", "w5"], True),
        (["w3", "w5"], True),
        (["w1", "w5"], True),
        (["w5"], True),
        (["w1", "w3"], True),
        (["w3"], True),
        (["w1"], True),
        ([], True),
        ([], False),
    ]


def test_of_equal_sums_more_wishes_are_held() -> None:
    assert [one for one, _ in held(preferring(3, 2, 1))][3:5] == [["w1", "w2"], ["w3"]]


def test_of_many_wishes_the_lightest_are_given_up_one_by_one() -> None:
    found = [one for one, _ in held(preferring(*range(1, 8)))]

    assert [len(one) for one in found[:5]] == [7, 6, 5, 4, 3]
    assert found[3] == ["w4", "w5", "w6", "w7"]


def test_each_required_term_is_tried_at_every_level() -> None:
    said = {"needs": [{"zone": "z1"}, {"zone": "z2"}], **preferring(1)}

    assert [one for one, _ in held(said)] == [["w1", "zone"]] * 2 + [["zone"]] * 4
    assert [one.avoids for one in of(said)] == [True] * 4 + [False] * 2


@pytest.mark.parametrize("terms", [1, 2, 10, 31, 32, 33, 100])
def test_no_required_term_is_left_out_however_many_there_are(terms: int) -> None:
    found = of({"needs": [{"zone": f"z{number}"} for number in range(terms)], **preferring(1, 2, 3, 4)})
    plain = [one for one in found if not one.avoids]

    assert len(plain) == terms
    assert len(found) <= max(MAX_VARIANTS, 2 * terms)


def test_a_selector_without_terms_is_met_by_nothing() -> None:
    spec = pod_spec({})
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": []}
    pod = read_as(Pod, {"metadata": {"name": "p"}, "spec": spec})
    found = variants(pod, demands(RULES, pod))

    assert [one.requirements for one in found] == [None, None]
    assert not any(one.matches("n1", {}) for one in found)
