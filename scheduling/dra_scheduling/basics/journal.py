"""The one journal of a statement: the inverse of every step, kept by whoever takes it, newest last."""

from collections.abc import Callable

Inverse = Callable[[], object]


class Journal:
    """Inverses of what is done while a statement is open; nothing is kept while none is, or while steps are undone.

    Whatever changes by trial notes its inverse here, kept answers included, so that one rollback takes back all of it
    in the opposite order, at the cost of what was done.
    """

    __slots__ = ("_inverses", "is_open", "is_undoing", "undone")

    def __init__(self) -> None:
        self._inverses: list[Inverse] = []
        self.is_undoing = False
        """Whether steps are being undone just now."""
        self.is_open = False
        """Whether what happens is a trial."""
        self.undone = 0
        """How many steps were undone so far: the cost of all rollbacks."""

    def __len__(self) -> int:
        """The number of steps that can be undone."""
        return len(self._inverses)

    def open(self) -> None:
        """Keep inverses from now on. There is one statement at a time: a second one is a `ValueError`."""
        if self.is_open:
            raise ValueError("another statement of this cluster is open")
        self.is_open = True

    @property
    def is_kept(self) -> bool:
        """Whether the inverse of a step is of use now."""
        return self.is_open and not self.is_undoing

    def note(self, inverse: Inverse) -> None:
        """Keep what undoes a step that is taken now."""
        if self.is_open and not self.is_undoing:
            self._inverses.append(inverse)

    def rollback(self, length: int) -> None:
        """Undo all steps but the first `length`. To be asked for more than there are is a `ValueError`."""
        if length > len(self._inverses):
            raise ValueError("the history that this checkpoint belongs to is undone")
        self.is_undoing = True
        try:
            while len(self._inverses) > length:
                self._inverses.pop()()
                self.undone += 1
        finally:
            self.is_undoing = False

    def close(self) -> None:
        """Keep inverses no longer; there must be none left."""
        self.is_open = False
