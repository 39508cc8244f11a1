"""What stood against the alternatives that were tried: a proof against one often rules out others, unnamed."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from dra_scheduling.allocation.allocation_refusals import subject_of, too_few
from dra_scheduling.allocation.claim_validation import TOO_MANY_DEVICES
from dra_scheduling.allocation.device_masks import wanted_of
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import Refusal

SHOWN = 8
"""As many as a request may have alternatives."""


class AlternativesTried:
    """The refusals of combinations, and the alternatives that each of them has ruled out."""

    __slots__ = ("_asks", "_board", "_candidates", "_named", "_ruled_out", "_told")

    def __init__(
        self,
        asks: Sequence[Sequence[FlatRequest]],
        candidates: Callable[[int, int], int | Refusal],
        board: SearchSpace,
    ) -> None:
        self._asks = asks
        self._candidates = candidates
        self._board = board
        self._told: list[Refusal] = []
        self._named: set[tuple[int, str]] = set()
        self._ruled_out: set[tuple[int, int]] = set()

    def note(self, asks: Sequence[FlatRequest], refusal: Refusal) -> None:
        """Take in a refusal of these requests, which are called by their alternatives or by their own names."""
        self._told.append(refusal)
        self._named.update((ask.place, ask.alternative.name) for ask in asks)

    def rule_out(self, positions: Mapping[int, frozenset[int]]) -> None:
        """Take in the alternatives that a refusal holds for, by place, named or not."""
        self._ruled_out.update((place, position) for place, every in positions.items() for position in every)

    def refusal(self) -> Refusal:
        """Return what stood against the preferred combination, and in brackets what stood against others.

        That some combinations are too large for a claim says less than what stood against those that are not.
        """
        told = list(dict.fromkeys(self._told))
        first, *others = [refusal for refusal in told if refusal.reason != TOO_MANY_DEVICES] or told
        messages = dict.fromkeys((*(other.message for other in others), *self._unnamed()))
        messages.pop(first.message, None)
        more = tuple(messages)
        if len(more) > SHOWN:
            more = (*more[:SHOWN], f"and {len(more) - SHOWN} more")
        return msgspec.structs.replace(first, details=(*first.details, *more)) if more else first

    def _unnamed(self) -> Iterator[str]:
        """Yield what stood against alternatives that no refusal names, request after request."""
        for place in sorted({place for place, _ in self._ruled_out}):
            for position, ask in enumerate(self._asks[place]):
                names = {(place, ask.alternative.name), (place, ask.request.name)}
                if (place, position) in self._ruled_out and not names & self._named:
                    alone = self._alone(place, position)
                    yield f"{subject_of([ask])}: fails for the same reason" if alone is None else alone.message
            yield from (refusal.message for refusal in self._asks[place][0].request.left_out)

    def _alone(self, place: int, position: int) -> Refusal | None:
        """Return what keeps the node from serving the alternative even if nothing else was asked for."""
        ask, mask = self._asks[place][position], self._candidates(place, position)
        if isinstance(mask, Refusal):
            return mask
        wanted = wanted_of(ask, mask)
        return too_few([ask], wanted, mask.bit_count(), self._board) if mask.bit_count() < wanted else None
