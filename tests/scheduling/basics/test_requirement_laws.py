"""The algebra of label requirements is the algebra of sets."""

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.model.node_selectors import OPERATORS, NodeSelectorRequirement

VALUES = st.sampled_from(["1", "2", "3", "03", "x", ""])
REQUIREMENTS = st.builds(
    lambda operator, values: Requirement.of(NodeSelectorRequirement("key", operator, tuple(values))),
    st.sampled_from(sorted(OPERATORS)),
    st.lists(VALUES, max_size=3),
)
SETS = st.recursive(REQUIREMENTS, lambda parts: st.builds(Requirement.intersect, parts, parts), max_leaves=4)
LABELS = st.none() | VALUES | st.integers(-1, 5).map(str)


@given(SETS, SETS, LABELS)
def test_a_label_is_in_the_intersection_if_it_is_in_both(
    one: Requirement, other: Requirement, label: str | None
) -> None:
    assert one.intersect(other).has(label) == (one.has(label) and other.has(label))


@given(SETS, SETS)
def test_intersection_is_commutative_to_the_letter(one: Requirement, other: Requirement) -> None:
    assert one.intersect(other) == other.intersect(one)


@given(SETS)
def test_intersection_with_itself_changes_nothing(one: Requirement) -> None:
    assert one.intersect(one) == one


@given(SETS, LABELS)
def test_nothing_qualifies_for_an_impossible_requirement(one: Requirement, label: str | None) -> None:
    assert not (one.is_impossible and one.has(label))


@given(SETS, SETS)
def test_requirements_are_compatible_if_their_intersection_is_possible(one: Requirement, other: Requirement) -> None:
    assert one.is_compatible(other) == (not one.intersect(other).is_impossible)
