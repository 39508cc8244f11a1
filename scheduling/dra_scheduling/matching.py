"""matchAttribute rules on one node: the groups of devices that agree, and those that are large enough."""

from collections.abc import Sequence

from dra_scheduling.asks import Ask
from dra_scheduling.board import Board
from dra_scheduling.claimspecs import MatchRule
from dra_scheduling.constraints import MatchAttribute
from dra_scheduling.reasons import Refusal
from dra_scheduling.refusals import attribute_missing, constraint_not_met
from dra_scheduling.search import Demand


def match_attribute(
    rule: MatchRule, asks: Sequence[Ask], demands: Sequence[Demand], board: Board
) -> MatchAttribute | Refusal:
    """Return the rule as a constraint over those values that could satisfy it alone, or the proof that none can.

    `asks` and `demands` are the requests that the rule binds, in step.
    """
    groups = list(board.groups(rule.attribute).values())
    known = 0
    for group in groups:
        known |= group
    for ask, demand in zip(asks, demands, strict=True):
        if not demand.candidates & known:
            return attribute_missing(ask, rule.attribute)
    wanted = sum(demand.wanted for demand in demands)
    sizes = [_reach(group, demands) for group in groups]
    large_enough = [group for group, size in zip(groups, sizes, strict=True) if size == wanted]
    if not large_enough:
        return constraint_not_met(asks, rule.attribute, wanted, max(sizes))
    return MatchAttribute(large_enough)


def _reach(group: int, demands: Sequence[Demand]) -> int:
    """Return how many of the wanted devices the group could give at most."""
    union = total = 0
    for demand in demands:
        part = demand.candidates & group
        union |= part
        total += min(demand.wanted, part.bit_count())
    return min(total, union.bit_count())
