"""A many-to-many index: objects by the terms that they carry."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from dra_scheduling.model.ids import ObjectKey

T = TypeVar("T", bound=Hashable)


class InvertedIndex(Generic[T]):
    """Which objects carry which terms, both ways."""

    __slots__ = ("_by_key", "_by_term")

    def __init__(self) -> None:
        self._by_term: dict[T, set[ObjectKey]] = {}
        self._by_key: dict[ObjectKey, frozenset[T]] = {}

    def __len__(self) -> int:
        return len(self._by_term)

    def set(self, key: ObjectKey, terms: Iterable[T]) -> bool:
        """Let the object carry these terms and no others; return whether that is a change."""
        after = frozenset(terms)
        before = self._by_key.get(key, frozenset())
        for term in before - after:
            self._by_term[term].discard(key)
            if not self._by_term[term]:
                del self._by_term[term]
        for term in after - before:
            self._by_term.setdefault(term, set()).add(key)
        if after:
            self._by_key[key] = after
        else:
            self._by_key.pop(key, None)
        return before != after

    def terms(self, key: ObjectKey) -> frozenset[T]:
        """Return the terms that the object carries."""
        return self._by_key.get(key, frozenset())

    def has(self, term: T) -> bool:
        """Whether any object carries the term."""
        return term in self._by_term

    def keys_with(self, term: T) -> tuple[ObjectKey, ...]:
        """Return the objects that carry the term, in order."""
        return tuple(sorted(self._by_term.get(term, ())))
