"""Which devices of a node each request may take, before anything is chosen."""

from collections.abc import Sequence

from dra_scheduling.allocation.asks import Ask
from dra_scheduling.allocation.board import Board
from dra_scheduling.allocation.claimchecks import too_many_devices
from dra_scheduling.allocation.refusals import no_match, not_all_free, not_all_supported, pool_in_doubt
from dra_scheduling.model.claims import MAX_DEVICES_PER_CLAIM
from dra_scheduling.reasons import Refusal


def candidates_of(asks: Sequence[Ask], board: Board) -> list[int] | Refusal:
    """Return the free devices that each request may take; a request for all devices may take exactly those it must.

    A node that cannot serve a request for all devices, or that would make a claim too large with it, is refused.
    """
    candidates = []
    for ask in asks:
        mask = (
            _all_of(ask, board) if ask.request.wants_all else board.verdict(ask.request.selection).usable & board.free
        )
        if isinstance(mask, Refusal):
            return mask
        candidates.append(mask)
    return _too_large(asks, candidates) or candidates


def _all_of(ask: Ask, board: Board) -> int | Refusal:
    """Return every matching device, or why not all of them can be had.

    A pool that is not usable stands in the way only if it could serve the request on this node: one of its devices in
    reach matches, or none is in reach yet and the selectors do not rule its driver out.
    """
    in_doubt = board.in_doubt(ask.request.selection)
    if in_doubt:
        return pool_in_doubt(ask, in_doubt)
    verdict = board.verdict(ask.request.selection)
    if not verdict.matching:
        return no_match(ask, board)
    if verdict.matching != verdict.usable:
        return not_all_supported(ask, board)
    if verdict.matching & ~board.free:
        return not_all_free(ask, verdict.matching.bit_count(), (verdict.matching & board.free).bit_count())
    return verdict.matching


def _too_large(asks: Sequence[Ask], candidates: list[int]) -> Refusal | None:
    """Return the refusal of a claim that its requests for all devices make larger than an allocation can be."""
    totals: dict[int, int] = {}
    for ask, mask in zip(asks, candidates, strict=True):
        if ask.request.wants_all:
            totals.setdefault(ask.claim_index, ask.claim.wanted)
            totals[ask.claim_index] += mask.bit_count()
            if totals[ask.claim_index] > MAX_DEVICES_PER_CLAIM:
                return too_many_devices(ask.claim.name, totals[ask.claim_index])
    return None
