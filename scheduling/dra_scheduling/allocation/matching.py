"""matchAttribute rules on one node: the groups of devices that agree, and those that are large enough."""

from collections import Counter
from collections.abc import Sequence

from dra_scheduling.allocation.asks import Ask
from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.claimspecs import MatchRule
from dra_scheduling.allocation.constraints import MatchAttribute
from dra_scheduling.allocation.refusals import attribute_missing, bundles_missing, constraint_not_met
from dra_scheduling.allocation.search import Demand
from dra_scheduling.pools.selections import Selection
from dra_scheduling.reasons import Refusal

BundleKey = tuple[str, frozenset[tuple[tuple[Selection, int], int]]]


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


def bundle_shortage(
    asks: Sequence[Ask], demands: Sequence[Demand], rules: Sequence[MatchRule], constraints: Sequence[MatchAttribute]
) -> Refusal | None:
    """Return the proof that equal bundles of devices cannot all be formed, or None.

    A bundle is what one rule alone holds together, for example a GPU and a NIC of one PCIe root. Each value of the
    attribute gives so many bundles at most, and bundles of several claims compete for them.
    """
    for numbers in _equal_bundles(asks, rules).values():
        members = [index for index, ask in enumerate(asks) if numbers[0] in ask.rules]
        parts = [demands[index] for index in members]
        found = sum(_bundles_in(group, parts) for group in constraints[numbers[0]].distinctions)
        if found < len(numbers):
            bound = [ask for ask in asks if ask.rules and ask.rules[0] in numbers]
            return bundles_missing(bound, rules[numbers[0]].attribute, len(numbers), found)
    return None


def _equal_bundles(asks: Sequence[Ask], rules: Sequence[MatchRule]) -> dict[BundleKey, list[int]]:
    """Return the rules that want equal bundles, by what is in the bundle; what two rules bind is no bundle."""
    bundles: dict[BundleKey, list[int]] = {}
    for number, rule in enumerate(rules):
        members = [ask for ask in asks if number in ask.rules]
        if all(ask.rules == (number,) for ask in members):
            content = Counter((ask.request.selection, ask.request.wanted) for ask in members)
            bundles.setdefault((rule.attribute, frozenset(content.items())), []).append(number)
    return bundles


def _bundles_in(group: int, parts: Sequence[Demand]) -> int:
    """Return how many bundles the group could give at most."""
    wanted = Counter[int]()
    for part in parts:
        wanted[part.candidates & group] += part.wanted
    return min(mask.bit_count() // count for mask, count in wanted.items())


def _reach(group: int, demands: Sequence[Demand]) -> int:
    """Return how many of the wanted devices the group could give at most."""
    union = total = 0
    for demand in demands:
        part = demand.candidates & group
        union |= part
        total += min(demand.wanted, part.bit_count())
    return min(total, union.bit_count())
