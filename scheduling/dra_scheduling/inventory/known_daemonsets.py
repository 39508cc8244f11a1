"""The DaemonSets of a cluster, each with what its next pods will take of nodes."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.inventory.daemonset_overhead import DaemonSetOverhead, overhead_of
from dra_scheduling.inventory.daemonset_pods import DaemonSetPods
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import Pod


class DaemonSets:
    """DaemonSets by name. What changes something answers whether nodes to come have another overhead now."""

    __slots__ = ("_overheads", "_pods", "_sets")

    def __init__(self) -> None:
        self._sets: dict[ObjectKey, DaemonSet] = {}
        self._pods = DaemonSetPods()
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
        self._overheads[value.key] = overhead_of(value, self._pods.newest(value.key))
        return True

    def remove(self, key: ObjectKey) -> bool:
        """Forget a DaemonSet."""
        self._overheads.pop(key, None)
        return self._sets.pop(key, None) is not None

    def apply_pod(self, pod: Pod) -> bool:
        """Take over the state of a pod, whoever owns it."""
        return self._look_again(self._pods.apply(pod))

    def remove_pod(self, key: ObjectKey) -> bool:
        """Forget a pod, whoever owned it."""
        return self._look_again(self._pods.remove(key))

    def overhead(self, key: ObjectKey) -> DaemonSetOverhead:
        """Return what the pods of a DaemonSet that is there will take."""
        return self._overheads[key]

    def expected_pod(self, key: ObjectKey) -> Pod:
        """Return what the next pod of a DaemonSet that is there will be like: its newest one, unless that has less."""
        pod, living = self._sets[key].pod, self._pods.newest(key)
        if living is None or pod_requests(living).amounts != self._overheads[key].requests:
            return pod
        seen = living.spec
        spec = replace(
            pod.spec,
            containers=seen.containers,
            init_containers=seen.init_containers,
            overhead=seen.overhead,
            resources=seen.resources,
        )
        return replace(pod, spec=spec)

    def running_on(self, requirements: Requirements, taints: Iterable[Taint]) -> tuple[DaemonSetOverhead, ...]:
        """Return those that may run on a node with these requirements and taints, by name."""
        refusing = tuple(taints)
        overheads = (self._overheads[key] for key in sorted(self._overheads))
        return tuple(one for one in overheads if one.tolerates(refusing) and one.may_run(requirements))

    def _look_again(self, keys: Iterable[ObjectKey]) -> bool:
        is_new = False
        for key in keys:
            daemon = self._sets.get(key)
            if daemon is not None:
                found = overhead_of(daemon, self._pods.newest(key))
                is_new |= found != self._overheads[key]
                self._overheads[key] = found
        return is_new
