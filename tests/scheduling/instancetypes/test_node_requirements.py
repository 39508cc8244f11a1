import pytest

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.model.nodeclaims import NodeRequirement
from dra_scheduling.wire import InvalidObjectError, read_as


def requirement(operator: str, *values: str) -> Requirement:
    return Requirement.of(NodeRequirement(key="cpus", operator=operator, values=values))


@pytest.mark.parametrize(
    ("operator", "values", "allowed"),
    [
        ("In", ("4", "8"), {"4", "8"}),
        ("NotIn", ("4",), {"3", "5", "8", "x", None}),
        ("Exists", (), {"3", "4", "5", "8", "x"}),
        ("DoesNotExist", (), {None}),
        ("Gt", ("4",), {"5", "8"}),
        ("Gte", ("4",), {"4", "5", "8"}),
        ("Lt", ("5",), {"3", "4"}),
        ("Lte", ("5",), {"3", "4", "5"}),
        ("Gte", ("many",), set()),
        ("Lte", (), set()),
        ("Gte", ("4", "5"), set()),
    ],
)
def test_an_operator_allows(operator: str, values: tuple[str, ...], allowed: set[str | None]) -> None:
    wanted = requirement(operator, *values)

    assert {value for value in ("3", "4", "5", "8", "x", None) if wanted.has(value)} == allowed


def test_bounds_that_meet_in_one_number_allow_it() -> None:
    assert requirement("Gte", "4").intersect(requirement("Lte", "4")).has("4")


def test_bounds_that_cross_allow_nothing() -> None:
    assert requirement("Gte", "5").intersect(requirement("Lte", "4")).is_impossible


def test_an_operator_that_there_is_not_is_refused_by_its_path() -> None:
    with pytest.raises(InvalidObjectError, match="unknown operator 'Is', expected one of In, NotIn"):
        read_as(NodeRequirement, {"key": "a", "operator": "Is"})
