"""What a search sees of a pool in reach of a node, as one object: pools with one face can be decided once."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Protocol

from dra_scheduling.pools.attributes import AttributeSource
from dra_scheduling.pools.selections import Wish


class Asking(Protocol):
    """What a face is about: the wishes of a pod's claims, and the attributes that their constraints compare."""

    @property
    def wishes(self) -> Sequence[Wish]:
        """All different wishes."""

    @property
    def attributes(self) -> Sequence[AttributeSource]:
        """All different attributes, published or derived."""


class Outlook:
    """Wishes and attributes. One object stands for one content, whichever claims they come from."""

    __slots__ = ("attributes", "wishes")

    def __init__(self, wishes: tuple[Wish, ...], attributes: tuple[AttributeSource, ...]) -> None:
        self.wishes = wishes
        self.attributes = attributes


class Face:
    """Pools with one face give the same answers; faces are told apart by identity."""

    __slots__ = ()


@lru_cache(maxsize=4096)
def outlook(wishes: tuple[Wish, ...], attributes: tuple[AttributeSource, ...]) -> Outlook:
    """Return the outlook of this content."""
    return Outlook(wishes, attributes)


@lru_cache(maxsize=65_536)
def face_of(content: Hashable) -> Face:  # noqa: ARG001 - the cache keeps one face for each content
    """Return the face of this content."""
    return Face()
