"""Which devices of a node each request may take, before anything is chosen."""

from collections.abc import Sequence

from dra_scheduling.allocation.allocation_refusals import no_match, not_all_free, not_all_supported, pool_in_doubt
from dra_scheduling.allocation.claim_validation import too_many_configurations, too_many_devices
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.match_attribute import AttributeConflict
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.model.claims import MAX_CONFIGURATIONS_PER_ALLOCATION, MAX_DEVICES_PER_CLAIM


def candidates_of(ask: FlatRequest, board: SearchSpace) -> int | Refusal:
    """Return the devices that the request may take now; one for all devices may take exactly those it must.

    Admin access may have whatever is usable, taken or not. A node that cannot serve a request for all devices refuses.
    """
    wish = ask.alternative.wish
    mask = board.verdict(wish).usable if ask.alternative.is_admin else board.available(wish)
    return _all_of(ask, mask, board) if ask.alternative.wants_all else mask


def too_large(asks: Sequence[FlatRequest], wanted: Sequence[int]) -> AttributeConflict | None:
    """Return the requests that make a claim larger than an allocation can be: as few as show it."""
    by_claim: dict[int, list[int]] = {}
    for index, ask in enumerate(asks):
        by_claim.setdefault(ask.claim_index, []).append(index)
    for members in by_claim.values():
        if sum(wanted[index] for index in members) > MAX_DEVICES_PER_CLAIM:
            total, enough = 0, []
            for index in sorted(members, key=lambda index: (-wanted[index], index)):
                enough.append(index)
                total += wanted[index]
                if total > MAX_DEVICES_PER_CLAIM:
                    break
            claimed = sum(wanted[index] for index in members)
            refusal = too_many_devices(asks[members[0]].claim.title, claimed)
            return AttributeConflict(tuple(enough), refusal, wanted_of, MAX_DEVICES_PER_CLAIM)
    return None


def too_configured(asks: Sequence[FlatRequest]) -> AttributeConflict | None:
    """Return the requests of a claim whose allocation would carry more configurations than its status can hold."""
    # Hardly any class or claim has a configuration at all.
    most = sum(len(ask.alternative.class_config) + len(ask.claim.config) for ask in asks)
    if most <= MAX_CONFIGURATIONS_PER_ALLOCATION:
        return None
    by_claim: dict[int, list[int]] = {}
    for index, ask in enumerate(asks):
        by_claim.setdefault(ask.claim_index, []).append(index)
    for members in by_claim.values():
        chosen = {asks[index].request_index: asks[index].alternative for index in members}
        count = asks[members[0]].claim.count_config(chosen)
        if count > MAX_CONFIGURATIONS_PER_ALLOCATION:
            refusal = too_many_configurations(asks[members[0]].claim.title, count)
            return AttributeConflict(tuple(members), refusal)
    return None


def wanted_of(ask: FlatRequest, candidates: int) -> int:
    """Return how many devices the request takes."""
    return ask.alternative.wanted or candidates.bit_count()


def _all_of(ask: FlatRequest, available: int, board: SearchSpace) -> int | Refusal:
    """Return every matching device, or why not all of them can be had.

    A pool that is not usable is an obstacle only if it could serve the request on this node: one of its devices in
    reach matches, or devices are not seen yet and the selectors do not rule its driver out.
    """
    wish = ask.alternative.wish
    in_doubt = board.in_doubt(wish)
    if in_doubt:
        return pool_in_doubt(ask, in_doubt)
    verdict = board.verdict(wish)
    if not verdict.matching:
        return no_match(ask, board)
    if verdict.matching != verdict.usable:
        return not_all_supported(ask, board)
    if verdict.matching & ~available:
        return not_all_free(ask, verdict.matching.bit_count(), available.bit_count())
    return verdict.matching
