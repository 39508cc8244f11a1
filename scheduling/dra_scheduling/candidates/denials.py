"""Why a candidate cannot serve a pod, over all its instance types."""

from collections.abc import Sequence

from dra_scheduling.allocation.alternatives import choose
from dra_scheduling.allocation.claimchecks import TOO_MANY_DEVICES
from dra_scheduling.allocation.outcomes import Impossible
from dra_scheduling.allocation.refusals import OUT_OF_BUDGET, claims_of
from dra_scheduling.candidates.boards import CandidateBoard
from dra_scheduling.candidates.claims import Question
from dra_scheduling.candidates.outcomes import Pruned
from dra_scheduling.candidates.validation import ALL_PRUNED, TOO_MANY, in_words
from dra_scheduling.pools import NodePool
from dra_scheduling.reasons import SHOWN_REASONS, Refusal, Wake, fold, told_once

TYPE_LOST = "InstanceTypeLost"


def denied(pruned: Sequence[Pruned], question: Question, published: Sequence[NodePool]) -> Refusal:
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
    wake = Wake.NOTHING
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
        wake=Wake.DEVICES | Wake.SLICES | Wake.CLASSES | Wake.NODE,
        found=steps,
        found_text="{found} search steps",
    )


def nothing_left() -> Refusal:
    """No type, or not this one, gives the devices that a claim of the pod was promised."""
    return Refusal(
        reason=TYPE_LOST,
        message="the instance type does not have what a claim of the pod was promised before",
        wake=Wake.NODE | Wake.CLAIMS,
    )


def _is_published_too_much(question: Question, published: Sequence[NodePool]) -> bool:
    """Whether a claim takes more than an allocation holds even without template devices."""
    board = CandidateBoard([(pool, pool.stock_with(None)) for pool in published], (), {})
    answer = choose(question.query, board, 1)
    return isinstance(answer, Impossible) and answer.refusal.reason == TOO_MANY_DEVICES
