"""The scheduler's thread: keeps the library's `Cluster` true by messages, and decides what its queue has ready."""

import datetime as dt
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from dra_operator.departures import begins_to_leave
from dra_operator.disruption import Carried, Disruptor
from dra_operator.logs import log
from dra_operator.metrics import CYCLE_SECONDS, DEVICES_HELD, IN_FLIGHT, OUTCOMES, QUEUE
from dra_operator.provisioning import Plans, Provisioner, is_for_nodes
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import NewBudget, by_steps, schedule
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.disruption import Step
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome, Unschedulable
from dra_scheduling.wire import KubernetesObject, key_of

# Seconds. With the default of 5 ms the event loop waits that long for the interpreter at every step of a cycle.
SWITCH_INTERVAL = 0.0005
IDLE_SECONDS = 60.0
BATCH = 5_000

_log = log("cycle")


class Changed(msgspec.Struct, frozen=True):
    """An object is new or different."""

    value: KubernetesObject


class Removed(msgspec.Struct, frozen=True):
    """An object is gone; this is how it was last seen."""

    value: KubernetesObject


class Written(msgspec.Struct, frozen=True):
    """The decision about a pod is in the API."""

    uid: str


class Unwritten(msgspec.Struct, frozen=True):
    """The decision about a pod could not be written down: it does not hold."""

    pod: Pod


class Ordered(msgspec.Struct, frozen=True):
    """What was decided about a NodeClaim is in the API; or it could not be written down and does not hold."""

    node_claim: str
    is_written: bool


class Lead(msgspec.Struct, frozen=True):
    """Whether this replica is to decide from now on."""

    is_leading: bool


class Level(msgspec.Struct, frozen=True):
    """What was known when it was asked for has been taken in, whatever its kind."""


class Stop(msgspec.Struct, frozen=True):
    """The thread is to end."""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """What the thread calls. `ask_level` asks for one `Level` message, before which nothing is decided."""

    ask_level: Callable[[], None]
    deliver: Callable[[Plans], None]
    disrupt: Callable[[tuple[Step, ...]], None]
    failed: Callable[[BaseException], None]


Message = Changed | Removed | Written | Unwritten | Ordered | Carried | Lead | Level | Stop
Inbox = queue.SimpleQueue[Message]


