"""Which DeviceClass serves an extended resource name."""

from collections.abc import Mapping
from types import MappingProxyType

from dra_scheduling.extended_resources.resource_names import IMPLICIT_PREFIX, is_explicit_name
from dra_scheduling.model.slices import DeviceClass


class ClassIndex:
    """The DeviceClasses of a cluster, kept between cycles; a function of the set of classes, never of their order.

    Several classes may claim one name. All are kept, the newest first and then by name, so that the next one takes over
    when the first goes. The implicit name of a class belongs to that class alone.
    """

    __slots__ = ("_candidates", "_classes", "revision")

    def __init__(self) -> None:
        self._classes: dict[str, DeviceClass] = {}
        self._candidates: dict[str, tuple[DeviceClass, ...]] = {}
        self.revision = 0
        """Grows with each change of what a class says, its metadata other than the creation time apart."""

    @property
    def classes(self) -> Mapping[str, DeviceClass]:
        """All classes by name; a live view."""
        return MappingProxyType(self._classes)

    def apply(self, item: DeviceClass) -> None:
        """Add a class, or replace the one of that name."""
        name = item.metadata.name
        before = self._classes.get(name)
        self._classes[name] = item
        if before is not None:
            self._withdraw(before)
        self._enter(item)
        if before is None or _content(before) != _content(item):
            self.revision += 1

    def remove(self, name: str) -> None:
        """Forget a class; removing one that is not there changes nothing."""
        before = self._classes.pop(name, None)
        if before is not None:
            self._withdraw(before)
            self.revision += 1

    def serving(self, resource_name: str) -> DeviceClass | None:
        """Return the class whose devices are handed out for the resource, if there is one."""
        candidates = self.candidates(resource_name)
        return candidates[0] if candidates else None

    def candidates(self, resource_name: str) -> tuple[DeviceClass, ...]:
        """Return every class that answers to the resource name, the one that serves it first."""
        if resource_name.startswith(IMPLICIT_PREFIX):
            own = self._classes.get(resource_name[len(IMPLICIT_PREFIX) :])
            return () if own is None else (own,)
        return self._candidates.get(resource_name, ())

    def _enter(self, item: DeviceClass) -> None:
        resource_name = item.spec.extended_resource_name
        if is_explicit_name(resource_name):
            self._candidates[resource_name] = _ranked((*self._candidates.get(resource_name, ()), item))

    def _withdraw(self, item: DeviceClass) -> None:
        resource_name = item.spec.extended_resource_name
        name = item.metadata.name
        rest = tuple(other for other in self._candidates.pop(resource_name, ()) if other.metadata.name != name)
        if rest:
            self._candidates[resource_name] = rest


def _content(item: DeviceClass) -> tuple[object, ...]:
    return item.spec, item.metadata.creation_timestamp


def _ranked(classes: tuple[DeviceClass, ...]) -> tuple[DeviceClass, ...]:
    by_name = sorted(classes, key=lambda item: item.metadata.name)
    return tuple(sorted(by_name, key=lambda item: item.metadata.creation_timestamp, reverse=True))
