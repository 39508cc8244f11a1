"""Long searches remember what failed: only where all that the rest depends on is the same must they skip it."""

from collections.abc import Sequence

import pytest

from dra_scheduling.allocation.constraints import Constraint, DistinctAttribute, MatchAttribute
from dra_scheduling.allocation.search import STEPS_BEFORE_MEMORY, Demand, Found, search

Wanted = tuple[int, int, tuple[int, ...]]
"""Candidates as bits, how many, and the rules."""


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (
            [DistinctAttribute([930, 93]), MatchAttribute([264, 577, 130, 52])],
            [(884, 2, (0,)), (830, 2, ()), (1023, 1, (1,)), (67, 2, ()), (763, 2, (1,))],
        ),
        (
            [MatchAttribute([12, 80, 419]), MatchAttribute([329, 132, 34, 16])],
            [(447, 2, ()), (475, 1, (0, 1)), (251, 2, ()), (33, 1, (0,)), (182, 1, (0, 1)), (381, 1, ())],
        ),
        (
            [MatchAttribute([39, 984])],
            [(1023, 2, ()), (1014, 1, ()), (38, 2, (0,)), (603, 2, (0,))],
        ),
    ],
    ids=["what values are used up", "which values are left", "which devices are free"],
)
def test_what_failed_is_tried_again_under_other(rules: Sequence[Constraint], wanted: Sequence[Wanted]) -> None:
    demands = [Demand(candidates=mask, wanted=count, rules=bound) for mask, count, bound in wanted]

    found = search(demands, rules, 10_000)

    assert isinstance(found, Found)
    assert found.steps > STEPS_BEFORE_MEMORY
