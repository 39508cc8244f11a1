"""The nodes that take pods of one shape, best first, kept between pods and between cycles.

The first look at a shape costs one evaluation per node. After that only nodes that changed are looked at again, so a
thousand equal pods cost a thousand evaluations more, not a thousand times the cluster.

What nodes said of a trial is taken back with it: a ranking notes what it forgets meanwhile in the journal.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.basics.journal import Journal
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, Refusal, fold
from dra_scheduling.fit.score_profiles import AS_THEY_ARE, Score, ScoreOrder
from dra_scheduling.state.change_log import ChangeLog, Everything, LogMark
from dra_scheduling.state.domains import Domains

SPARE_ENTRIES = 64
NO_JOURNAL = Journal()


class Fit(msgspec.Struct, frozen=True, gc=False):
    """The node takes pods of the shape."""

    score: Score


class Refused(msgspec.Struct, frozen=True, gc=False):
    """The node cannot take pods of the shape."""

    refusal: Refusal


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """The search on this node ended before it knew; `is_postponed` if only because others had spent the budget."""

    refusal: Refusal
    is_postponed: bool = False


Verdict = Fit | Refused | Unknown
Look = Callable[[str], Verdict | None]
"""Asks a node by name; None where there is no such node any more."""


class Summary(msgspec.Struct, frozen=True):
    """Why no node takes the shape: folded refusals, what could help, and whether a search ended without knowing."""

    folded: tuple[FoldedReason, ...]
    nodes: int
    wake: ClusterEvent
    is_unknown: bool


class Ranking:
    """Summary of all nodes on one shape, with a heap of those that fit."""

    __slots__ = (
        "_cursor",
        "_domains",
        "_domains_cursor",
        "_fits",
        "_heap",
        "_journal",
        "_order",
        "_postponed",
        "_refusals",
        "_summary",
        "_takes",
        "_tried",
    )

    def __init__(self, domains: Sequence[Domains] = (), order: ScoreOrder = AS_THEY_ARE) -> None:
        """`domains` are the groups of nodes that verdicts go by, besides what they read of the node itself."""
        self._domains = domains
        self._order = order
        self._domains_cursor = 0
        self._cursor = -1
        self._takes = -1
        # What orders a node, its name, and the score that this was made from.
        self._heap: list[tuple[Score, str, Score]] = []
        self._fits: dict[str, Score] = {}
        self._refusals: dict[str, Refused | Unknown] = {}
        self._postponed: set[str] = set()
        self._summary: Summary | None = None
        self._journal = NO_JOURNAL
        self._tried: frozenset[str] | Everything = frozenset()

    def __len__(self) -> int:
        """The number of nodes whose verdicts are kept."""
        return len(self._fits) + len(self._refusals)

    def refresh(self, nodes: Iterable[str], changes: ChangeLog, look: Look) -> None:
        """Look again at nodes that changed since the last refresh or were put off then; `nodes` are all there are."""
        changed = changes.since(self._cursor)
        self._heed_trial(changes)
        if changed is Everything.EVERYTHING:
            self._look_at_all(nodes, changes, look)
            return
        if self._journal.is_kept:
            self._journal.note(self._place_setter())
        if self._domains:
            changed |= self._in_changed_domains(changes, self._domains_cursor)
        self._cursor, self._domains_cursor = changes.end, changes.domains_end
        for node in sorted(changed | self._postponed):
            self._drop(node)
            self._take_in(node, look(node))

    def best(self, changes: ChangeLog, look: Look) -> str | None:
        """Return the best node that still takes the shape.

        A device that many nodes reach may have gone to another pod since they were judged: that can only turn a fit
        into a refusal, so it is enough to look again at the node on top.
        """
        if self._takes != changes.shared_takes:
            self._verify_top(changes, look)
        self._settle_order()
        while self._heap:
            _, node, score = self._heap[0]
            if self._fits.get(node) == score:
                return node
            heapq.heappop(self._heap)
        return None

    def in_order(self, changes: ChangeLog, look: Look) -> Iterator[str]:
        """Yield the nodes that take the shape, the best first; refreshed before, and nothing may change meanwhile."""
        self._settle_order()
        heap, verified, passed = self._heap.copy(), set[str](), set[str]()
        is_stale = self._takes != changes.shared_takes
        while heap:
            _, node, score = heapq.heappop(heap)
            if node in passed or self._fits.get(node) != score:
                continue
            if is_stale and node not in verified:
                verified.add(node)
                self.takes(node, changes, look)
                found = self._fits.get(node)
                if found != score:
                    if found is not None:
                        heapq.heappush(heap, (self._order.key(found), node, found))
                    continue
            passed.add(node)
            yield node

    def takes(self, node: str, changes: ChangeLog, look: Look) -> bool:
        """Whether this node takes the shape, be it the best or not; refreshed before, as for `best`."""
        if node in self._fits and self._takes != changes.shared_takes:
            self._heed_trial(changes)
            self._drop(node)
            self._take_in(node, look(node))
        return node in self._fits

    def may_be_changed(self, node: str, change: ClusterEvent) -> bool:
        """Whether a change of these kinds could make the node take the shape; so it may where nothing is known."""
        verdict = self._refusals.get(node)
        return verdict is None or bool(verdict.refusal.wake & change)

    def summary(self) -> Summary:
        """Return why no node takes the shape; asked for only when `best` has none."""
        if self._summary is None:
            said = self._refusals.values()
            refusals = [verdict.refusal for verdict in said]
            wake = ClusterEvent.NODE
            # Nodes that look the same share their refusal.
            for refusal in {id(each): each for each in refusals}.values():
                wake |= refusal.wake
            is_unknown = Unknown in set(map(type, said))
            self._summary = Summary(fold(refusals), len(refusals), wake, is_unknown)
        return self._summary

    def _look_at_all(self, nodes: Iterable[str], changes: ChangeLog, look: Look) -> None:
        former, start = self._state_setter(), changes.start
        for score in self._fits.values():
            self._order.dropped(score)
        self._fits, self._refusals, self._postponed, self._heap = {}, {}, set(), []
        self._summary = None
        self._cursor, self._takes, self._domains_cursor = changes.end, changes.shared_takes, changes.domains_end
        if start is not None and self._journal.is_kept:
            tried = self._tried
            # What was not tried answers alike afterwards, so that a first look in a trial is not in vain.
            self._journal.note(
                former if tried is Everything.EVERYTHING else lambda: self._put_off(tried, start),
            )
        for node in sorted(nodes):
            self._note(node, look(node))
        self._build_heap()

    def _heed_trial(self, changes: ChangeLog) -> None:
        self._journal = changes.journal
        if self._journal.is_kept:
            tried, start = changes.tried, changes.start
            if self._domains and start is not None and tried is not Everything.EVERYTHING:
                tried |= self._in_changed_domains(changes, start.domains_end)
            self._tried = tried

    def _in_changed_domains(self, changes: ChangeLog, cursor: int) -> frozenset[str]:
        """Return the nodes of groups that were closed or opened after the cursor."""
        entries = changes.domains_since(cursor)
        return frozenset().union(*(one.nodes_of(entries) for one in self._domains)) if entries else frozenset()

    def _state_setter(self) -> Callable[[], None]:
        fits, refusals, postponed, heap = self._fits, self._refusals, self._postponed, self._heap
        set_place = self._place_setter()

        def put_back() -> None:
            for score in self._fits.values():
                self._order.dropped(score)
            self._fits, self._refusals, self._postponed, self._heap = fits, refusals, postponed, heap
            for score in fits.values():
                self._order.noted(score)
            self._summary = None
            set_place()

        return put_back

    def _place_setter(self) -> Callable[[], None]:
        cursor, takes, domains_cursor = self._cursor, self._takes, self._domains_cursor

        def put_back() -> None:
            self._cursor, self._takes, self._domains_cursor = cursor, takes, domains_cursor

        return put_back

    def _put_off(self, tried: Iterable[str], start: LogMark) -> None:
        """Look at these again at the next refresh, and at what has changed since."""
        for node in tried:
            self._drop(node)
            self._postponed.add(node)
        self._summary = None
        self._cursor, self._takes, self._domains_cursor = start.end, start.shared_takes, start.domains_end

    def _verdict_setter(self, node: str) -> Callable[[], None]:
        score, refusal, is_postponed = self._fits.get(node), self._refusals.get(node), node in self._postponed

        def put_back() -> None:
            self._drop(node)
            self._summary = None
            if score is not None:
                self._fits[node] = score
                self._order.noted(score)
                self._push(score, node)
            if refusal is not None:
                self._refusals[node] = refusal
            if is_postponed:
                self._postponed.add(node)

        return put_back

    def _verify_top(self, changes: ChangeLog, look: Look) -> None:
        self._heed_trial(changes)
        if self._journal.is_kept:
            self._journal.note(self._place_setter())
        self._settle_order()
        while self._heap:
            _, node, score = self._heap[0]
            if self._fits.get(node) == score:
                self._drop(node)
                self._take_in(node, look(node))
                if self._fits.get(node) == score:
                    return
            else:
                heapq.heappop(self._heap)
        # Nothing on top is stale any more only once the heap is empty: then every refusal is up to date, too.
        self._takes = changes.shared_takes

    def _drop(self, node: str) -> None:
        if self._journal.is_kept and (self._tried is Everything.EVERYTHING or node in self._tried):
            self._journal.note(self._verdict_setter(node))
        score = self._fits.pop(node, None)
        if score is not None:
            self._order.dropped(score)
        self._refusals.pop(node, None)
        self._postponed.discard(node)

    def _take_in(self, node: str, verdict: Verdict | None) -> None:
        self._note(node, verdict)
        if isinstance(verdict, Fit):
            self._push(verdict.score, node)

    def _note(self, node: str, verdict: Verdict | None) -> None:
        self._summary = None
        if verdict is None:
            return
        if isinstance(verdict, Fit):
            self._fits[node] = verdict.score
            self._order.noted(verdict.score)
        else:
            self._refusals[node] = verdict
            if isinstance(verdict, Unknown) and verdict.is_postponed:
                self._postponed.add(node)

    def _push(self, score: Score, node: str) -> None:
        heapq.heappush(self._heap, (self._order.key(score), node, score))
        if len(self._heap) > 2 * len(self._fits) + SPARE_ENTRIES:
            self._build_heap()

    def _settle_order(self) -> None:
        """Order all nodes anew where the score of some depends on others, and these are others by now."""
        if self._order.is_unsettled(self._fits.values()):
            self._build_heap()

    def _build_heap(self) -> None:
        self._heap = [(self._order.key(score), node, score) for node, score in self._fits.items()]
        heapq.heapify(self._heap)
