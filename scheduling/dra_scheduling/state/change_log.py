"""A log of what changed since somebody last looked, so that the work of a cycle grows with the changes alone.

Readers keep a cursor. Old entries are dropped once the log is long; a reader that fell behind is told to look at
everything, which is also what a change that concerns every node does.
"""

from enum import Enum, auto

KEPT_ENTRIES = 50_000


class Everything(Enum):
    """The answer to a reader whose cursor says nothing any more."""

    EVERYTHING = auto()


class ChangeLog:
    """Names of changed nodes, in the order of the changes."""

    __slots__ = ("_base", "_entries", "shared_takes", "upheavals")

    def __init__(self) -> None:
        self._base = 0
        self._entries: list[str] = []
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
        if len(self._entries) >= KEPT_ENTRIES:
            self.everything_changed()
        self._entries.append(node)

    def everything_changed(self) -> None:
        """Note that any node may have changed."""
        self._base += len(self._entries) + 1
        self._entries.clear()
        self.upheavals += 1

    def since(self, cursor: int) -> frozenset[str] | Everything:
        """Return the nodes that changed after the cursor, each once."""
        if cursor < self._base:
            return Everything.EVERYTHING
        return frozenset(self._entries[cursor - self._base :])
