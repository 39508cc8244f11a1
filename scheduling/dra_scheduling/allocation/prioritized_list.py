"""The choice between alternatives: the first combination, in the order of requests, that a node can serve.

Every failed combination tells which requests stood in each other's way. No combination with those alternatives of those
requests is tried again, and where that leaves a request nothing, the request itself becomes part of the proof: what was
learned of two requests that quarrel is never learned again for each choice of a third one.

Three requests have two, three and two alternatives. Combinations are numbers, the preferred one first:

>>> order = AlternativeOrder((2, 3, 2), patience=1_000)
>>> order.first()
(0, 0, 0)

The search on the node fails, and finds that only the last two requests are to blame: both want the same device. The
next combination keeps the choice of the first request:

>>> order.next({1: frozenset({0}), 2: frozenset({0})})
(0, 0, 1)

That fails as well, since alternative 1 of the last request cannot be had with alternative 0 of the second one either.
So alternative 0 of the second request is impossible whatever the others are, and it is left out from now on, also
once it is the first request's turn to change:

>>> order.next({1: frozenset({0}), 2: frozenset({1})})
(0, 1, 0)
>>> order.next({0: frozenset({0})})
(1, 1, 0)

Of twelve combinations three were searched; the fourth is the first that is left.
"""

from collections.abc import Sequence

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Answer, Chosen, Exhausted, Impossible
from dra_scheduling.allocation.allocation_refusals import gave_up, not_in_time
from dra_scheduling.allocation.alternatives_tried import AlternativesTried
from dra_scheduling.allocation.attempt import AttemptState, FailedAttempt, Spent, attempt
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.conflict_core import core
from dra_scheduling.allocation.deadline import IsLate, never
from dra_scheduling.allocation.device_masks import candidates_of
from dra_scheduling.allocation.flat_requests import FlatRequest, RequestFrame, frame_of
from dra_scheduling.allocation.match_attribute import AttributeConflict, Need
from dra_scheduling.allocation.partitionable_devices import sheet_of
from dra_scheduling.allocation.relaxation import Relaxation
from dra_scheduling.allocation.search import Found
from dra_scheduling.allocation.search_reporter import NamedSteps, Reporter
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import Refusal

Clash = dict[int, frozenset[int]]
"""Alternatives by request: no one of each can go together. A request with all of its alternatives is left out."""
IMPOSSIBLE_NEED = 1 << 200
FAILURES_AT_FULL_LENGTH = 16
"""How many combinations may fail before it is worth finding out which few of their choices are to blame."""
NARROWING_STEPS = 1_000
"""How long a search may take for that."""
SMALLEST_TO_NARROW = 3
"""Of two choices that clash each is to blame."""
SHARE_OF_FIRST_RIDDLE = 2
"""A combination that half of the budget does not decide is passed over: one that fits must be found all the same."""
STEPS_PER_RIDDLE = 500
"""What a combination may take once one was passed over."""
ATTEMPT_COST = 50
"""What it costs to try another combination, in steps of a search: the budget is as much smaller."""
CLASHES_PER_STEP = 10
"""How many known clashes may be looked at for one step of the budget."""


def choose(
    query: ClaimQuery, board: SearchSpace, budget: int, reporter: Reporter | None = None, is_late: IsLate = never
) -> Answer:
    """Return the alternatives and devices of every request, the preferred combination of alternatives first."""
    return _Choice(query, board, budget, reporter, is_late).run()


class AlternativeOrder:
    """Combinations in lexicographic order, without those that are known to clash.

    It ends after the last one, or before that when `patience` known clashes were looked at or it is late: `is_spent`.
    """

    __slots__ = ("_clashes", "_counts", "_is_late", "_patience", "_present")

    def __init__(self, counts: tuple[int, ...], patience: int, is_late: IsLate = never) -> None:
        self._counts = counts
        self._patience = patience
        self._is_late = is_late
        self._present = [0] * len(counts)
        self._clashes: list[list[Clash]] = [[] for _ in counts]

    @property
    def is_spent(self) -> bool:
        """Whether it ended before the last combination."""
        return self._patience <= 0

    def first(self) -> tuple[int, ...] | None:
        """Return the first combination; None only where a request has no alternative at all."""
        return tuple(self._present) if all(self._counts) else None

    def next(self, clash: Clash) -> tuple[int, ...] | None:
        """Return the next combination that does not contain this clash or an earlier one, None at the end."""
        level = self._learn(clash)
        while level is not None and not self.is_spent:
            if self._is_late():
                self._patience = 0
                break
            reason = self._settle(level)
            if reason is not None:
                level = self._learn(reason)
            elif level + 1 == len(self._counts):
                return tuple(self._present)
            else:
                level += 1
        return None

    def _learn(self, clash: Clash) -> int | None:
        """Note a clash and go back to the last request of it; None where the clash is without any."""
        if not clash:
            return None
        level = max(clash)
        self._clashes[level].append(clash)
        for later in range(level + 1, len(self._present)):
            self._present[later] = 0
        return level

    def _settle(self, level: int) -> Clash | None:
        """Let a request take its first alternative that does not clash with those of earlier ones.

        Where there is none, return the clash of the earlier ones that follows.
        """
        reason: Clash = {}
        for alternative in range(self._counts[level]):
            clash = self._clash_with(level, alternative)
            if clash is None:
                self._present[level] = alternative
                return None
            for place, members in clash.items():
                if place != level:
                    reason[place] = reason.get(place, members) & members
        return reason

    def _clash_with(self, level: int, alternative: int) -> Clash | None:
        for clash in self._clashes[level]:
            self._patience -= 1
            if all(
                (alternative if place == level else self._present[place]) in members for place, members in clash.items()
            ):
                return clash
        return None


