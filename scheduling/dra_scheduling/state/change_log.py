"""A log of what changed since somebody last looked, so that the work of a cycle grows with the changes alone.

Readers keep a cursor. Old entries are dropped once the log is long; a reader that fell behind is told to look at
everything, which is also what a change that concerns every node does.

What a statement undoes leaves no entry behind: who did not look meanwhile has nothing to look at again. A reader that
did notes in the `journal` how it was before, and goes back to that together with everything else.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from dra_scheduling.basics.journal import Journal

KEPT_ENTRIES = 50_000


class Everything(Enum):
    """The answer to a reader whose cursor says nothing any more."""

    EVERYTHING = auto()


class DomainChange(NamedTuple):
    """Nodes with this value of a label may be judged otherwise by who reads these `domains`, told apart by identity."""

    domains: object
    value: str


class LogMark(NamedTuple):
    """A point in the log that it can be taken back to."""

    end: int
    oldest: int
    shared_takes: int
    upheavals: int
    domains_end: int
    openings: int


class ChangeLog:
    """Names of changed nodes, in the order of the changes, and beside them domains whose nodes are judged otherwise."""

    __slots__ = (
        "_base",
        "_domain_entries",
        "_domains_base",
        "_entries",
        "_oldest",
        "_start",
        "journal",
        "openings",
        "shared_takes",
        "upheavals",
    )

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = Journal() if journal is None else journal
        self._base = 0
        self._oldest = 0
        self._start: LogMark | None = None
        self._entries: list[str] = []
        self._domains_base = 0
        self._domain_entries: list[DomainChange] = []
        self.openings = 0
        """How often a domain was opened to pods that were kept out of it."""
        self.shared_takes = 0
        """How often a device that many nodes reach was taken: a fit found before is to be verified before use."""
        self.upheavals = 0
        """How often any node may have changed, those that are not there yet included."""

    @property
    def end(self) -> int:
        """The cursor of a reader that has seen all."""
        return self._base + len(self._entries)

    def changed(self, node: str) -> None:
        """Note that something on this node changed."""
        if len(self._entries) >= KEPT_ENTRIES and self._start is None:
            self.everything_changed()
        self._entries.append(node)

    def everything_changed(self) -> None:
        """Note that any node may have changed."""
        self.upheavals += 1
        if self._start is None:
            self._base += len(self._entries) + 1
            self._entries.clear()
            self._domains_base += len(self._domain_entries)
            self._domain_entries.clear()
        else:
            self._entries.append("")
        self._oldest = self.end

    @property
    def domains_end(self) -> int:
        """The cursor of a reader that has seen all changes of domains."""
        return self._domains_base + len(self._domain_entries)

    def domain_changed(self, domains: object, value: str) -> None:
        """Note that nodes with this value are judged otherwise by who reads these domains, and by nobody else."""
        if len(self._domain_entries) >= KEPT_ENTRIES and self._start is None:
            self.everything_changed()
        self._domain_entries.append(DomainChange(domains, value))

    def domains_since(self, cursor: int) -> Sequence[DomainChange]:
        """Return the changes of domains after the cursor; who has to look at everything has no need of them."""
        return self._domain_entries[max(cursor - self._domains_base, 0) :]

    def since(self, cursor: int) -> frozenset[str] | Everything:
        """Return the nodes that changed after the cursor, each once."""
        if cursor < self._oldest:
            return Everything.EVERYTHING
        return frozenset(self._entries[cursor - self._base :])

    @property
    def start(self) -> LogMark | None:
        """How the log was when the open statement began, None while none is open."""
        return self._start

    @property
    def tried(self) -> frozenset[str] | Everything:
        """The nodes that are not as they were before the open statement, or all, where any may be another one."""
        start = self._start
        if start is None:
            return frozenset()
        if start.shared_takes != self.shared_takes:
            return Everything.EVERYTHING
        return self.since(start.end)

    def begin(self) -> None:
        """Drop no entries until `rewind` has come back to this point for the last time."""
        self._start = self.mark()

    def finish(self) -> None:
        """Take note that the statement is over."""
        self._start = None

    def mark(self) -> LogMark:
        """Return the present as a point to come back to."""
        return LogMark(self.end, self._oldest, self.shared_takes, self.upheavals, self.domains_end, self.openings)

    def rewind(self, mark: LogMark) -> None:
        """Drop what was noted since the mark, because all of it has been undone."""
        del self._entries[mark.end - self._base :]
        del self._domain_entries[mark.domains_end - self._domains_base :]
        self._oldest, self.shared_takes, self.upheavals = mark.oldest, mark.shared_takes, mark.upheavals
        self.openings = mark.openings
