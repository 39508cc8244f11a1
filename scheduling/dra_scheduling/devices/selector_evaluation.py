"""All expressions of a pod put to the devices of a pool at once, as far as time allows."""

from collections.abc import Sequence

from dra_scheduling.devices.evaluation_budget import EvaluationBudget
from dra_scheduling.devices.node_view import PoolOnNode
from dra_scheduling.devices.selections import DeviceCriteria

WISHES_AT_ONCE = 64
"""More together could make a slice forget answers before they are used."""


def learn(pool: PoolOnNode, wishes: Sequence[DeviceCriteria], pace: EvaluationBudget) -> bool:
    """Find out what the wishes mean of the devices; return whether there was time for it.

    Slice by slice, so that the views of its devices serve all expressions. What was found out is kept in any case.
    """
    new = [wish for wish in wishes if not pool.knows(wish)]
    for first in range(0, len(new), WISHES_AT_ONCE):
        some = new[first : first + WISHES_AT_ONCE]
        _evaluate(pool, some, pace)
        if pace.was_late:
            return False
        for wish in some:
            pool.verdict(wish)
    return True


def _evaluate(pool: PoolOnNode, wishes: Sequence[DeviceCriteria], pace: EvaluationBudget) -> None:
    selections = dict.fromkeys(wish.selection for wish in wishes)
    for sight in pool.sights:
        views = sight.piece.views()
        for selection in selections:
            chosen = sight.visible
            for program in selection.programs:
                chosen &= sight.piece.learn(program, chosen, views, pace)[0]
