"""What nodes answered to a query, kept until something of them changes.

Answers about a trial are taken back with it, and those that it made obsolete come back.
"""

from collections.abc import Callable

from dra_scheduling.allocation.allocation_outcomes import Chosen, Impossible
from dra_scheduling.basics.journal import Journal
from dra_scheduling.state.change_log import ChangeLog, Everything

NO_JOURNAL = Journal()


class NodeAnswers:
    """Answers by the name of the node; those that ended without knowing are not kept."""

    __slots__ = ("_chosen", "_cursor", "_impossible", "_journal", "_takes", "_tried")

    def __init__(self) -> None:
        self._chosen: dict[str, Chosen] = {}
        self._impossible: dict[str, Impossible] = {}
        self._cursor = -1
        self._takes = -1
        self._journal = NO_JOURNAL
        self._tried: frozenset[str] | Everything = frozenset()

    def refresh(self, changes: ChangeLog) -> None:
        """Forget what may not be true any more; to be called before anything is asked for or kept."""
        changed = changes.since(self._cursor)
        self._journal = changes.journal
        if self._journal.is_kept:
            self._tried = changes.tried
            self._journal.note(self._state_setter(changes, changed))
        self._cursor = changes.end
        if changed is Everything.EVERYTHING:
            self._chosen, self._impossible = {}, {}
        else:
            for node in changed:
                self._forget(node)
        if self._takes != changes.shared_takes:
            # A device that many nodes reach has gone to somebody: that never turns a refusal into a fit.
            self._takes = changes.shared_takes
            self._chosen = {}

    def known(self, node: str) -> Chosen | Impossible | None:
        """Return what the node answered."""
        return self._chosen.get(node) or self._impossible.get(node)

    def keep(self, node: str, answer: Chosen | Impossible) -> None:
        """Keep the answer of a node."""
        if self._journal.is_kept and (self._tried is Everything.EVERYTHING or node in self._tried):
            self._journal.note(lambda: self._drop(node))
        if isinstance(answer, Chosen):
            self._chosen[node] = answer
        else:
            self._impossible[node] = answer

    def _state_setter(self, changes: ChangeLog, changed: frozenset[str] | Everything) -> Callable[[], None]:
        """Return what brings back the dictionaries of now: those that follow are other ones, or note what they lose.

        Nodes that a first refresh finds as they were before the trial have answered for good.
        """
        is_first = changed is Everything.EVERYTHING and self._tried is not Everything.EVERYTHING
        chosen, impossible, cursor, takes = self._chosen, self._impossible, self._cursor, self._takes
        start = changes.start if is_first else None

        def put_back() -> None:
            if start is not None:
                self._cursor, self._takes = start.end, start.shared_takes
            else:
                self._chosen, self._impossible = chosen, impossible
                self._cursor, self._takes = cursor, takes

        return put_back

    def _forget(self, node: str) -> None:
        answer = self.known(node)
        if answer is not None:
            if self._journal.is_kept:
                self._journal.note(lambda: self.keep(node, answer))
            self._drop(node)

    def _drop(self, node: str) -> None:
        self._chosen.pop(node, None)
        self._impossible.pop(node, None)
