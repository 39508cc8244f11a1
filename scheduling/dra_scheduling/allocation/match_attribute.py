"""Rules over attributes on one node: the groups of devices that agree, and whether they are large and many enough."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

import msgspec

from dra_scheduling.allocation.allocation_refusals import (
    attribute_missing,
    bundles_missing,
    constraint_not_met,
    too_few_values,
    with_unread_lists,
)
from dra_scheduling.allocation.claim_requests import ConstraintKind, ConstraintRule
from dra_scheduling.allocation.constraints import (
    Agreement,
    Constraint,
    DistinctAttribute,
    Distinction,
    MatchAttribute,
    SeenThrough,
)
from dra_scheduling.allocation.flat_requests import FlatRequest, WishKey
from dra_scheduling.allocation.search import NORMAL, Demand
from dra_scheduling.allocation.search_space import Group, SearchSpace
from dra_scheduling.allocation.shortage_proofs import shortage
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.devices.attributes import AttributeSource, values_of
from dra_scheduling.devices.bits import members

BundleKey = tuple[str, frozenset[tuple[WishKey, int]]]


Need = Callable[[FlatRequest, int], int]
"""How much of what is short an alternative with these candidates needs at least."""


class AttributeConflict(msgspec.Struct, frozen=True):
    """These requests (by index) cannot be served together, whatever the others get.

    Where the proof is a sum, `need` is what it adds up and `limit` what there is: it then holds for every choice of
    alternatives that need more than the limit, too.
    """

    members: tuple[int, ...]
    refusal: Refusal
    need: Need | None = None
    limit: int = 0


class AttributeBound(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, and the requests that it binds: their indexes, and each in step as it asks and as it demands.

    `sources` are all places where they look for the values of devices, `columns` (in step) which of them each uses.
    """

    rule: ConstraintRule
    members: tuple[int, ...]
    asks: tuple[FlatRequest, ...]
    demands: tuple[Demand, ...]
    sources: tuple[AttributeSource, ...]
    columns: tuple[int, ...]


class Compared(msgspec.Struct, frozen=True):
    """A rule on one node: the groups that could satisfy it, and the constraint over them for each source."""

    groups: tuple[Group, ...]
    constraints: dict[AttributeSource, Constraint]


def bound_by(
    rule: ConstraintRule, number: int, members: tuple[int, ...], asks: Sequence[FlatRequest], demands: Sequence[Demand]
) -> AttributeBound:
    """Return the rule of that number with the requests (by index) that it binds."""
    mine = tuple(asks[index] for index in members)
    used = [ask.sources[ask.rules.index(number)] for ask in mine]
    sources = tuple(dict.fromkeys(used))
    return AttributeBound(
        rule=rule,
        members=members,
        asks=mine,
        demands=tuple(demands[index] for index in members),
        sources=sources,
        columns=tuple(sources.index(source) for source in used),
    )


def constraint_of(bound: AttributeBound, board: SearchSpace) -> Compared | AttributeConflict:
    """Return the rule as constraints over the groups that could satisfy it alone, or the proof that none can."""
    found = _compare(bound, board)
    if isinstance(found, Compared):
        return found
    unread = 0
    for source in bound.sources:
        mine = (
            demand
            for demand, column in zip(bound.demands, bound.columns, strict=True)
            if bound.sources[column] == source
        )
        unread += _unread_lists(reduce(or_, (demand.candidates for demand in mine)), source, board)
    return msgspec.structs.replace(found, refusal=with_unread_lists(found.refusal, unread))


def _unread_lists(candidates: int, source: AttributeSource, board: SearchSpace) -> int:
    """Return how many of the devices have values in a list, and are in no group all the same: the feature is off."""
    known = reduce(or_, (group for (group,) in board.grouped((source,))), 0)
    lists = (
        values_of(pool.device(number), pool.key.driver, source)
        for pool, part in board.parts(candidates & ~known)
        for number in members(part)
    )
    return sum(values.is_list and any(True for _ in values) for values in lists)


def _compare(bound: AttributeBound, board: SearchSpace) -> Compared | AttributeConflict:
    is_distinct = bound.rule.kind is ConstraintKind.DISTINCT
    groups = board.grouped(bound.sources) if is_distinct else board.agreeing(bound.sources)
    known = [reduce(or_, (group[column] for group in groups), 0) for column in range(len(bound.sources))]
    for index, ask, demand, column in zip(bound.members, bound.asks, bound.demands, bound.columns, strict=True):
        if not demand.candidates & known[column]:
            refusal = attribute_missing(ask, bound.rule.attribute, demand.candidates, board)
            return AttributeConflict((index,), refusal)
    return _distinct(bound, groups) if is_distinct else _match(bound, groups, board.shareable)