class _Choice:
    __slots__ = (
        "_board",
        "_budget",
        "_candidates",
        "_failures",
        "_given",
        "_has_passed_over",
        "_is_late",
        "_query",
        "_relaxation",
        "_reporter",
        "_sheet",
        "_steps",
        "_tried",
    )

    def __init__(
        self, query: ClaimQuery, board: SearchSpace, budget: int, reporter: Reporter | None, is_late: IsLate
    ) -> None:
        self._query = query
        self._is_late = is_late
        self._board = board
        self._given = self._budget = budget
        self._reporter = reporter
        self._sheet = sheet_of(board)
        self._candidates: dict[tuple[int, int], int | Refusal] = {}
        self._relaxation = Relaxation(query.asks, query.rules, self._candidates_of, board)
        self._steps = 0
        self._failures = 0
        self._has_passed_over = False
        self._tried = AlternativesTried(query.asks, self._candidates_of, board)

    def run(self) -> Answer:
        counts = tuple(len(alternatives) for alternatives in self._query.asks)
        order = AlternativeOrder(counts, self._budget * CLASHES_PER_STEP, self._is_late)
        choice = order.first()
        while choice is not None:
            found = self._try(choice)
            if isinstance(found, Chosen | Exhausted):
                return found
            if found is None:
                self._has_passed_over = True
                clash: Clash = {place: frozenset((own,)) for place, own in enumerate(choice) if counts[place] > 1}
            else:
                self._failures += 1
                clash = self._learned(choice, found)
            choice = order.next(clash)
            self._steps += choice is not None
            self._budget -= ATTEMPT_COST
            if order.is_spent or (choice is not None and self._steps >= self._budget):
                # Combinations used the budget up, whatever the search took of it: other nodes must not have it again.
                self._steps = max(self._steps, self._given)
                return self._exhausted()
        if self._has_passed_over:
            return self._exhausted()
        return Impossible(refusal=self._tried.refusal(), steps=self._steps)

    def _learned(self, choice: tuple[int, ...], conflict: AttributeConflict) -> Clash:
        """Return what must not be tried again, as much as the proof, or one of fewer choices, allows."""
        clash = self._clash(choice, conflict)
        asks = self._query.asks
        doomed = self._relaxation.doomed(choice, max(clash, default=-1) + 1)
        if doomed is not None and not doomed.blamed:
            self._note(doomed.named, doomed.refusal)
        self._note([asks[place][choice[place]] for place in conflict.members], conflict.refusal)
        if doomed is None:
            return clash if conflict.need is not None else self._narrowed(choice, conflict, clash)
        if doomed.blamed:
            self._note(doomed.named, doomed.refusal)
        return {place: frozenset((choice[place],)) for place in doomed.blamed if len(asks[place]) > 1}

    def _narrowed(self, choice: tuple[int, ...], conflict: AttributeConflict, clash: Clash) -> Clash:
        """Return the part of a clash that fails by itself, once so many combinations have failed that this may pay."""
        if self._failures < FAILURES_AT_FULL_LENGTH or len(clash) < SMALLEST_TO_NARROW:
            return clash
        always = [place for place in conflict.members if place not in clash]
        return {place: clash[place] for place in core(sorted(clash), lambda few: self._fails(choice, [*always, *few]))}

    def _fails(self, choice: tuple[int, ...], places: Sequence[int]) -> bool:
        """Whether these choices are known to fail, whatever the others are."""
        frame = frame_of([self._query.asks[place][choice[place]] for place in sorted(places)], self._query.rules)
        candidates = [self._candidates_of(ask.place, choice[ask.place]) for ask in frame.asks]
        known = tuple(mask for mask in candidates if not isinstance(mask, Refusal))
        if len(known) < len(candidates):
            return True
        result = attempt(self._trial(frame, known), min(NARROWING_STEPS, max(self._budget - self._steps, 0)))
        self._steps += result.steps
        self._budget -= ATTEMPT_COST
        return isinstance(result, FailedAttempt)

    def _note(self, asks: Sequence[FlatRequest], refusal: Refusal) -> None:
        self._tried.note(asks, refusal)
        if self._reporter is not None:
            self._reporter.ruled_out([(ask.claim.name, ask.alternative.name) for ask in asks], refusal)

    def _try(self, choice: tuple[int, ...]) -> Chosen | Exhausted | AttributeConflict | None:
        """Return what the combination gives, None if it is to be passed over; members of a conflict are places."""
        frame = self._query.frame(choice)
        candidates = []
        for ask in frame.asks:
            mask = self._candidates_of(ask.place, choice[ask.place])
            if isinstance(mask, Refusal):
                return AttributeConflict((ask.place,), mask)
            candidates.append(mask)
        trial = self._trial(frame, tuple(candidates))
        watcher = None if self._reporter is None else NamedSteps(frame.asks, self._board, self._reporter)
        left = self._budget - self._steps
        limit = min(left, self._limit())
        result = attempt(trial, limit, watcher)
        self._steps += result.steps
        if isinstance(result, Spent):
            return self._exhausted() if limit == left or self._is_late() else None
        if isinstance(result, FailedAttempt):
            places = tuple(frame.asks[index].place for index in result.conflict.members)
            return msgspec.structs.replace(result.conflict, members=places)
        return self._chosen(choice, trial, result)

    def _limit(self) -> int:
        """Return what the search for one combination may take."""
        if all(len(alternatives) == 1 for alternatives in self._query.asks):
            return self._given
        return STEPS_PER_RIDDLE if self._has_passed_over else self._given // SHARE_OF_FIRST_RIDDLE

    def _trial(self, frame: RequestFrame, candidates: tuple[int, ...]) -> AttemptState:
        return AttemptState(
            frame=frame,
            candidates=candidates,
            rules=self._query.rules,
            board=self._board,
            sheet=self._sheet,
            is_late=self._is_late,
        )

    def _clash(self, choice: tuple[int, ...], conflict: AttributeConflict) -> Clash:
        """Return as large a clash as the proof allows: the last requests are let off first."""
        clash = {place: frozenset((choice[place],)) for place in conflict.members}
        if conflict.need is not None:
            clash = self._widened(choice, conflict, conflict.need)
        self._tried.rule_out(clash)
        asks = self._query.asks
        return {place: members for place, members in clash.items() if len(members) < len(asks[place])}

    def _widened(self, choice: tuple[int, ...], conflict: AttributeConflict, need: Need) -> Clash:
        needs = {place: self._needs(place, need) for place in conflict.members}
        spare = sum(needs[place][choice[place]] for place in needs) - conflict.limit - 1
        clash: Clash = {}
        for place in sorted(needs, reverse=True):
            mine = needs[place][choice[place]]
            least = min((other for other in needs[place] if other >= mine - spare), default=mine)
            spare -= mine - least
            clash[place] = frozenset(position for position, other in enumerate(needs[place]) if other >= least)
        return clash

    def _needs(self, place: int, need: Need) -> list[int]:
        """Return what each alternative needs at least; one that cannot be had at all needs more than there is."""
        found = []
        for position, ask in enumerate(self._query.asks[place]):
            mask = self._candidates_of(place, position)
            found.append(IMPOSSIBLE_NEED if isinstance(mask, Refusal) else need(ask, mask))
        return found

    def _chosen(self, choice: tuple[int, ...], trial: AttemptState, found: Found) -> Chosen:
        picks, score, left, taken = [0] * len(choice), 0, 0, 0
        for ask, mask, picked in zip(trial.frame.asks, trial.candidates, found.picks, strict=True):
            picks[ask.place] = picked
            score += ask.request.score_of(ask.alternative)
            if not ask.alternative.is_admin:
                left |= mask
                taken |= picked
        return Chosen(
            choice=choice,
            picks=tuple(picks),
            steps=self._steps,
            free_left=(left & ~taken).bit_count(),
            score=score,
        )

    def _candidates_of(self, place: int, position: int) -> int | Refusal:
        found = self._candidates.get((place, position))
        if found is None:
            found = candidates_of(self._query.asks[place][position], self._board)
            self._candidates[place, position] = found
        return found

    def _exhausted(self) -> Exhausted:
        asks = [alternatives[0] for alternatives in self._query.asks]
        if self._is_late():
            return Exhausted(refusal=not_in_time(asks), steps=self._steps, is_late=True)
        return Exhausted(refusal=gave_up(asks, self._steps), steps=self._steps)
