"""The scheduler's role: the cycle's thread, the writers of BindRequests, and what pending pods are told."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Protocol

from dra_binder.errors import ApiError, ThrottledError, UnclearError
from dra_operator.api import Api
from dra_operator.bindrequests import BindRequestWriter, Reports
from dra_operator.cache import Cache
from dra_operator.cooldown import RecentlyFree
from dra_operator.cycle import Calls, CycleThread, Lead, Level, Ordered, SchedulerCore, Stop, Unwritten, Written
from dra_operator.disruption import Carried, Disruptor
from dra_operator.disruptionwriter import DisruptionWriter
from dra_operator.events import Recorder
from dra_operator.kinds import NODE_CLAIMS
from dra_operator.leader import Leadership
from dra_operator.logs import log
from dra_operator.nodeclaimwriter import NodeClaimWriter, OrderReports, Server
from dra_operator.pacing import Clock, LevelGate
from dra_operator.provisioning import Order, Plans, PlanSettings, Provisioner
from dra_operator.settings import NodeClaimsMode, Settings
from dra_operator.status import BIND_FAILED, PodStatus
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import by_clock
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.nodeclaims.lifecycle_names import OWN_GROUP
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

WRITERS = 16
NODE_CLAIM_WRITERS = 8
UNWRITTEN = "BindRequestNotWritten"
NODE_CLAIM_UNWRITTEN = "NodeClaimNotWritten"
LOOK_SECONDS = 1.0

_log = log("scheduler")


class SchedulerApi(Api, Server, Protocol):
    """The API server as both writers see it (`dra_operator.client.HttpApi`)."""


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
        api: SchedulerApi,
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
        cooldown = RecentlyFree(time.monotonic, settings.cooldown_seconds)
        cluster = Cluster(settings.scheduler_name, settings.feature_gates, groups, cooldown)
        core = SchedulerCore(
            cluster,
            SchedulingQueue(),
            cycle_pods=settings.cycle_pods,
            new_budget=by_clock(clock),
            provisioner=_provisioner(cluster, settings, clock),
            disruptor=_disruptor(cluster, settings, clock),
        )
        self._thread = CycleThread(
            core,
            clock=steady_wall_clock(),
            calls=Calls(
                ask_level=lambda: self._call(self._level_wanted.set),
                deliver=lambda plans: self._call(self._decided, plans),
                disrupt=lambda steps: self._call(self._disruptions.submit, steps),
                failed=lambda error: self._call(failed, f"the scheduling thread ended: {error!r}"),
            ),
        )
        self._status = PodStatus(api, recorder, cache, clock=clock, may_write=lambda: leadership.is_leading)
        self._writer = BindRequestWriter(
            api,
            cache,
            Reports(written=self._written, unwritten=self._unwritten, refused=self._not_written),
            backoff_limit=settings.backoff_limit,
            may_write=lambda: leadership.is_leading,
        )
        self._orders = NodeClaimWriter(
            api,
            cache,
            OrderReports(written=self._ordered, unwritten=self._not_ordered, refused=self._order_refused),
            may_write=lambda: leadership.is_leading,
        )

        self._disruptions = DisruptionWriter(
            api,
            cache,
            recorder,
            carried=lambda created: self._thread.inbox.put(Carried(created)),
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
            self._thread.inbox.put(Lead(self._leadership.is_leading))

    async def _look_at_node_claims(self) -> None:
        """Take in every NodeClaim there is: what another replica wrote last may not have been seen yet.

        With BindRequests that does no harm, which have the names of their pods; a second node for a pod would.
        """
        while self._leadership.is_leading:
            try:
                answer = await self._api.get(NODE_CLAIMS.path)
            except (ThrottledError, UnclearError) as error:
                _log.warning("NodeClaims cannot be listed", error=str(error))
                await asyncio.sleep(LOOK_SECONDS)
                continue
            except ApiError as error:
                _log.debug("there are no NodeClaims to list", error=str(error))
                return
            for item in answer.get("items") or ():
                self._api.learn({"apiVersion": NODE_CLAIMS.api_version, "kind": NodeClaim.__name__, **item})
            return

    def _decided(self, plans: Plans) -> None:
        for outcome in plans.outcomes:
            self._status.decided(outcome)
            if isinstance(outcome, Assignment):
                self._writer.submit(outcome)
        for order in plans.orders:
            self._orders.submit(order)
        for claim in plans.doubles:
            self._orders.withdraw(claim)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        # The loop is closed while a cycle ends that a stop did not wait for.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _written(self, pod: Pod) -> None:
        self._thread.inbox.put(Written(pod.metadata.uid))

    def _unwritten(self, pod: Pod) -> None:
        self._thread.inbox.put(Unwritten(pod))

    def _ordered(self, order: Order) -> None:
        for nominated in order.nominated:
            self._status.decided(nominated)
        self._thread.inbox.put(Ordered(order.claim.name, is_written=True))

    def _not_ordered(self, order: Order) -> None:
        self._thread.inbox.put(Ordered(order.claim.name, is_written=False))

    def _order_refused(self, order: Order, message: str) -> None:
        for nominated in order.nominated:
            self._status.refused(nominated.pod, NODE_CLAIM_UNWRITTEN, message)

    def _not_written(self, pod: Pod, message: str) -> None:
        self._status.refused(pod, UNWRITTEN, message)


def _provisioner(cluster: Cluster, settings: Settings, clock: Clock) -> Provisioner | None:
    if settings.nodeclaims not in {NodeClaimsMode.OWN, NodeClaimsMode.PLAN}:
        return None
    plans = PlanSettings(
        idle_seconds=settings.batch_idle_seconds,
        max_seconds=settings.batch_max_seconds,
        is_trial=settings.nodeclaims is NodeClaimsMode.PLAN,
    )
    return Provisioner(cluster, plans, clock)


def _disruptor(cluster: Cluster, settings: Settings, clock: Clock) -> Disruptor | None:
    if settings.nodeclaims is not NodeClaimsMode.OWN or not settings.disruption:
        return None
    return Disruptor(cluster, settings.disruption_interval_seconds, clock)
