"""The scheduler's role: the cycle's thread, the writers of BindRequests, and what pending pods are told."""

import asyncio
import time
from collections.abc import Callable, Coroutine

from dra_kube.api import Api, Json
from dra_kube.errors import ApiError
from dra_kube.retry import Backoff, RetryPolicy, retry
from dra_operator.api.events import BIND_FAILED, Recorder
from dra_operator.api.leases import Leadership
from dra_operator.kinds import NODE_CLAIMS
from dra_operator.logs import log
from dra_operator.pacing import Clock, LevelGate
from dra_operator.roles.scheduler.bindrequest_writer import BindRequestWriter, Reports
from dra_operator.roles.scheduler.cycle_reporter import MetricsReporter
from dra_operator.roles.scheduler.disruption_writer import DisruptionWriter
from dra_operator.roles.scheduler.nodeclaim_writer import NodeClaimWriter, OrderReports
from dra_operator.roles.scheduler.pod_status import PodStatusWriter
from dra_operator.roles.scheduler.recordings import RecordingFiles
from dra_operator.roles.scheduler.scheduling_thread import Calls, Level, SchedulingThread, Stop
from dra_operator.settings import NodeClaimsMode, Settings
from dra_operator.watch.cache import Cache
from dra_scheduling.cycle.decisions import Decisions, NodeClaimOrder
from dra_scheduling.cycle.events import BindRequestWrite, LeadershipChanged, NodeClaimWrite, WriteResult
from dra_scheduling.cycle.loop import SchedulingLoop
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.recorder import RecordedDeadlines, RecordedScheduler, Sink
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.cycle.timers import ClockDeadlines, SearchDeadlines
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims.lifecycle_steps import OWN_GROUP
from dra_scheduling.wire import KubernetesObject

WRITERS = 16
NODE_CLAIM_WRITERS = 8
UNWRITTEN = "BindRequestNotWritten"
NODE_CLAIM_UNWRITTEN = "NodeClaimNotWritten"
LISTS = RetryPolicy(backoff=Backoff(1.0, 1.0))

_log = log("scheduler")


