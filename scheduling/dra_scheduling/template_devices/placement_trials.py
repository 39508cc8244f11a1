"""All instance types of a candidate, asked at one place after the other."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Answer, Chosen, Exhausted
from dra_scheduling.allocation.allocation_refusals import POOL_BROKEN
from dra_scheduling.allocation.prioritized_list import choose
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.template_devices.device_host import DeviceHostType
from dra_scheduling.template_devices.device_uses import TypeServed
from dra_scheduling.template_devices.device_views import DeviceViews
from dra_scheduling.template_devices.planned_claims import Question
from dra_scheduling.template_devices.reach_domains import ReachDomain, ReachDomains
from dra_scheduling.template_devices.served_claims import served_by
from dra_scheduling.template_devices.template_claim_validation import in_words, words_for
from dra_scheduling.template_devices.template_outcomes import Pruned
from dra_scheduling.template_devices.template_search_space import TemplateSearchSpace

NO_OFFERING = "NoOffering"


class PlacementTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What the instance types answered at one place, each list by name."""

    stage: ReachDomain
    served: tuple[TypeServed, ...] = ()
    pruned: tuple[Pruned, ...] = ()
    unfinished: tuple[str, ...] = ()
    steps: int = 0

    @property
    def templates(self) -> int:
        """The number of template devices in use, over all types."""
        return sum(use.is_template for one in self.served for claim in one.claims for use in claim.uses)

    @property
    def rank(self) -> tuple[int, tuple[tuple[str, tuple[int, ...]], ...], int]:
        """The smaller the better: most types, then preferred alternatives, then published devices."""
        return -len(self.served), tuple((one.name, one.choice) for one in self.served), self.templates

    def is_unbeaten(self, types: int) -> bool:
        """Whether no other place can be better."""
        is_preferred = all(not any(one.choice) for one in self.served)
        return len(self.served) == types and is_preferred and not self.templates


class SearchContext(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked what: the types in the order of their names, the question, and their shelves.

    `requirements` are those of the candidate before anything was looked for.
    """

    types: tuple[DeviceHostType, ...]
    question: Question
    shelves: DeviceViews
    requirements: Requirements


def rounds(panel: SearchContext, stages: ReachDomains, budget: SearchBudget) -> Iterator[PlacementTrial]:
    """Yield one round a place, until no other place can be better; at least one."""
    seen: list[tuple[int, frozenset[str]]] = []
    for stage in stages.stages:
        offered = _offered(panel, stage.place.box)
        names = frozenset(one.name for one in offered)
        if stages.is_independent and any(not stage.holding & ~holding and names <= others for holding, others in seen):
            continue
        seen.append((stage.holding, names))
        found = _round(panel, stage, offered, budget)
        budget = budget.after(found.steps)
        yield found
        if found.is_unbeaten(len(panel.types)):
            return


def best_of(found: Sequence[PlacementTrial]) -> PlacementTrial:
    """Return the best round; of equal ones the first."""
    return min(found, key=lambda one: one.rank)


def _round(
    panel: SearchContext, stage: ReachDomain, offered: Sequence[DeviceHostType], budget: SearchBudget
) -> PlacementTrial:
    question, query = panel.question, panel.question.query
    served, pruned, unfinished, steps = list[TypeServed](), list[Pruned](), list[str](), 1
    for one in offered:
        board = panel.shelves.board(one, stage.pools, query.attributes)
        if not query.learn((pool for _, pool, _ in board.pools), budget.is_late):
            unfinished.append(one.name)
            continue
        looks = board.looks(lambda pool, stock: pool.face_with(query.outlook, stock))
        answer: Answer | None = question.known(looks)
        if answer is None:
            left = budget.after(steps)
            if left.is_spent:
                unfinished.append(one.name)
                continue
            answer = choose(query, board, left.share, is_late=left.is_late)
            steps += answer.steps
            if not isinstance(answer, Exhausted):
                question.keep(looks, answer)
        match answer:
            case Chosen():
                served.append(served_by(one.name, query, answer, board, stage.place))
            case Exhausted():
                unfinished.append(one.name)
            case _:
                pruned.append(Pruned(one.name, _explained(answer.refusal, board, question)))
    pruned += _without_offering(panel.types, offered)
    return PlacementTrial(
        stage=stage, served=tuple(served), pruned=tuple(pruned), unfinished=tuple(unfinished), steps=steps
    )


def _explained(refusal: Refusal, board: TemplateSearchSpace, question: Question) -> Refusal:
    if refusal.reason != POOL_BROKEN:
        return refusal
    doubtful = [pool for wish in question.query.wishes for pool in board.in_doubt(wish)]
    return in_words(refusal, words_for(doubtful))


def _offered(panel: SearchContext, box: Requirements) -> tuple[DeviceHostType, ...]:
    """Return the types that can be had within the box; who is asked was had without it."""
    if box.by_key == panel.requirements.by_key:
        return panel.types
    verdicts: dict[object, bool] = {(): True}
    kept = []
    for one in panel.types:
        is_had = verdicts.get(one.offerings)
        if is_had is None:
            is_had = verdicts[one.offerings] = any(box.conflict(offering) is None for offering in one.offerings)
        if is_had:
            kept.append(one)
    return tuple(kept)


def _without_offering(types: Iterable[DeviceHostType], offered: Iterable[DeviceHostType]) -> Iterator[Pruned]:
    had = {one.name for one in offered}
    for one in types:
        if one.name not in had:
            yield Pruned(one.name, NOT_OFFERED)


NOT_OFFERED = Refusal(
    reason=NO_OFFERING, message="the instance type is not offered where the devices are reached", wake=ClusterEvent.NODE
)
