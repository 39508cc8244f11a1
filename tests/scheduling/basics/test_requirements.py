"""Node selectors match as Kubernetes matches them, and label requirements are sets."""

import pytest

from dra_scheduling.basics.requirements import Requirement, matches, term_matches, whole_number
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

LABELS = {"zone": "a", "size": "10", "word": "ten", "empty": ""}


def condition(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def on_labels(*conditions: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=conditions)


@pytest.mark.parametrize(
    ("written", "holds"),
    [
        (condition("zone", "In", "a", "b"), True),
        (condition("zone", "In", "b"), False),
        (condition("zone", "In"), False),
        (condition("absent", "In", ""), False),
        (condition("empty", "In", ""), True),
        (condition("zone", "NotIn", "b"), True),
        (condition("zone", "NotIn", "a"), False),
        (condition("absent", "NotIn", "a"), True),
        (condition("zone", "Exists"), True),
        (condition("absent", "Exists"), False),
        (condition("absent", "DoesNotExist"), True),
        (condition("zone", "DoesNotExist"), False),
        (condition("size", "Gt", "9"), True),
        (condition("size", "Gt", "10"), False),
        (condition("size", "Lt", "11"), True),
        (condition("size", "Lt", "10"), False),
        (condition("absent", "Gt", "0"), False),
        (condition("word", "Gt", "0"), False),
        (condition("size", "Gt", "nine"), False),
        (condition("size", "Gt"), False),
        (condition("size", "Gt", "1", "2"), False),
    ],
)
def test_a_condition_on_a_label_holds_as_the_api_says(written: NodeSelectorRequirement, *, holds: bool) -> None:
    assert term_matches(on_labels(written), "n", LABELS) is holds


def test_all_conditions_of_a_term_must_hold() -> None:
    term = on_labels(condition("zone", "In", "a"), condition("size", "Gt", "10"))
    assert not term_matches(term, "n", LABELS)


def test_one_of_the_terms_is_enough() -> None:
    terms = (on_labels(condition("zone", "In", "b")), on_labels(condition("zone", "In", "a")))
    assert matches(NodeSelector(node_selector_terms=terms), "n", LABELS)


def test_neither_an_empty_term_nor_a_selector_without_terms_selects_a_node() -> None:
    assert not matches(NodeSelector(node_selector_terms=(NodeSelectorTerm(),)), "n", LABELS)
    assert not matches(NodeSelector(), "n", LABELS)


@pytest.mark.parametrize(
    ("written", "holds"),
    [
        (condition("metadata.name", "In", "n"), True),
        (condition("metadata.name", "NotIn", "n"), False),
        (condition("metadata.uid", "In", "n"), False),
        (condition("metadata.uid", "NotIn", "n"), False),
    ],
)
def test_a_field_condition_can_only_be_about_the_nodes_name(written: NodeSelectorRequirement, *, holds: bool) -> None:
    assert term_matches(NodeSelectorTerm(match_fields=(written,)), "n", LABELS) is holds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("07", 7),
        ("", None),
        ("7.0", None),
        ("\N{ARABIC-INDIC DIGIT SEVEN}", None),
        ("9" * 30, None),
        ("9" * 5_000, None),
        ("0" * 5_000 + "7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
    ],
)
def test_only_plain_64_bit_numbers_are_compared(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_bounds_that_leave_no_number_between_them_are_impossible() -> None:
    above = Requirement.of(condition("size", "Gt", "5"))
    below = Requirement.of(condition("size", "Lt", "6"))
    assert above.intersect(below).is_impossible
    assert not above.is_compatible(below)


def test_two_ways_to_say_the_same_are_equal() -> None:
    bounded = Requirement.of(condition("size", "Gt", "5")).intersect(Requirement.of(condition("size", "In", "4", "6")))
    assert bounded == Requirement.of(condition("size", "In", "6"))


def test_requirements_on_different_labels_do_not_intersect() -> None:
    with pytest.raises(ValueError, match="zone and size"):
        Requirement.of(condition("zone", "Exists")).intersect(Requirement.of(condition("size", "Exists")))