class SchedulerCore:
    """Takes messages in and makes decisions; one thread's own. `now` is wall-clock time in seconds."""

    __slots__ = (
        "_cluster",
        "_cycle_pods",
        "_disruptor",
        "_failed",
        "_in_flight",
        "_is_leading",
        "_new_budget",
        "_provisioner",
        "_queue",
    )

    def __init__(
        self,
        cluster: Cluster,
        pods: SchedulingQueue,
        *,
        cycle_pods: int,
        new_budget: NewBudget = by_steps,
        provisioner: Provisioner | None = None,
        disruptor: Disruptor | None = None,
    ) -> None:
        self._cluster = cluster
        self._queue = pods
        self._cycle_pods = cycle_pods
        self._new_budget = new_budget
        self._provisioner = provisioner
        self._disruptor = disruptor
        self._in_flight: set[str] = set()
        self._failed: dict[ObjectKey, BindRequest] = {}
        self._is_leading = False

    def take_in(self, message: Message, now: float) -> None:
        """Let the cluster and the queue know what happened."""
        match message:
            case Changed(value):
                self._changed(value, now)
            case Removed(value):
                self._removed(value, now)
            case Written(uid):
                self._in_flight.discard(uid)
            case Unwritten(pod):
                self._unwritten(pod, now)
            case Ordered():
                self._ordered(message, now)
            case Carried(created):
                if self._disruptor is not None:
                    self._disruptor.written(created)
            case Lead(is_leading):
                self._is_leading = is_leading
            case Level() | Stop():
                pass

    def decide(self, now: float) -> Plans:
        """Return the outcomes for the next pods in turn; what fits or is to be made is counted in the cluster."""
        # Decisions that cannot be written as fast as they are made would only grow old.
        room = 2 * self._cycle_pods - len(self._in_flight)
        if not self._is_leading or room <= 0:
            return Plans()
        if self._provisioner is not None and self._provisioner.has_doubtful:
            return Plans(doubles=self._provisioner.take_doubles())
        if self._provisioner is not None:
            self._queue.wake(self._provisioner.rested(now), now)
        if self._provisioner is not None and self._provisioner.is_due(now):
            return self._plan(self._provisioner, now)
        pods = self._queue.take(now, min(self._cycle_pods, room))
        outcomes = tuple(self._outcomes(pods, now)) if pods else ()
        return Plans(outcomes=tuple(self._told(outcomes, now)))

    def disrupt(self, now: float) -> tuple[Step, ...]:
        """Return what is to be written so that nodes go; nothing new while pods wait for a decision."""
        if not self._is_leading or self._disruptor is None:
            return ()
        is_planning = self._provisioner is not None and bool(self._provisioner.depth)
        return self._disruptor.steps(now, is_quiet=not self._queue.depth.ready and not is_planning)

    def pause(self, now: float) -> float:
        """Return how many seconds may pass before there is something to decide, if nothing happens; 0 if there is."""
        if not self._is_leading or len(self._in_flight) >= 2 * self._cycle_pods:
            return IDLE_SECONDS
        if self._provisioner is not None and self._provisioner.has_doubtful:
            return 0.0
        planned = self._provisioner.next_time() if self._provisioner is not None else None
        disrupted = self._disruptor.next_time() if self._disruptor is not None else None
        times = [when for when in (self._queue.next_time(), planned, disrupted) if when is not None]
        return min(max(min(times) - now, 0.0), IDLE_SECONDS) if times else IDLE_SECONDS

    def measure(self) -> None:
        """Set the figures of /metrics to what is true now."""
        DEVICES_HELD.set(self._cluster.ledger.taken_count)
        depth = self._queue.depth
        QUEUE.labels("ready").set(depth.ready)
        QUEUE.labels("waiting").set(depth.waiting)
        QUEUE.labels("held").set(depth.held)
        QUEUE.labels("planned").set(self._provisioner.depth if self._provisioner is not None else 0)
        IN_FLIGHT.set(len(self._in_flight))

    def _plan(self, provisioner: Provisioner, now: float) -> Plans:
        """Return what becomes of the pods that were gathered, each tried on the nodes once more."""
        pods = self._queue.take_waiting(provisioner.take(now))
        outcomes = tuple(self._outcomes(pods, now)) if pods else ()
        left = [one for one in outcomes if isinstance(one, Unschedulable) and is_for_nodes(one)]
        kept = {one.pod.metadata.uid for one in left}
        others = self._told([one for one in outcomes if one.pod.metadata.uid not in kept], now)
        plans = provisioner.plan(left, now)
        waiting = (one for order in plans.orders for one in order.nominated)
        for outcome in (*plans.outcomes, *waiting):
            self._settle(outcome, now)
        return msgspec.structs.replace(plans, outcomes=(*others, *plans.outcomes))

    def _told(self, outcomes: Iterable[Outcome], now: float) -> Iterator[Outcome | Nominated]:
        """Yield what pods are told, each back in the queue."""
        for outcome in outcomes:
            told = outcome if self._provisioner is None else self._provisioner.consider(outcome, now)
            self._settle(told or outcome, now)
            if told is not None:
                yield told

    def _settle(self, outcome: Outcome | Nominated, now: float) -> None:
        self._queue.settle(outcome, now)
        OUTCOMES.labels(type(outcome).__name__.lower()).inc()
        if isinstance(outcome, Assignment):
            self._in_flight.add(outcome.pod.metadata.uid)

    def _ordered(self, message: Ordered, now: float) -> None:
        if self._provisioner is None:
            return
        if message.is_written:
            self._provisioner.written(message.node_claim)
            return
        pods, wake = self._provisioner.unwritten(message.node_claim)
        for pod in pods:
            if self._is_there(pod.key, pod.metadata.uid):
                self._queue.failed(pod.metadata.uid, 1, now)
        self._queue.wake(wake, now)

    def _outcomes(self, pods: Sequence[Pod], now: float) -> Iterator[Outcome]:
        try:
            with CYCLE_SECONDS.time():
                yield from schedule(self._cluster, pods, self._new_budget).outcomes
        except Exception:  # noqa: BLE001  whatever it is, it concerns these pods alone
            _log.exception("a decision failed", pods=[str(pod.key) for pod in pods][:20])
            for pod in pods:
                self._cluster.forget(pod.metadata.uid)
            if len(pods) > 1:
                # One of them is to blame; the others shall not pay for it.
                for pod in pods:
                    yield from self._outcomes((pod,), now)
            else:
                self._queue.failed(pods[0].metadata.uid, 1, now)

    def _changed(self, value: KubernetesObject, now: float) -> None:
        before = self._cluster.pod(value.key) if isinstance(value, Pod) else None
        if before is not None and before.metadata.uid != value.metadata.uid:
            self._forget(before.metadata.uid)
        known = self._cluster.claims.get(value.key) if isinstance(value, ResourceClaim) else None
        wake = self._cluster.apply(value)
        if self._provisioner is not None and isinstance(value, Pod) and begins_to_leave(before, value):
            self._provisioner.leaves(value)
        if isinstance(value, BindRequest):
            self._remember(value)
            self._note_failure(value.pod_key, now)
            self._look_at(value.pod_key, now)
        elif isinstance(value, Pod):
            self._note_failure(value.key, now)
            self._look_at(value.key, now)
        self._wake(value, wake, now, known)

    def _removed(self, value: KubernetesObject, now: float) -> None:
        if isinstance(value, Pod):
            self._forget(value.metadata.uid)
        wake = self._cluster.remove(type(value), key_of(value))
        if isinstance(value, BindRequest):
            self._failed.pop(value.pod_key, None)
            self._look_at(value.pod_key, now)
        self._wake(value, wake, now)

    def _wake(
        self, value: KubernetesObject, change: ClusterEvent, now: float, known: ResourceClaim | None = None
    ) -> None:
        if self._provisioner is not None:
            for name in self._provisioner.noticed(value, change, now):
                self._queue.wake_nominated(name, now)
        self._queue.wake(change, now, *(each for each in (known, value) if isinstance(each, ResourceClaim)))

    def _forget(self, uid: str) -> None:
        self._queue.forget(uid)
        if self._provisioner is not None:
            self._provisioner.forget(uid)

    def _unwritten(self, pod: Pod, now: float) -> None:
        uid = pod.metadata.uid
        self._in_flight.discard(uid)
        if self._is_there(pod.key, uid):
            self._queue.failed(uid, 1, now)
        wake = self._cluster.forget(uid)
        self._look_at(pod.key, now)
        self._queue.wake(wake, now)

    def _remember(self, request: BindRequest) -> None:
        if request.phase == FAILED:
            self._failed[request.pod_key] = request
        else:
            self._failed.pop(request.pod_key, None)

    def _note_failure(self, key: ObjectKey, now: float) -> None:
        """Let the pod of a failed BindRequest pause, whichever of the two was seen first."""
        request = self._failed.get(key)
        if request is not None and self._is_there(key, request.pod_uid):
            self._queue.failed(request.pod_uid, request.status.failed_attempts, _moment(request, now))

    def _is_there(self, key: ObjectKey, uid: str) -> bool:
        pod = self._cluster.pod(key)
        return pod is not None and pod.metadata.uid == uid and not pod.spec.node_name

    def _look_at(self, key: ObjectKey, now: float) -> None:
        """Make the queue hold the pod of this name exactly if it is pending."""
        pod = self._cluster.pod(key)
        if pod is None:
            return
        if self._cluster.is_pending(pod):
            self._queue.offer(pod, now)
        elif pod.spec.node_name or pod.is_finished or pod.metadata.is_deleting:
            self._forget(pod.metadata.uid)
        else:
            self._queue.withdraw(pod.metadata.uid)


