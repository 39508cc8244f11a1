"""What nodes answered to a query, kept until something of them changes."""

from dra_scheduling.allocation.allocation_outcomes import Chosen, Impossible
from dra_scheduling.state.change_log import ChangeLog, Everything


class NodeAnswers:
    """Answers by the name of the node; those that ended without knowing are not kept."""

    __slots__ = ("_chosen", "_cursor", "_impossible", "_takes")

    def __init__(self) -> None:
        self._chosen: dict[str, Chosen] = {}
        self._impossible: dict[str, Impossible] = {}
        self._cursor = -1
        self._takes = -1

    def refresh(self, changes: ChangeLog) -> None:
        """Forget what may not be true any more; to be called before anything is asked for or kept."""
        changed = changes.since(self._cursor)
        self._cursor = changes.end
        if changed is Everything.EVERYTHING:
            self._chosen.clear()
            self._impossible.clear()
        else:
            for node in changed:
                self._chosen.pop(node, None)
                self._impossible.pop(node, None)
        if self._takes != changes.shared_takes:
            # A device that many nodes reach has gone to somebody: that never turns a refusal into a fit.
            self._takes = changes.shared_takes
            self._chosen.clear()

    def known(self, node: str) -> Chosen | Impossible | None:
        """Return what the node answered."""
        return self._chosen.get(node) or self._impossible.get(node)

    def keep(self, node: str, answer: Chosen | Impossible) -> None:
        """Keep the answer of a node."""
        if isinstance(answer, Chosen):
            self._chosen[node] = answer
        else:
            self._impossible[node] = answer
