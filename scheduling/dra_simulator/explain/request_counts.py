"""The devices in reach of a node, counted for each request: what its class and selectors leave, and what is taken."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.free_devices import FreeDevices
from dra_scheduling.devices.ledger import Ledger

TAKEN, NO_ROOM, NO_COUNTERS = "taken", "no room", "no counters"


class Sieve(msgspec.Struct, frozen=True, kw_only=True):
    """One selector: how many devices it leaves of those that came through the earlier ones, on how many it fails."""

    expression: str
    left: int
    failed: int


class RequestCount(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of a node as one request (or one alternative of it) sees them.

    It is `called` by its name, or by the container whose extended resource it is for.
    `wanted` is None for all that match. Of the `reachable` devices, `of_class` are left by the class and `selectors`
    are those of the request itself. Of what they leave, `lacking_capacity` can never give the capacity asked for; of
    the rest, `needing_feature` need a feature that is off, `tainted` have a taint that is not tolerated, `taken` are
    with other claims, and `without_room` or `without_counters` have too little left. `available` remain.
    `pool_not_ready` matching devices more are in pools that are incomplete or invalid.
    """

    place: int
    claim: str
    request: str
    called: str
    device_class: str
    wanted: int | None
    reachable: int
    of_class: int
    selectors: tuple[Sieve, ...]
    lacking_capacity: int
    needing_feature: int
    tainted: int
    taken: int
    without_room: int
    without_counters: int
    available: int
    pool_not_ready: int

    @property
    def missing(self) -> int:
        """How many devices more the request needs, other requests left aside."""
        if self.wanted is not None:
            return max(self.wanted - self.available, 0)
        kept = self.needing_feature + self.tainted + self.taken + self.without_room + self.without_counters
        return kept + self.pool_not_ready or int(not self.available)


def counts_of(query: ClaimQuery, board: SearchSpace, ledger: Ledger) -> tuple[RequestCount, ...]:
    """Return the counts of every alternative of every request, claim after claim."""
    return tuple(_count(ask, board, ledger) for alternatives in query.asks for ask in alternatives)


def missing_of(counts: Sequence[RequestCount]) -> int:
    """Return how many devices are missing for all requests, of alternatives for the one that misses least."""
    least: dict[int, int] = {}
    for count in counts:
        least[count.place] = min(count.missing, least.get(count.place, count.missing))
    return sum(least.values())


def progress_of(counts: Sequence[RequestCount]) -> int:
    """Return how many selectors, those of the class as one, leave devices, over all requests and alternatives."""
    return sum(bool(left) for count in counts for left in (count.of_class, *(sieve.left for sieve in count.selectors)))


def _count(ask: FlatRequest, board: SearchSpace, ledger: Ledger) -> RequestCount:
    alternative = ask.alternative
    wish = alternative.wish
    verdict = board.verdict(wish)
    sieves = tuple(_sieves(ask, board))
    _, whose = ask.claim.title.words.get(alternative.name, ("", ""))
    own = len(sieves) - len(alternative.selectors)
    reachable = sum(pool.everything.bit_count() for _, pool, _ in board.pools)
    kept = Counter[str]() if alternative.is_admin else _kept(ask, board, ledger)
    available = verdict.usable.bit_count() - kept.total()
    return RequestCount(
        place=ask.place,
        claim=ask.claim.name,
        request=alternative.name,
        called=whose or alternative.name,
        device_class=alternative.class_name,
        wanted=None if alternative.wants_all else alternative.wanted,
        reachable=reachable,
        of_class=sieves[own - 1].left if own else reachable,
        selectors=sieves[own:],
        lacking_capacity=verdict.lacking.bit_count(),
        needing_feature=(verdict.matching & ~verdict.usable & ~verdict.tainted).bit_count(),
        tainted=verdict.tainted.bit_count(),
        taken=kept[TAKEN],
        without_room=kept[NO_ROOM],
        without_counters=kept[NO_COUNTERS],
        available=available,
        pool_not_ready=sum(pool.verdict(wish).matching.bit_count() for pool in board.broken),
    )


def _sieves(ask: FlatRequest, board: SearchSpace) -> Iterator[Sieve]:
    masks = [(sight, sight.visible) for _, pool, _ in board.pools for sight in pool.sights]
    for program in ask.alternative.wish.selection.programs:
        judged = [(sight, *sight.piece.judge(program, mask)) for sight, mask in masks]
        masks = [(sight, chosen) for sight, chosen, _ in judged]
        yield Sieve(
            expression=program.source,
            left=sum(chosen.bit_count() for _, chosen, _ in judged),
            failed=sum(failed.bit_count() for _, _, failed in judged),
        )


def _kept(ask: FlatRequest, board: SearchSpace, ledger: Ledger) -> Counter[str]:
    """Count the usable devices that the request cannot have now, by what keeps them."""
    wish, kept = ask.alternative.wish, Counter[str]()
    for _, pool, stock in board.pools:
        kept += _kept_in(pool, stock, ledger, pool.verdict(wish).usable & ~pool.available(wish, stock))
    return kept


def _kept_in(pool: PoolOnNode, stock: FreeDevices, ledger: Ledger, mask: int) -> Counter[str]:
    kept = Counter[str]()
    taken = ledger.taken(pool.key)
    for number in members(mask):
        name, is_shareable = pool.device(number).name, pool.shareable >> number & 1
        if taken is not None and (name in taken.dedicated or (name in taken.shared and not is_shareable)):
            kept[TAKEN] += 1
        else:
            kept[NO_ROOM if stock.free >> number & 1 else NO_COUNTERS] += 1
    return kept
