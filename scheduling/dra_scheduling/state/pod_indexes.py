"""What rules keep of the pods that have a place, so that a placement costs what it changes.

A rule that looks across nodes would have to look at every pod for every node. Instead it keeps counts of its own, is
told of each pod that takes a place or leaves one, and judges anew what these counts mean. One function tells it,
whatever the cause was: a bound pod, a BindRequest, a decision of this process, a plan, or the undoing of any of them.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.change_log import ChangeLog

Labels = Mapping[str, str]


class PodIndex(Protocol):
    """What one rule keeps of the pods that have a place."""

    def reserve(self, pod: Pod, labels: Labels) -> None:
        """Count a pod on a node with these labels."""

    def release(self, pod: Pod, labels: Labels) -> None:
        """Count it no longer; both are what they were when it was counted."""

    def judge(self) -> None:
        """Find out what the counts mean that changed; called once after all that changed together."""

    def judge_all(self) -> None:
        """Find out what all counts mean now that there are other nodes, or nodes with other labels."""


class PlacedPod(NamedTuple):
    """A pod and the labels of its node, as they were counted."""

    pod: Pod
    labels: Labels

    @property
    def read(self) -> object:
        """What rules may read of it; the rest of a pod never changes, or is nobody's business."""
        meta = self.pod.metadata
        return meta.uid, meta.labels, meta.is_deleting, self.labels


class PodIndexes:
    """The indexes of all rules of a cluster, kept in step with its pods, plans and trials included."""

    __slots__ = ("_changes", "_indexes", "_placed")

    def __init__(self, changes: ChangeLog) -> None:
        self._changes = changes
        self._indexes: tuple[PodIndex, ...] = ()
        self._placed: dict[ObjectKey, PlacedPod] = {}

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def add(self, index: PodIndex) -> None:
        """Keep this index, too, from now on; no pod may have a place yet."""
        self._indexes = (*self._indexes, index)

    def settle(self, key: ObjectKey, placed: PlacedPod | None) -> ClusterEvent:
        """Count the pod of this name like this, or not at all; return what kind of pending pods that could help."""
        before = self._placed.get(key)
        if before is placed or (before is not None and placed is not None and before.read == placed.read):
            return ClusterEvent.NOTHING
        self._changes.journal.note(lambda: self.settle(key, before))
        openings = self._changes.openings
        for index in self._indexes:
            if before is not None:
                index.release(before.pod, before.labels)
            if placed is not None:
                index.reserve(placed.pod, placed.labels)
            index.judge()
        if placed is None:
            del self._placed[key]
        else:
            self._placed[key] = placed
        return ClusterEvent.NOTHING if openings == self._changes.openings else ClusterEvent.DOMAINS

    def nodes_changed(self) -> ClusterEvent:
        """Let all be judged anew, because there are other nodes, or with other labels; return what this could help."""
        openings = self._changes.openings
        for index in self._indexes:
            index.judge_all()
        return ClusterEvent.NOTHING if openings == self._changes.openings else ClusterEvent.DOMAINS