def steady_wall_clock() -> Clock:
    """Return a clock that shows the time of day, and that nobody can set while it runs."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class SchedulerRole:
    """Everything that the role is made of. Lives on the event loop, apart from its thread."""

    def __init__(  # noqa: PLR0913  it joins the parts
        self,
        settings: Settings,
        *,
        api: Api,
        cache: Cache,
        recorder: Recorder,
        leadership: Leadership,
        clock: Clock,
        gate: LevelGate,
        failed: Callable[[str], None],
    ) -> None:
        self._gate = gate
        self._level_wanted = asyncio.Event()
        self._scheduler_name = settings.scheduler_name
        self._leadership = leadership
        self._cache = cache
        self._api = api
        self._loop = asyncio.get_running_loop()
        self._makes_nodes = settings.nodeclaims is NodeClaimsMode.OWN
        self._leadership_news = asyncio.Event()
        # What others make may be talked about; making it beside them would give every pod two nodes.
        groups = frozenset((OWN_GROUP,)) if self._makes_nodes else None
        self._recording = RecordingFiles(settings.record) if settings.record is not None else None
        self._thread = SchedulingThread(
            _loop(_loop_settings(settings, groups), ClockDeadlines(clock), self._recording),
            clock=steady_wall_clock(),
            calls=Calls(
                ask_level=lambda: self._call(self._level_wanted.set),
                deliver=lambda decisions: self._call(self._decided, decisions),
                failed=lambda error: self._call(failed, f"the scheduling thread ended: {error!r}"),
            ),
        )
        self._status = PodStatusWriter(api, recorder, cache, clock=clock, may_write=lambda: leadership.is_leading)
        self._writer = BindRequestWriter(
            api,
            cache,
            Reports(ended=self._bind_request_written, refused=self._not_written),
            backoff_limit=settings.backoff_limit,
            may_write=lambda: leadership.is_leading,
        )
        self._orders = NodeClaimWriter(
            api,
            cache,
            OrderReports(ended=self._node_claim_written, refused=self._order_refused),
            may_write=lambda: leadership.is_leading,
        )

        self._disruptions = DisruptionWriter(
            api,
            cache,
            recorder,
            ended=self._thread.inbox.put,
            may_write=lambda: leadership.is_leading,
        )

    def changed(self, value: KubernetesObject) -> None:
        """Pass an object on."""
        self._thread.changed(value)
        self._status.changed(value)
        if isinstance(value, BindRequest) and value.phase == FAILED:
            self._bind_failed(value)

    def removed(self, value: KubernetesObject) -> None:
        """Pass on that an object is gone."""
        self._thread.removed(value)
        self._status.removed(value)

    def refused(self, pod: Pod, reason: str, message: str) -> None:
        """Say on a pod of ours why it is not placed."""
        if pod.spec.scheduler_name == self._scheduler_name:
            self._status.refused(pod, reason, message)

    def jobs(self) -> tuple[Coroutine[None, None, None], ...]:
        """Start the thread, and return what is to run on the event loop."""
        self._thread.start()
        writers = [self._writer.run() for _ in range(WRITERS)]
        writers += [self._orders.run() for _ in range(NODE_CLAIM_WRITERS)]
        writers.append(self._disruptions.run())
        return (self._tell_level(), self._tell_leadership(), self._status.run(), *writers)

    def leadership_changed(self) -> None:
        """Begin or stop to decide."""
        self._leadership_news.set()

    async def stop(self, seconds: float) -> None:
        """End the thread; what it decided last and nobody has written holds no longer."""
        if self._thread.is_alive():
            self._thread.inbox.put(Stop())
            await asyncio.to_thread(self._thread.join, seconds)
        if self._recording is not None and not self._thread.is_alive():
            self._recording.close()

    def _bind_failed(self, request: BindRequest) -> None:
        pod = self._cache.get(Pod, request.pod_key)
        if pod is not None and pod.metadata.uid == request.pod_uid and not pod.spec.node_name:
            node, reason = request.spec.selected_node, request.status.reason
            self.refused(pod, BIND_FAILED, f"Could not bind to {node}: {reason}")

    async def _tell_level(self) -> None:
        while True:
            await self._level_wanted.wait()
            self._level_wanted.clear()
            await self._gate.wait()
            self._thread.inbox.put(Level())

    async def _tell_leadership(self) -> None:
        while True:
            await self._leadership_news.wait()
            self._leadership_news.clear()
            if self._leadership.is_leading and self._makes_nodes:
                await self._look_at_node_claims()
            self._thread.inbox.put(LeadershipChanged(self._leadership.is_leading))

    async def _look_at_node_claims(self) -> None:
        """Take in every NodeClaim there is: what another replica wrote last may not have been seen yet.

        With BindRequests that does no harm, which have the names of their pods; a second node for a pod would.
        """

        async def listed() -> Json:
            return await self._api.request("GET", NODE_CLAIMS.path) if self._leadership.is_leading else {}

        def failed(error: ApiError, _: int) -> None:
            _log.warning("NodeClaims cannot be listed", error=str(error))

        try:
            answer = await retry(listed, LISTS, asyncio.sleep, failed=failed)
        except ApiError as error:
            _log.debug("there are no NodeClaims to list", error=str(error))
            return
        for item in answer.get("items") or ():
            self._api.learn({"apiVersion": NODE_CLAIMS.api_version, "kind": NodeClaim.__name__, **item})

    def _decided(self, decisions: Decisions) -> None:
        for outcome in decisions.outcomes:
            self._status.decided(outcome)
        for assignment in decisions.assignments:
            self._writer.submit(assignment)
        for order in decisions.node_claims:
            self._orders.submit(order)
        for claim in decisions.withdrawn:
            self._orders.withdraw(claim)
        if decisions.disruption:
            self._disruptions.submit(decisions.disruption)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        # The loop is closed while a cycle ends that a stop did not wait for.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _bind_request_written(self, pod: Pod, result: WriteResult) -> None:
        self._thread.inbox.put(BindRequestWrite(pod.key, pod.metadata.uid, result))

    def _node_claim_written(self, order: NodeClaimOrder, result: WriteResult) -> None:
        if result is WriteResult.DONE:
            for nominated in order.nominated:
                self._status.decided(nominated)
        self._thread.inbox.put(NodeClaimWrite(order.claim.name, result))

    def _order_refused(self, order: NodeClaimOrder, message: str) -> None:
        for nominated in order.nominated:
            self._status.refused(nominated.pod, NODE_CLAIM_UNWRITTEN, message)

    def _not_written(self, pod: Pod, message: str) -> None:
        self._status.refused(pod, UNWRITTEN, message)


def _loop(settings: SchedulerSettings, deadlines: SearchDeadlines, sink: Sink | None) -> SchedulingLoop:
    reporter = MetricsReporter()
    if sink is None:
        return Scheduler(settings, deadlines=deadlines, reporter=reporter)
    recorded = RecordedDeadlines(deadlines)
    return RecordedScheduler(Scheduler(settings, deadlines=recorded, reporter=reporter), recorded, sink)


def _loop_settings(settings: Settings, groups: frozenset[str] | None) -> SchedulerSettings:
    plans = PlanSettings(
        idle_seconds=settings.batch_idle_seconds,
        max_seconds=settings.batch_max_seconds,
        is_trial=settings.nodeclaims is NodeClaimsMode.PLAN,
        gate_seconds=settings.gate_timeout_seconds,
    )
    removes_nodes = settings.nodeclaims is NodeClaimsMode.OWN and settings.disruption
    return SchedulerSettings(
        scheduler_name=settings.scheduler_name,
        features=settings.feature_gates,
        node_class_groups=groups,
        cooldown_seconds=settings.cooldown_seconds,
        cycle_pods=settings.cycle_pods,
        profile=settings.score_profile.value,
        plan=plans if settings.nodeclaims in {NodeClaimsMode.OWN, NodeClaimsMode.PLAN} else None,
        disruption_seconds=settings.disruption_interval_seconds if removes_nodes else None,
    )
