"""One alternative for every request, tried on one node: devices for all, or who stands in whose way."""

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from dra_scheduling.allocation.allocation_refusals import capacity_short, counters_short, no_choice, too_few
from dra_scheduling.allocation.claim_requests import ConstraintRule
from dra_scheduling.allocation.constraints import AdminOrNormal, Constraint, GoTogether
from dra_scheduling.allocation.consumable_capacity import capacity_shortage, share_rules
from dra_scheduling.allocation.deadline import IsLate, never
from dra_scheduling.allocation.device_masks import too_configured, too_large, wanted_of
from dra_scheduling.allocation.flat_requests import FlatRequest, RequestFrame
from dra_scheduling.allocation.match_attribute import (
    AttributeConflict,
    Compared,
    Need,
    bound_by,
    bundle_shortage,
    constraint_of,
)
from dra_scheduling.allocation.partitionable_devices import CounterRule, CounterSheet, Overdraft, least_draw, overdraft
from dra_scheduling.allocation.search import NO_TWIN, NORMAL, Demand, Found, NotFound, SearchObserver, search
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.allocation.shortage_proofs import Shortage, are_apart, shortage
from dra_scheduling.devices.attributes import AttributeSource
from dra_scheduling.devices.bits import smallest


class AttemptState(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt is made with: the frame, the candidates of every ask in it, and all rules of the claims.

    Its search ends once it `is_late`.
    """

    frame: RequestFrame
    candidates: tuple[int, ...]
    rules: tuple[ConstraintRule, ...]
    board: SearchSpace
    sheet: CounterSheet
    is_late: IsLate = never


class Spent(msgspec.Struct, frozen=True):
    """The budget or the time ended before the search knew."""

    members: tuple[int, ...]
    steps: int


class FailedAttempt(msgspec.Struct, frozen=True):
    """These requests cannot be served together; `steps` were needed to know."""

    conflict: AttributeConflict
    steps: int = 0


def attempt(trial: AttemptState, budget: int, watcher: SearchObserver | None = None) -> Found | FailedAttempt | Spent:
    """Return the devices of every ask of the frame, or the smallest proof at hand that there are none."""
    asks, board = trial.frame.asks, trial.board
    wanted = [wanted_of(ask, mask) for ask, mask in zip(asks, trial.candidates, strict=True)]
    conflict = too_large(asks, wanted) or too_configured(asks)
    if conflict is not None:
        return FailedAttempt(conflict)
    demands = _demands(trial, wanted)
    short = shortage(demands, board.shareable)
    if short is not None:
        return FailedAttempt(_lacking(trial, short))
    rules = _attribute_rules(trial, demands)
    if isinstance(rules, AttributeConflict):
        return FailedAttempt(rules)
    conflict = _sums(trial, demands)
    return FailedAttempt(conflict) if conflict is not None else _choose(trial, demands, rules, budget, watcher)


def _lacking(trial: AttemptState, short: Shortage) -> AttributeConflict:
    asks = [trial.frame.asks[index] for index in short.demands]
    space, devices = asks[0].space, 0
    for index in short.demands:
        devices |= trial.candidates[index]
    if len(asks) > 1 and space == NORMAL:
        devices &= ~trial.board.shareable

    def need(ask: FlatRequest, candidates: int) -> int:
        return max(wanted_of(ask, candidates) - (candidates & ~devices).bit_count(), 0) if ask.space == space else 0

    refusal = too_few(asks, short.wanted, short.found, trial.board)
    return AttributeConflict(short.demands, refusal, need, devices.bit_count())


def _demands(trial: AttemptState, wanted: Sequence[int]) -> list[Demand]:
    frame = trial.frame
    return [
        Demand(candidates=mask, wanted=count, rules=ask.rules, twin=twin, space=ask.space)
        for ask, mask, count, twin in zip(frame.asks, trial.candidates, wanted, frame.twins, strict=True)
    ]


Rules = list[Compared | None]
"""By number; None where the chosen alternatives are not bound."""


def _attribute_rules(trial: AttemptState, demands: Sequence[Demand]) -> Rules | AttributeConflict:
    frame, rules = trial.frame, Rules()
    for number, (rule, members) in enumerate(zip(trial.rules, frame.bound, strict=True)):
        if not members:
            rules.append(None)
            continue
        found = constraint_of(bound_by(rule, number, members, frame.asks, demands), trial.board)
        if isinstance(found, AttributeConflict):
            return found
        rules.append(found)
    return bundle_shortage(frame.asks, demands, trial.rules, rules, trial.board.shareable) or rules


def _sums(trial: AttemptState, demands: Sequence[Demand]) -> AttributeConflict | None:
    """Return the proof that counters or capacities do not suffice, as far as sums tell."""
    asks, board = trial.frame.asks, trial.board
    if trial.sheet.drawers:
        proof = overdraft(demands, trial.sheet, board.shareable)
        if proof is not None:
            refusal = counters_short([asks[index] for index in proof.demands], proof)
            return AttributeConflict(proof.demands, refusal, _drawing(trial, proof), proof.left)
    if board.shareable:
        short = capacity_shortage(demands, [ask.alternative.wish for ask in asks], board)
        if short is not None:
            members, capacity = short
            return AttributeConflict(members, capacity_short([asks[index] for index in members], capacity))
    return None


def _drawing(trial: AttemptState, proof: Overdraft) -> Need | None:
    if not proof.counters:
        return None
    least = least_draw(trial.sheet, proof.counters, trial.board.shareable)

    def need(ask: FlatRequest, candidates: int) -> int:
        return least(Demand(candidates=candidates, wanted=wanted_of(ask, candidates), space=ask.space))

    return need


def _choose(
    trial: AttemptState, demands: Sequence[Demand], rules: Rules, budget: int, watcher: SearchObserver | None
) -> Found | FailedAttempt | Spent:
    """Return the devices of each demand, found part by part: parts do not get into each other's way."""
    picks, steps = [0] * len(demands), 0
    for part in _parts(trial, demands):
        found = _search_part(trial, [demands[index] for index in part], part, rules, (budget - steps, watcher))
        steps += found.steps
        if isinstance(found, NotFound):
            if found.is_exhausted:
                return Spent(tuple(part), steps)
            return FailedAttempt(
                AttributeConflict(tuple(part), no_choice([trial.frame.asks[index] for index in part])), steps
            )
        for index, picked in zip(part, found.picks, strict=True):
            picks[index] = picked
    return Found(tuple(picks), steps)


def _search_part(
    trial: AttemptState,
    demands: Sequence[Demand],
    part: Sequence[int],
    rules: Rules,
    limits: tuple[int, SearchObserver | None],
) -> Found | NotFound:
    """Search one part; where demands do not get into each other's way, that needs no search."""
    budget, watcher = limits
    board = trial.board
    constraints, bound = _bind(trial, demands, part, rules)
    if watcher is None and not constraints and are_apart(demand.candidates for demand in demands):
        picks = tuple(smallest(demand.candidates, demand.wanted) for demand in demands)
        return Found(picks, sum(demand.wanted for demand in demands))
    place = {index: position for position, index in enumerate(part)}
    renumbered = [
        msgspec.structs.replace(demand, rules=tuple(numbers), twin=place.get(demand.twin, NO_TWIN))
        for demand, numbers in zip(demands, bound, strict=True)
    ]
    told = None if watcher is None else _Renumbered(part, watcher)
    return search(renumbered, constraints, budget, told, board.shareable, trial.is_late)


def _bind(
    trial: AttemptState, demands: Sequence[Demand], part: Sequence[int], rules: Rules
) -> tuple[list[Constraint], list[list[int]]]:
    """Return the constraints of a part, and for each demand the numbers of those that bind it."""
    constraints: list[Constraint] = []
    numbers: dict[tuple[int, AttributeSource], int] = {}
    bound: list[list[int]] = []
    for index in part:
        ask = trial.frame.asks[index]
        places = tuple(zip(ask.rules, ask.sources, strict=True))
        for place in places:
            rule, source = place
            compared = rules[rule]
            if compared is not None and place not in numbers:
                numbers[place] = len(constraints)
                constraints.append(compared.constraints[source])
        bound.append([numbers[place] for place in places if place in numbers])
    for constraint, positions in chain(_admin_or_normal(trial, demands, part), _stock_rules(trial, demands, part)):
        for position in positions:
            bound[position].append(len(constraints))
        constraints.append(constraint)
    return constraints, bound


def _stock_rules(
    trial: AttemptState, demands: Sequence[Demand], part: Sequence[int]
) -> Iterator[tuple[Constraint, list[int]]]:
    """Yield what counters and capacities allow, each with the places of the normal requests that it binds."""
    normal = [place for place, demand in enumerate(demands) if not demand.is_admin]
    reached = 0
    for place in normal:
        reached |= demands[place].candidates
    for constraint in _counter_rules(trial, reached):
        yield constraint, normal
    wish_at = {place: trial.frame.asks[part[place]].alternative.wish for place in normal}
    wishes = {wish: demands[place].candidates for place, wish in wish_at.items()}
    for wish, shares in share_rules(trial.board, wishes).items():
        yield shares, [place for place in normal if wish_at[place] is wish]


def _admin_or_normal(
    trial: AttemptState, demands: Sequence[Demand], part: Sequence[int]
) -> Iterator[tuple[Constraint, list[int]]]:
    """Yield what keeps admin access and normal requests of a claim apart, each side with the places it binds."""
    exclusive = ~trial.board.shareable
    for claim in sorted({demand.space for demand in demands if demand.is_admin}):
        mine = [place for place, index in enumerate(part) if trial.frame.asks[index].claim_index == claim]
        admin = [place for place in mine if demands[place].is_admin]
        normal = [place for place in mine if not demands[place].is_admin]
        if normal:
            for_admin, for_normal = AdminOrNormal.sides(exclusive)
            yield for_admin, admin
            yield for_normal, normal


def _counter_rules(trial: AttemptState, reached: int) -> Iterator[Constraint]:
    """Yield the rules over counter sets that concern any of these devices."""
    board, sheet = trial.board, trial.sheet
    if reached & sheet.consumers:
        yield CounterRule(sheet, board.shareable)
    for groups in sheet.companies:
        if any(reached & devices for devices in groups):
            yield GoTogether(groups, board.charged)


def _parts(trial: AttemptState, demands: Sequence[Demand]) -> list[list[int]]:
    """Return the demands by what ties them together: devices, rules, counters; parts by first member."""
    if len(demands) == 1:
        return [[0]]
    parts: list[tuple[list[int], set[tuple[str, int]], dict[int, int], int]] = []
    for index, demand in enumerate(demands):
        ties = {("rule", rule) for rule in demand.rules} | _counters(trial.sheet, demand)
        joined, devices = [index], _contested(trial, index, demand)
        shared = 0 if demand.is_admin else demand.candidates & trial.board.shareable
        for position in reversed(range(len(parts))):
            others, their_ties, their_devices, their_shared = parts[position]
            overlap = any(devices.get(space, 0) & mask for space, mask in their_devices.items())
            if overlap or ties & their_ties or shared & their_shared:
                del parts[position]
                joined += others
                ties |= their_ties
                shared |= their_shared
                for space, mask in their_devices.items():
                    devices[space] = devices.get(space, 0) | mask
        parts.append((joined, ties, devices, shared))
    return sorted(sorted(joined) for joined, _, _, _ in parts)


def _contested(trial: AttemptState, index: int, demand: Demand) -> dict[int, int]:
    """Return the devices that others may want as well, by space; a claim with admin access is a space of its own."""
    ask = trial.frame.asks[index]
    devices = {demand.space: demand.candidates}
    if ask.claim.has_admin_access:
        devices[NORMAL - 1 - ask.claim_index] = demand.candidates & ~trial.board.shareable
    return devices


def _counters(sheet: CounterSheet, demand: Demand) -> set[tuple[str, int]]:
    if demand.is_admin:
        return set()
    ties = {
        ("company", number)
        for number, groups in enumerate(sheet.companies)
        if any(devices & demand.candidates for devices in groups)
    }
    for drawer in sheet.drawers:
        if drawer.devices & demand.candidates:
            ties |= {("counter", index) for index, _ in drawer.amounts}
    return ties


class _Renumbered:
    """Tells a watcher the steps of a part under the numbers of the whole."""

    __slots__ = ("_part", "_watcher")

    def __init__(self, part: Sequence[int], watcher: SearchObserver) -> None:
        self._part = part
        self._watcher = watcher

    def took(self, demand: int, device: int) -> None:
        """Pass on that a device was taken."""
        self._watcher.took(self._part[demand], device)

    def gave_back(self, demand: int, device: int) -> None:
        """Pass on that it led nowhere."""
        self._watcher.gave_back(self._part[demand], device)
