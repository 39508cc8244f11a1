"""Why a candidate cannot serve a pod, over all its instance types."""

from collections.abc import Sequence

from dra_scheduling.allocation.allocation_outcomes import Impossible
from dra_scheduling.allocation.allocation_refusals import OUT_OF_BUDGET, claims_of
from dra_scheduling.allocation.claim_validation import TOO_MANY_DEVICES
from dra_scheduling.allocation.prioritized_list import choose
from dra_scheduling.basics.reasons import SHOWN_REASONS, ClusterEvent, Refusal, fold, told_once
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.template_devices.planned_claims import Question
from dra_scheduling.template_devices.template_claim_validation import ALL_PRUNED, TOO_MANY, in_words
from dra_scheduling.template_devices.template_outcomes import Pruned
from dra_scheduling.template_devices.template_search_space import TemplateSearchSpace

TYPE_LOST = "InstanceTypeLost"


def denied(pruned: Sequence[Pruned], question: Question, published: Sequence[PoolOnNode]) -> Refusal:
    """Return one refusal for all types; of a single one its own."""
    refusals = [one.refusal for one in pruned]
    first = refusals[0]
    if all(refusal.reason == TOO_MANY_DEVICES for refusal in refusals):
        refusal = in_words(first, TOO_MANY)
        return refusal if _is_published_too_much(question, published) else in_words(refusal, ALL_PRUNED)
    if len(refusals) == 1:
        return first
    folded = fold(refusals)
    shown = told_once("; ".join(f"on {one.nodes}: {one.message}" for one in folded[:SHOWN_REASONS]), folded)
    wake = ClusterEvent.NOTHING
    for refusal in refusals:
        wake |= refusal.wake
    return Refusal(
        reason=folded[0].reason,
        message=f"no instance type can satisfy the allocation, 0/{len(refusals)} fit: {shown}",
        wake=wake,
        asides=tuple(dict.fromkeys(aside for one in folded for aside in one.asides)),
    )


def gave_up(question: Question, steps: int, types: Sequence[str]) -> Refusal:
    """The budget ended."""
    claims = claims_of([alternatives[0] for alternatives in question.query.asks])
    return Refusal(
        reason=OUT_OF_BUDGET,
        message=f"{claims}: no answer for instance types {', '.join(types[:SHOWN_REASONS])}",
        wake=ClusterEvent.DEVICES | ClusterEvent.SLICES | ClusterEvent.CLASSES | ClusterEvent.NODE,
        found=steps,
        found_text="{found} search steps",
    )


def nothing_left() -> Refusal:
    """No type, or not this one, gives the devices that a claim of the pod was promised."""
    return Refusal(
        reason=TYPE_LOST,
        message="the instance type does not have what a claim of the pod was promised before",
        wake=ClusterEvent.NODE | ClusterEvent.CLAIMS,
    )


def _is_published_too_much(question: Question, published: Sequence[PoolOnNode]) -> bool:
    """Whether a claim takes more than an allocation holds even without template devices."""
    board = TemplateSearchSpace([(pool, pool.stock_with(None)) for pool in published], (), {})
    answer = choose(question.query, board, 1)
    return isinstance(answer, Impossible) and answer.refusal.reason == TOO_MANY_DEVICES
