"""An index of objects by what they have to do with."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from dra_scheduling.model.ids import ObjectKey

M = TypeVar("M", bound=Hashable)


class Index(Generic[M]):
    """Which objects carry which marks, both ways."""

    __slots__ = ("_by_key", "_by_mark")

    def __init__(self) -> None:
        self._by_mark: dict[M, set[ObjectKey]] = {}
        self._by_key: dict[ObjectKey, frozenset[M]] = {}

    def __len__(self) -> int:
        return len(self._by_mark)

    def set(self, key: ObjectKey, marks: Iterable[M]) -> bool:
        """Let the object carry these marks and no others; return whether that is a change."""
        after = frozenset(marks)
        before = self._by_key.get(key, frozenset())
        for mark in before - after:
            self._by_mark[mark].discard(key)
            if not self._by_mark[mark]:
                del self._by_mark[mark]
        for mark in after - before:
            self._by_mark.setdefault(mark, set()).add(key)
        if after:
            self._by_key[key] = after
        else:
            self._by_key.pop(key, None)
        return before != after

    def marks(self, key: ObjectKey) -> frozenset[M]:
        """Return the marks that the object carries."""
        return self._by_key.get(key, frozenset())

    def has(self, mark: M) -> bool:
        """Whether any object carries the mark."""
        return mark in self._by_mark

    def carrying(self, mark: M) -> tuple[ObjectKey, ...]:
        """Return the objects that carry the mark, in order."""
        return tuple(sorted(self._by_mark.get(mark, ())))
