"""The devices of one instance type side by side: published ones first, then its template devices."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from dra_scheduling.allocation.search_space import Group, SearchSpace
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.attributes import AttributeSource
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.free_devices import FreeDevices
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.ids import DeviceID

Stocked = tuple[PoolOnNode, FreeDevices]
Components = dict[str, tuple[frozenset[DeviceID], ...]]
"""Template devices that will share an attribute, by attribute."""


class TemplateSearchSpace(SearchSpace):
    """A board on which template devices may agree in an attribute that is not known yet."""

    __slots__ = ("_bound", "first_template")

    def __init__(self, published: Sequence[Stocked], templates: Sequence[Stocked], bound: Components) -> None:
        super().__init__((), Ledger())
        self._put(published)
        self.first_template = self.pools[-1][0] + self.pools[-1][1].width if self.pools else 0
        count = len(self.pools)
        self._put(templates)
        self._bound = {name: self._masks(components, count) for name, components in bound.items()}

    def agreeing(self, sources: Sequence[AttributeSource]) -> list[Group]:
        """Return the groups of devices that agree: by a value that they have, or because they will be bound.

        A device is never in groups of both kinds, so that values and bindings do not mix. What is derived is no
        attribute of a device, so that nothing is bound by it.
        """
        groups = super().agreeing(sources)
        for column, source in enumerate(sources):
            known = 0
            for group in groups:
                known |= group[column]
            for mask in self._bound.get(source, ()) if isinstance(source, str) else ():
                if mask & ~known:
                    groups.append(tuple(mask & ~known if place == column else 0 for place in range(len(sources))))
        return groups

    def looks(self, face_of: Callable[[PoolOnNode, FreeDevices], Hashable]) -> Hashable:
        """Return all that an answer depends on; boards with equal looks give the same one."""
        faces = tuple(face_of(pool, stock) for _, pool, stock in self.pools)
        bound = tuple(sorted(self._bound.items()))
        return faces, tuple(self.broken), self.first_template, bound

    def _put(self, stocked: Sequence[Stocked]) -> None:
        stocks = dict(stocked)
        self.lay_out(tuple(stocks), lambda pool: stocks[pool])

    def _masks(self, components: Iterable[frozenset[DeviceID]], count: int) -> tuple[int, ...]:
        numbers = {
            DeviceID(*pool.key, pool.device(number).name): offset + number
            for offset, pool, _ in self.pools[count:]
            for number in members(pool.everything)
        }
        masks = (sum(1 << numbers[device] for device in component if device in numbers) for component in components)
        return tuple(mask for mask in masks if mask)
