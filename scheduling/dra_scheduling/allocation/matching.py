"""Rules over attributes on one node: the groups of devices that agree, and whether they are large and many enough."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from dra_scheduling.allocation.asks import Ask, WishKey
from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.bounds import shortage
from dra_scheduling.allocation.claimspecs import Rule, RuleKind
from dra_scheduling.allocation.constraints import DistinctAttribute, MatchAttribute
from dra_scheduling.allocation.refusals import attribute_missing, bundles_missing, constraint_not_met, too_few_values
from dra_scheduling.allocation.search import NORMAL, Demand
from dra_scheduling.reasons import Refusal

BundleKey = tuple[str, frozenset[tuple[WishKey, int]]]


Need = Callable[[Ask, int], int]
"""How much of what is short an alternative with these candidates needs at least."""


class Conflict(msgspec.Struct, frozen=True):
    """These requests (by index) cannot be served together, whatever the others get.

    Where the proof is a sum, `need` is what it adds up and `limit` what there is: it then holds for every choice of
    alternatives that need more than the limit, too.
    """

    members: tuple[int, ...]
    refusal: Refusal
    need: Need | None = None
    limit: int = 0


class Bound(msgspec.Struct, frozen=True):
    """A rule, and the requests that it binds: their indexes, and each in step as it asks and as it demands."""

    rule: Rule
    members: tuple[int, ...]
    asks: tuple[Ask, ...]
    demands: tuple[Demand, ...]


def constraint_of(bound: Bound, board: Board) -> MatchAttribute | DistinctAttribute | Conflict:
    """Return the rule as a constraint over the groups that could satisfy it alone, or the proof that none can."""
    attribute = bound.rule.attribute
    is_distinct = bound.rule.kind is RuleKind.DISTINCT
    groups = list(board.groups(attribute).values()) if is_distinct else board.agreeing(attribute)
    known = 0
    for group in groups:
        known |= group
    for index, ask, demand in zip(bound.members, bound.asks, bound.demands, strict=True):
        if not demand.candidates & known:
            return Conflict((index,), attribute_missing(ask, bound.rule.attribute))
    if is_distinct:
        return _distinct(bound, groups)
    wanted = sum(demand.wanted for demand in bound.demands)
    sizes = [_reach(group, bound.demands, board.shareable) for group in groups]
    large_enough = [group for group, size in zip(groups, sizes, strict=True) if size == wanted]
    if not large_enough:
        refusal = constraint_not_met(bound.asks, bound.rule.attribute, wanted, max(sizes))
        return Conflict(bound.members, refusal)
    return MatchAttribute(large_enough)


def bundle_shortage(
    asks: Sequence[Ask],
    demands: Sequence[Demand],
    rules: Sequence[Rule],
    constraints: Sequence[MatchAttribute | DistinctAttribute | None],
    shareable: int,
) -> Conflict | None:
    """Return the proof that equal bundles of devices cannot all be formed, or None.

    A bundle is what one rule alone holds together, for example a GPU and a NIC of one PCIe root. Each value of the
    attribute gives so many bundles at most, and bundles of several claims compete for them.
    """
    for numbers in _equal_bundles(asks, demands, rules, shareable).values():
        constraint = constraints[numbers[0]]
        if constraint is None:
            continue
        parts = [demands[index] for index, ask in enumerate(asks) if numbers[0] in ask.rules]
        found = sum(_bundles_in(group, parts) for group in constraint.distinctions)
        if found < len(numbers):
            bound = [index for index, ask in enumerate(asks) if ask.rules and ask.rules[0] in numbers]
            members = [asks[index] for index in bound]
            refusal = bundles_missing(members, rules[numbers[0]].attribute, len(numbers), found)
            return Conflict(tuple(bound), refusal)
    return None


def _distinct(bound: Bound, groups: Sequence[int]) -> DistinctAttribute | Conflict:
    """Return the rule as a constraint, unless the values are too few: every device uses up one at least."""
    by_value = [
        Demand(candidates=_values_in(demand.candidates, groups), wanted=demand.wanted) for demand in bound.demands
    ]
    short = shortage(by_value)
    if short is None:
        return DistinctAttribute(groups)
    asks = [bound.asks[index] for index in short.demands]
    refusal = too_few_values(asks, bound.rule.attribute, short.wanted, short.found)
    return Conflict(tuple(bound.members[index] for index in short.demands), refusal)


def _values_in(candidates: int, groups: Sequence[int]) -> int:
    """Return the values (as bits, by number) that the candidates have."""
    return sum(1 << number for number, group in enumerate(groups) if candidates & group)


def _equal_bundles(
    asks: Sequence[Ask], demands: Sequence[Demand], rules: Sequence[Rule], shareable: int
) -> dict[BundleKey, list[int]]:
    """Return the rules that want equal bundles, by what is in the bundle.

    What two rules bind is no bundle, nor is what takes no device away from others.
    """
    bundles: dict[BundleKey, list[int]] = {}
    for number, rule in enumerate(rules):
        members = [index for index, ask in enumerate(asks) if number in ask.rules]
        if rule.kind is RuleKind.MATCH and all(
            asks[index].rules == (number,)
            and demands[index].space == NORMAL
            and not demands[index].candidates & shareable
            for index in members
        ):
            content = Counter(asks[index].key for index in members)
            bundles.setdefault((rule.attribute, frozenset(content.items())), []).append(number)
    return bundles


def _bundles_in(group: int, parts: Sequence[Demand]) -> int:
    """Return how many bundles the group could give at most."""
    wanted = Counter[int]()
    for part in parts:
        wanted[part.candidates & group] += part.wanted
    return min(mask.bit_count() // count for mask, count in wanted.items())


def _reach(group: int, demands: Sequence[Demand], shareable: int) -> int:
    """Return how many of the wanted devices the group could give at most."""
    reach = 0
    for space in {demand.space for demand in demands}:
        shared = shareable if space == NORMAL else 0
        union = total = extra = 0
        for demand in demands:
            if demand.space == space:
                part = demand.candidates & group
                union |= part & ~shared
                total += min(demand.wanted, part.bit_count())
                extra += min(demand.wanted, (part & shared).bit_count())
        reach += min(total, union.bit_count() + extra)
    return reach
