"""What no later choice makes good: requests that have not chosen may have all that their alternatives would take."""

from collections.abc import Callable, Sequence

import msgspec

from dra_scheduling.allocation.allocation_refusals import too_few
from dra_scheduling.allocation.claim_requests import ConstraintRule
from dra_scheduling.allocation.device_masks import wanted_of
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.match_attribute import AttributeConflict, bound_by, constraint_of
from dra_scheduling.allocation.search import Demand
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.allocation.shortage_proofs import shortage
from dra_scheduling.basics.reasons import Refusal

Candidates = Callable[[int, int], int | Refusal]
"""The devices of an alternative, by the place of its request and its position there."""
Wanted = tuple[FlatRequest, Demand]


class Doomed(msgspec.Struct, frozen=True):
    """The choices of the requests at the places `blamed` leave too few devices for the requests `named`."""

    blamed: tuple[int, ...]
    named: tuple[FlatRequest, ...]
    refusal: Refusal


class Relaxation:
    """The requests of all claims, of which the first few have chosen and the others may have what any choice gives."""

    __slots__ = ("_asks", "_board", "_candidates", "_open", "_rules")

    def __init__(
        self,
        asks: Sequence[Sequence[FlatRequest]],
        rules: Sequence[ConstraintRule],
        candidates: Candidates,
        board: SearchSpace,
    ) -> None:
        self._asks = asks
        self._rules = rules
        self._candidates = candidates
        self._board = board
        self._open: list[Wanted | None] | None = None

    def doomed(self, choice: Sequence[int], length: int) -> Doomed | None:
        """Return the proof that fewer than the first choices, of that number, fail already; None if that is not known.

        As few choices are blamed as can be. Requests that fail whatever they choose go by the name of the request.
        """
        least, most, found = 0, length - 1, None
        while least <= most:
            middle = most if found is None else (least + most) // 2
            conflict = self._conflict(choice, middle)
            if conflict is not None:
                found, most = conflict, middle - 1
            elif found is None:
                return None
            else:
                least = middle + 1
        return found

    def _conflict(self, choice: Sequence[int], length: int) -> Doomed | None:
        wanted = [*self._chosen(choice, length), *self._not_chosen()[length:]]
        mixed = [one for one in wanted if one is not None]
        if len(mixed) < len(wanted):
            return None
        asks, demands = [ask for ask, _ in mixed], [demand for _, demand in mixed]
        conflict = self._shortage(asks, demands) or self._rule_broken(asks, demands)
        # What one request lacks by itself is said for each of its alternatives, which tells more.
        if conflict is None or len(conflict.members) == 1:
            return None
        blamed = tuple(place for place in conflict.members if place < length)
        return Doomed(blamed, tuple(asks[place] for place in conflict.members), conflict.refusal)

    def _shortage(self, asks: Sequence[FlatRequest], demands: Sequence[Demand]) -> AttributeConflict | None:
        short = shortage(demands, self._board.shareable)
        if short is None:
            return None
        named = [asks[place] for place in short.demands]
        return AttributeConflict(short.demands, too_few(named, short.wanted, short.found, self._board))

    def _rule_broken(self, asks: Sequence[FlatRequest], demands: Sequence[Demand]) -> AttributeConflict | None:
        for number, rule in enumerate(self._rules):
            members = tuple(place for place, ask in enumerate(asks) if number in ask.rules)
            if len(members) > 1:
                found = constraint_of(bound_by(rule, number, members, asks, demands), self._board)
                if isinstance(found, AttributeConflict) and len(found.members) > 1:
                    return found
        return None

    def _chosen(self, choice: Sequence[int], length: int) -> list[Wanted | None]:
        return [self._wanted(self._asks[place][choice[place]], (choice[place],)) for place in range(length)]

    def _not_chosen(self) -> list[Wanted | None]:
        if self._open is None:
            self._open = [
                self._wanted(_as_request(alternatives, self._board), range(len(alternatives)))
                for alternatives in self._asks
            ]
        return self._open

    def _wanted(self, ask: FlatRequest, positions: Sequence[int]) -> Wanted | None:
        """Return what is met wherever one of these alternatives is, None where none of them can be had."""
        union, wanted = 0, []
        for position in positions:
            mask = self._candidates(ask.place, position)
            if not isinstance(mask, Refusal):
                union |= mask
                wanted.append(wanted_of(self._asks[ask.place][position], mask))
        return (ask, Demand(candidates=union, wanted=min(wanted), space=ask.space)) if wanted else None


def _as_request(alternatives: Sequence[FlatRequest], board: SearchSpace) -> FlatRequest:
    """Return the request under its own name, bound by the rules that bind each alternative alike.

    For the rest it is shown as the first alternative that matches something.
    """
    if len(alternatives) == 1:
        return alternatives[0]
    shown = next((ask for ask in alternatives if board.verdict(ask.alternative.wish).matching), alternatives[0])
    bound = [
        one
        for one in zip(shown.rules, shown.sources, strict=True)
        if all(one in zip(ask.rules, ask.sources, strict=True) for ask in alternatives)
    ]
    return msgspec.structs.replace(
        shown,
        alternative=msgspec.structs.replace(shown.alternative, name=shown.request.name),
        rules=tuple(number for number, _ in bound),
        sources=tuple(source for _, source in bound),
    )
