"""When pods came to nodes or went from them last, as somebody saw who was looking."""

from collections.abc import Callable

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims.termination import is_drained_from


class PodEvents:
    """Pods that do not belong to their nodes: bound, about to end, ended or gone. `clock` shows seconds since 1970."""

    __slots__ = ("_clock", "_last", "_seen")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[ObjectKey, tuple[str, bool]] = {}
        self._last: dict[str, float] = {}

    def last(self, node: str) -> float:
        """Return when the last of a node was (seconds since 1970), 0 if none was seen."""
        return self._last.get(node, 0.0)

    def changed(self, pod: Pod) -> tuple[str, ...]:
        """Take note of a pod; return the nodes that it came to or went from."""
        now = (pod.spec.node_name, pod.metadata.is_deleting) if is_drained_from(pod) else None
        before = self._seen.get(pod.key)
        if now == before:
            return ()
        if now is None:
            return self.removed(pod.key)
        self._seen[pod.key] = now
        # When a pod was bound that nobody has seen before is not known, but that it was not before its creation.
        time = seconds_of(pod.metadata.creation_timestamp) if before is None else self._clock()
        there = before[0] if before is not None else ""
        if now[0] and now[0] != there:
            self._last.setdefault(now[0], 0.0)
        return self._note(time, now[0], there)

    def removed(self, key: ObjectKey) -> tuple[str, ...]:
        """Take note that a pod is gone; return the node that it went from, if any."""
        before = self._seen.pop(key, None)
        return () if before is None else self._note(self._clock(), before[0])

    def forget(self, node: str) -> None:
        """Forget a node that is gone."""
        self._last.pop(node, None)

    def _note(self, time: float, *nodes: str) -> tuple[str, ...]:
        # Pods are told of after their nodes are gone, too.
        found = tuple(node for node in dict.fromkeys(nodes) if node in self._last)
        for node in found:
            self._last[node] = max(time, self._last[node])
        return found
