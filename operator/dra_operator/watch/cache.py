"""The watched objects as values, by kind, on the event loop's side."""

from collections.abc import Iterator
from enum import Enum, auto
from typing import TypeVar, cast

import msgspec

from dra_kube.resources import Kind
from dra_operator.kinds import BY_KIND
from dra_scheduling.model.base import Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import KubernetesObject, key_of

T = TypeVar("T", bound=Value)


class Novelty(Enum):
    """What an object tells that the cache did not know."""

    NEWS = auto()
    """Something a decision could depend on."""
    VERSION = auto()
    """Its resource version only."""
    NOTHING = auto()
    """It is older than what is known."""


class Cache:
    """One value per kind, namespace and name: the newest seen."""

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: dict[Kind, dict[ObjectKey, KubernetesObject]] = {kind: {} for kind in BY_KIND}

    def get(self, kind: type[T], key: ObjectKey) -> T | None:
        """Return the object, or None where there is none."""
        return cast("T | None", self._objects[cast("Kind", kind)].get(key))

    def count(self, kind: Kind) -> int:
        """Return how many objects of the kind there are."""
        return len(self._objects[kind])

    def of_kind(self, kind: type[T]) -> Iterator[T]:
        """Yield the objects of a kind as they are at this moment."""
        yield from cast("list[T]", list(self._objects[cast("Kind", kind)].values()))

    def values(self, kind: Kind) -> tuple[KubernetesObject, ...]:
        """Return the objects of a kind that is not known before."""
        return tuple(self._objects[kind].values())

    def put(self, value: KubernetesObject) -> Novelty:
        """Take over an object from a watch, and say what is new about it.

        Events of two objects that follow each other under one name may come in any order; the newer version stays.
        """
        before = self._objects[type(value)].get(key_of(value))
        if before is not None and version(value) < version(before):
            return Novelty.NOTHING
        return self.put_listed(value)

    def put_listed(self, value: KubernetesObject) -> Novelty:
        """Take over an object from a list, whatever version was seen before: a restored server counts from lower."""
        known = self._objects[type(value)]
        key = key_of(value)
        before = known.get(key)
        known[key] = value
        return Novelty.VERSION if before is not None and _is_same(before, value) else Novelty.NEWS

    def drop(self, kind: Kind, key: ObjectKey, uid: str) -> KubernetesObject | None:
        """Forget an object and return it, None if it was not there. Another object of that name stays."""
        known = self._objects[kind]
        before = known.get(key)
        if before is None or before.metadata.uid != uid:
            return None
        return known.pop(key)

    def outdated(self, kind: Kind, listed: frozenset[str]) -> tuple[KubernetesObject, ...]:
        """Return the objects that are missing from a whole list of their kind: they went while nobody watched."""
        return tuple(value for value in self._objects[kind].values() if value.metadata.uid not in listed)


def version(value: KubernetesObject) -> int:
    """Return the resource version as a number, comparable since Kubernetes 1.35."""
    text = value.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _is_same(before: KubernetesObject, after: KubernetesObject) -> bool:
    # The metadata last: it always differs, so it has to be copied to be compared.
    if getattr(before, "spec", None) != getattr(after, "spec", None):
        return False
    if getattr(before, "status", None) != getattr(after, "status", None):
        return False
    metadata = msgspec.structs.replace(after.metadata, resource_version=before.metadata.resource_version)
    return metadata == before.metadata
