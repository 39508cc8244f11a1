"""The DaemonSets of a cluster, each with what its next pods will take of nodes."""

from collections.abc import Iterable, Mapping

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.inventory.daemonset_overhead import DaemonSetOverhead, overhead_of
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import Taint


class DaemonSets:
    """DaemonSets by name. What changes something answers whether nodes to come have another overhead now."""

    __slots__ = ("_overheads", "_sets")

    def __init__(self) -> None:
        self._sets: dict[ObjectKey, DaemonSet] = {}
        self._overheads: dict[ObjectKey, DaemonSetOverhead] = {}

    @property
    def by_key(self) -> Mapping[ObjectKey, DaemonSet]:
        """All DaemonSets by name; a live view."""
        return self._sets

    def apply(self, value: DaemonSet) -> bool:
        """Add a DaemonSet or take over its new state."""
        before = self._sets.get(value.key)
        self._sets[value.key] = value
        if before is not None and before.spec == value.spec:
            return False
        self._overheads[value.key] = overhead_of(value)
        return True

    def remove(self, key: ObjectKey) -> bool:
        """Forget a DaemonSet."""
        self._overheads.pop(key, None)
        return self._sets.pop(key, None) is not None

    def overhead(self, key: ObjectKey) -> DaemonSetOverhead:
        """Return what the pods of a DaemonSet that is there will take."""
        return self._overheads[key]

    def running_on(self, requirements: Requirements, taints: Iterable[Taint]) -> tuple[DaemonSetOverhead, ...]:
        """Return those that may run on a node with these requirements and taints, by name."""
        refusing = tuple(taints)
        overheads = (self._overheads[key] for key in sorted(self._overheads))
        return tuple(one for one in overheads if one.tolerates(refusing) and one.may_run(requirements))