class CycleThread(threading.Thread):
    """Runs a core until it is told to stop. Calls what `calls` holds from its own thread."""

    def __init__(self, core: SchedulerCore, *, clock: Callable[[], float], calls: Calls) -> None:
        super().__init__(name="scheduling cycle", daemon=True)
        self.inbox: Inbox = queue.SimpleQueue()
        self._core = core
        self._clock = clock
        self._calls = calls
        self._has_asked = False

    def changed(self, value: KubernetesObject) -> None:
        """Tell the core of an object; to be called from the event loop."""
        self.inbox.put(Changed(value))

    def removed(self, value: KubernetesObject) -> None:
        """Tell the core of an object that went; to be called from the event loop."""
        self.inbox.put(Removed(value))

    def run(self) -> None:
        """Take in and decide in turn, so that no decision is made on old news."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            while self._turn():
                pass
        except BaseException as error:
            self._calls.failed(error)
            raise

    def _turn(self) -> bool:
        is_level = False
        for message in self._messages():
            if isinstance(message, Stop):
                return False
            is_level |= isinstance(message, Level)
            try:
                self._core.take_in(message, self._clock())
            except Exception:  # noqa: BLE001  whatever it is, it concerns this object alone
                _log.exception("an object could not be taken in", message=repr(message)[:1_000])
        if is_level:
            self._has_asked = False
            plans = self._core.decide(self._clock())
            if plans.outcomes or plans.orders or plans.doubles:
                self._calls.deliver(plans)
            steps = self._core.disrupt(self._clock())
            if steps:
                self._calls.disrupt(steps)
        self._core.measure()
        if not self._has_asked and not self._core.pause(self._clock()):
            self._has_asked = True
            self._calls.ask_level()
        return True

    def _messages(self) -> Iterator[Message]:
        seconds = IDLE_SECONDS if self._has_asked else self._core.pause(self._clock())
        try:
            yield self.inbox.get(timeout=seconds) if seconds > 0 else self.inbox.get_nowait()
            for _ in range(BATCH):
                yield self.inbox.get_nowait()
        except queue.Empty:
            return


def _moment(request: BindRequest, now: float) -> float:
    """Return when the last attempt was; not later than now, whatever the binder's clock says."""
    text = request.status.last_attempt_time
    try:
        return min(now, dt.datetime.fromisoformat(text).timestamp()) if text else now
    except ValueError:
        return now
