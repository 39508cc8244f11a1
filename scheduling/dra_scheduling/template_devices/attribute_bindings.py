"""Attributes whose value nobody knows before the node runs, though it is known which devices will share it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dra_scheduling.model.ids import DeviceID


class Scope(NamedTuple):
    """Where a declaration holds. It says nothing about another attribute, node pool or instance type."""

    attribute: str
    node_pool: str
    instance_type: str


class AttributeBindings:
    """Devices by what they are bound with: to be bound is symmetric and transitive, within one scope.

    A declared group of fewer than two different devices binds nothing.
    """

    __slots__ = ("_components",)

    def __init__(self, declared: Mapping[Scope, Iterable[Iterable[DeviceID]]] | None = None) -> None:
        self._components = {scope: _components(groups) for scope, groups in (declared or {}).items()}

    def components(self, scope: Scope) -> tuple[frozenset[DeviceID], ...]:
        """Return the largest sets of devices that are all bound with each other, by their first members."""
        return self._components.get(scope, ())

    def are_bound(self, scope: Scope, one: DeviceID, other: DeviceID) -> bool:
        """Whether both will share the attribute; a device shares it with itself if it is bound at all."""
        return any(one in component and other in component for component in self.components(scope))

    def is_bound(self, scope: Scope, device: DeviceID) -> bool:
        """Whether the device is bound with any other."""
        return self.are_bound(scope, device, device)


def _components(groups: Iterable[Iterable[DeviceID]]) -> tuple[frozenset[DeviceID], ...]:
    found: list[set[DeviceID]] = []
    for group in groups:
        joined = set(group)
        if len(joined) < 2:  # noqa: PLR2004  a device alone shares nothing
            continue
        apart = []
        for component in found:
            if component & joined:
                joined |= component
            else:
                apart.append(component)
        found = [*apart, joined]
    return tuple(sorted((frozenset(component) for component in found), key=min))
