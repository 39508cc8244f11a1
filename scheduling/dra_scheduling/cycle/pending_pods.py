"""Keeps the queue true to the cluster: pods that are pending, whose binds failed, whose decisions are written."""

from collections.abc import Callable, Iterable

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.cycle.queue_state import QueueState
from dra_scheduling.model.base import Value
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome
from dra_scheduling.wire import KubernetesObject


class PendingState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot; failed BindRequests are found among the objects."""

    queue: QueueState = QueueState()
    in_flight: tuple[str, ...] = ()


class PendingPods:
    """The queue of a cluster's pending pods, and the pods that are decided and not written yet (`in_flight`)."""

    def __init__(self, cluster: Cluster, forget: Callable[[str], None], state: PendingState | None = None) -> None:
        """`forget` is called with the UID of every pod that is bound or gone."""
        known = PendingState() if state is None else state
        self._cluster = cluster
        self._also_forget = forget
        self.queue = SchedulingQueue(known.queue)
        self.in_flight = set(known.in_flight)
        self._failed: dict[ObjectKey, BindRequest] = {}

    @property
    def state(self) -> PendingState:
        """The state from which another one can be made, on a cluster with the same content."""
        return PendingState(queue=self.queue.state, in_flight=tuple(sorted(self.in_flight)))

    def restore(self, requests: Iterable[BindRequest]) -> None:
        """Take note of the BindRequests that were there when the state was kept."""
        for request in requests:
            self._remember(request)

    def replaced(self, value: KubernetesObject) -> Pod | None:
        """Return the pod that had the object's name before; it is forgotten if it was another one."""
        before = self._cluster.pod(value.key) if isinstance(value, Pod) else None
        if before is not None and before.metadata.uid != value.metadata.uid:
            self.forget(before.metadata.uid)
        return before

    def changed(self, value: KubernetesObject, now: float) -> None:
        """Take note of a pod or BindRequest that the cluster has taken in."""
        if isinstance(value, BindRequest):
            self._remember(value)
            self._note_failure(value.pod_key, now)
            self._look_at(value.pod_key, now)
        elif isinstance(value, Pod):
            self._note_failure(value.key, now)
            self._look_at(value.key, now)

    def removed(self, value: KubernetesObject, now: float) -> None:
        """Take note of an object that the cluster has removed."""
        if isinstance(value, BindRequest):
            self._failed.pop(value.pod_key, None)
            self._look_at(value.pod_key, now)

    def forget(self, uid: str) -> None:
        """Forget a pod that is bound, or gone."""
        self.queue.forget(uid)
        self._also_forget(uid)

    def settle(self, outcome: Outcome | Nominated, now: float) -> None:
        """Put the pod where its outcome says."""
        self.queue.settle(outcome, now)
        if isinstance(outcome, Assignment):
            self.in_flight.add(outcome.pod.metadata.uid)

    def written(self, uid: str) -> None:
        """Take note that the decision about a pod is in the API."""
        self.in_flight.discard(uid)

    def not_written(self, key: ObjectKey, uid: str, now: float) -> None:
        """Take a decision back that could not be written: the pod pauses, what it took is free for others."""
        self.in_flight.discard(uid)
        self.pause(key, uid, now)
        wake = self._cluster.forget(uid)
        self._look_at(key, now)
        self.queue.wake(wake, now)

    def pause(self, key: ObjectKey, uid: str, now: float) -> None:
        """Let a pod back off whose decision could not be written, if it is still there."""
        if self._is_there(key, uid):
            self.queue.failed(uid, 1, now)

    def _remember(self, request: BindRequest) -> None:
        if request.phase == FAILED:
            self._failed[request.pod_key] = request
        else:
            self._failed.pop(request.pod_key, None)

    def _note_failure(self, key: ObjectKey, now: float) -> None:
        """Let the pod of a failed BindRequest back off, whichever of the two was seen first."""
        request = self._failed.get(key)
        if request is not None and self._is_there(key, request.pod_uid):
            self.queue.failed(request.pod_uid, request.status.failed_attempts, _last_attempt(request, now))

    def _is_there(self, key: ObjectKey, uid: str) -> bool:
        pod = self._cluster.pod(key)
        return pod is not None and pod.metadata.uid == uid and not pod.spec.node_name

    def _look_at(self, key: ObjectKey, now: float) -> None:
        """Make the queue hold the pod of this name exactly if it is pending."""
        pod = self._cluster.pod(key)
        if pod is None:
            return
        if self._cluster.is_pending(pod):
            self.queue.offer(pod, now)
        elif pod.spec.node_name or pod.is_finished or pod.metadata.is_deleting:
            self.forget(pod.metadata.uid)
        else:
            self.queue.withdraw(pod.metadata.uid)


def _last_attempt(request: BindRequest, now: float) -> float:
    """Return when the last attempt was; not later than now, whatever the binder's clock says."""
    when = seconds_of(request.status.last_attempt_time)
    return min(now, when) if when else now