def bundle_shortage(
    asks: Sequence[FlatRequest],
    demands: Sequence[Demand],
    rules: Sequence[ConstraintRule],
    constraints: Sequence[Compared | None],
    shareable: int,
) -> AttributeConflict | None:
    """Return the proof that equal bundles of devices cannot all be formed, or None.

    A bundle is what one rule alone holds together, for example a GPU and a NIC of one PCIe root. Each value of the
    attribute gives so many bundles at most, and bundles of several claims compete for them.
    """
    for numbers in _equal_bundles(asks, demands, rules, shareable).values():
        constraint = constraints[numbers[0]]
        if constraint is None:
            continue
        members = [index for index, ask in enumerate(asks) if numbers[0] in ask.rules]
        bound = bound_by(rules[numbers[0]], numbers[0], tuple(members), asks, demands)
        found = sum(_bundles_in(group, bound) for group in constraint.groups)
        if found < len(numbers):
            concerned = tuple(index for index, ask in enumerate(asks) if ask.rules and ask.rules[0] in numbers)
            competing = [asks[index] for index in concerned]
            refusal = bundles_missing(competing, rules[numbers[0]].attribute, len(numbers), found)
            return AttributeConflict(concerned, refusal)
    return None


def _match(bound: AttributeBound, groups: Sequence[Group], shareable: int) -> Compared | AttributeConflict:
    """Return the rule as constraints, unless every group is too small."""
    wanted = sum(demand.wanted for demand in bound.demands)
    sizes = [_reach(group, bound, shareable) for group in groups]
    large_enough = tuple(group for group, size in zip(groups, sizes, strict=True) if size == wanted)
    if not large_enough:
        refusal = constraint_not_met(bound.asks, bound.rule.attribute, wanted, max(sizes))
        return AttributeConflict(bound.members, refusal)
    return _compared(bound, large_enough, MatchAttribute, Agreement)


def _distinct(bound: AttributeBound, groups: Sequence[Group]) -> Compared | AttributeConflict:
    """Return the rule as constraints, unless the values are too few: every device uses up one at least."""
    by_value = [
        Demand(candidates=_values_in(demand.candidates, [group[column] for group in groups]), wanted=demand.wanted)
        for demand, column in zip(bound.demands, bound.columns, strict=True)
    ]
    short = shortage(by_value)
    if short is None:
        return _compared(bound, tuple(groups), DistinctAttribute, Distinction)
    asks = [bound.asks[index] for index in short.demands]
    refusal = too_few_values(asks, bound.rule.attribute, short.wanted, short.found)
    return AttributeConflict(tuple(bound.members[index] for index in short.demands), refusal)


def _compared(
    bound: AttributeBound,
    groups: tuple[Group, ...],
    alone: type[MatchAttribute | DistinctAttribute],
    across: type[Agreement | Distinction],
) -> Compared:
    if len(bound.sources) == 1:
        return Compared(groups, {bound.sources[0]: alone(group for (group,) in groups)})
    rule = across(groups)
    return Compared(groups, {source: SeenThrough(rule, column) for column, source in enumerate(bound.sources)})


def _values_in(candidates: int, groups: Sequence[int]) -> int:
    """Return the values (as bits, by number) that the candidates have."""
    return sum(1 << number for number, group in enumerate(groups) if candidates & group)


def _equal_bundles(
    asks: Sequence[FlatRequest], demands: Sequence[Demand], rules: Sequence[ConstraintRule], shareable: int
) -> dict[BundleKey, list[int]]:
    """Return the rules that want equal bundles, by what is in the bundle.

    What two rules bind is no bundle, nor is what takes no device away from others.
    """
    bundles: dict[BundleKey, list[int]] = {}
    for number, rule in enumerate(rules):
        members = [index for index, ask in enumerate(asks) if number in ask.rules]
        if rule.kind is ConstraintKind.MATCH and all(
            asks[index].rules == (number,)
            and demands[index].space == NORMAL
            and not demands[index].candidates & shareable
            for index in members
        ):
            content = Counter(asks[index].key for index in members)
            bundles.setdefault((rule.attribute, frozenset(content.items())), []).append(number)
    return bundles


def _bundles_in(group: Group, bound: AttributeBound) -> int:
    """Return how many bundles the group could give at most."""
    wanted = Counter[int]()
    for demand, column in zip(bound.demands, bound.columns, strict=True):
        wanted[demand.candidates & group[column]] += demand.wanted
    return min(mask.bit_count() // count for mask, count in wanted.items())


def _reach(group: Group, bound: AttributeBound, shareable: int) -> int:
    """Return how many of the wanted devices the group could give at most."""
    reach = 0
    for space in {demand.space for demand in bound.demands}:
        shared = shareable if space == NORMAL else 0
        union = total = extra = 0
        for demand, column in zip(bound.demands, bound.columns, strict=True):
            if demand.space == space:
                part = demand.candidates & group[column]
                union |= part & ~shared
                total += min(demand.wanted, part.bit_count())
                extra += min(demand.wanted, (part & shared).bit_count())
        reach += min(total, union.bit_count() + extra)
    return reach
