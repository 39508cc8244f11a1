"""One running operator: what is built at its start, runs beside Kopf, and is taken down in order."""

import asyncio
import gc
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

from dra_kube.errors import ApiError
from dra_kube.resources import Kind, Resource
from dra_operator.api.client import HttpApi
from dra_operator.api.credentials import Access, NoAccessError
from dra_operator.api.discovery import optional, unserved
from dra_operator.api.events import Recorder
from dra_operator.api.leases import Election, Leadership
from dra_operator.api.permissions import missing, needed
from dra_operator.kinds import WatchedKinds
from dra_operator.logs import log
from dra_operator.metrics import DEVICES, WATCH_VERSION
from dra_operator.pacing import Clock, LevelGate
from dra_operator.probes import HttpServer
from dra_operator.roles.binder.role import BinderRole, EventReport
from dra_operator.roles.binder.view import ClusterView
from dra_operator.roles.kwok.role import KwokRole
from dra_operator.roles.nodeclaims.role import NodeClaimsRole
from dra_operator.roles.scheduler.role import SchedulerRole
from dra_operator.settings import NodeClaimsMode, Role, Settings
from dra_operator.watch.audit import Audit
from dra_operator.watch.cache import Cache
from dra_operator.watch.device_problems import DeviceProblems
from dra_operator.watch.intake import BadInput, Intake, PodRefused, UnusableListener
from dra_operator.watch.session import open_session
from dra_operator.watch.tuning import WATCH_SECONDS
from dra_operator.watch.upgrades import Upgrades
from dra_operator.watch.watches import Watches
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.wire import KubernetesObject

FINISH_SECONDS = 4.0
LOOK_SECONDS = 2.0
RECHECK_SECONDS = 30.0
# Kopf asks for each watch every few seconds even while the API server is away; when it does not, its task is gone.
ABANDONED_FACTOR = 3.0

_log = log("runtime")


class RunningRole(Protocol):
    """What a role is to the runtime."""

    def changed(self, value: KubernetesObject) -> None:
        """Take note of an object."""
        ...

    def removed(self, value: KubernetesObject) -> None:
        """Take note that an object is gone."""
        ...

    def jobs(self) -> tuple[Coroutine[None, None, None], ...]:
        """Start, and return what is to run on the event loop until it is cancelled."""
        ...

    def leadership_changed(self) -> None:
        """Begin or stop to write."""
        ...

    async def stop(self, seconds: float) -> None:
        """End within that time."""
        ...


class Runtime:
    """Everything of one process. `stop_process` is called when it cannot go on; `failure` then says why."""

    def __init__(
        self,
        settings: Settings,
        *,
        stop_process: Callable[[], None] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.settings = settings
        self.failure = ""
        self._stop_process = stop_process or _terminate
        self._clock = clock
        self._silent: tuple[str, ...] = ()
        self._kinds = WatchedKinds.of(settings.roles)
        self._optional: tuple[Resource, ...] = ()
        self.cache = Cache()
        self.watches = Watches(self._clock, self._listed, self._kinds.required)
        self._gate = LevelGate(self.watches.are_level)
        self.view = ClusterView(
            self.cache,
            scheduler_name=settings.scheduler_name,
            progress=partial(self._progress, ResourceClaim),
            clock=self._clock,
            features=settings.feature_gates,
        )
        self.access = Access(partial(open_session, self.watches), clock=self._clock)
        self.http = HttpServer(settings.http_address, self.problems)
        self._synced = asyncio.Event()
        self._unready: tuple[str, ...] = ("starting",)
        self._missing: tuple[str, ...] = ()
        self._roles: dict[Role, RunningRole] = {}
        self._leaderships: dict[Role, Leadership] = {}
        self._elections: list[Election] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._api: HttpApi | None = None
        self._intake: Intake | None = None
        self._upgrades: Upgrades | None = None

    async def start(self) -> None:
        """Return when Kopf may begin to watch. Raises `NoAccessError` or `AddressInUseError`; nothing is left then."""
        _collect_seldom()
        self.access.load()
        self._api = HttpApi(self.access)
        try:
            await self.http.start()
            await self._until_served(self._api)
        except BaseException:
            await self.stop()
            raise
        for resource in self._optional:
            self.watches.add(resource)
        self._build(self._api)
        self.watches.begin()
        self._unready = ()

    @property
    def watched(self) -> tuple[Resource, ...]:
        """What Kopf has to watch: what the roles need, as far as this cluster serves it; known after `start`."""
        return self.watches.resources

    def observe(self, kind: Kind, event: Mapping[str, Any]) -> None:
        """Take in a watch event of Kopf's."""
        if self._intake is not None:
            self._intake.observe(kind, event["type"], event["object"])
            self._look_if_synced()

    def problems(self) -> tuple[str, ...]:
        """Return why the process is not ready, one line each."""
        if self._unready:
            return self._unready
        unlisted = tuple(f"{name}: not listed yet" for name in self.watches.unlisted())
        seconds = self.settings.watch_silence_seconds
        silent = tuple(f"{name}: nothing heard for {seconds:g} s" for name in self.watches.silent(seconds))
        unserved = self._upgrades.problems if self._upgrades is not None else ()
        mute = tuple(f"{name}: its watch has missed changes, it is being listed anew" for name in self.watches.mute())
        return unserved + unlisted + silent + mute + self._missing

    async def stop(self) -> None:
        """Take up nothing more, end or leave what is under way, give the Leases back."""
        self._unready = ("stopping",)
        await asyncio.gather(*(role.stop(FINISH_SECONDS) for role in self._roles.values()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(election.release() for election in self._elections))
        await self.http.stop()
        if self._api is not None:
            await self._api.close()

    def fail(self, reason: str) -> None:
        """End the process, since it cannot do its work any more."""
        if not self.failure:
            self.failure = reason
            _log.error("cannot go on", reason=reason)
            self._stop_process()

    def _build(self, api: HttpApi) -> None:
        recorder = Recorder(api, self.settings.identity, self._clock)
        for role in sorted(self.settings.roles, reverse=True):
            leadership = Leadership(role, self._leadership_changed, self._clock)
            running = self._role(role, api, recorder, leadership)
            if running is None:
                _log.info("this version does nothing in this role", role=role.value)
                continue
            self._leaderships[role] = leadership
            self._roles[role] = running
        bad_input = BadInput(recorder, self._pod_refused(), self._supply())
        device_problems = DeviceProblems(recorder, self.view.pool_problem)
        self._intake = Intake(self.cache, self.watches, bad_input, (self.view, device_problems, *self._roles.values()))
        api.learn = self._intake.learn
        if ResourceClaim in self.watches:
            DEVICES.labels("allocated").set_function(self.view.devices_taken)
        for resource in self.watches.resources:
            WATCH_VERSION.labels(resource.plural).set_function(partial(self._progress, resource.kind))
        audit = Audit(
            api,
            self.cache,
            self.watches,
            self._intake,
            clock=self._clock,
            quiet_seconds=self.settings.watch_silence_seconds,
        )
        self._upgrades = Upgrades(api, self._optional, self.fail, self._kinds)
        jobs = (recorder.run(), self.access.run(), audit.run(), self._upgrades.run(), self._watch_the_watches())
        self._spawn(*jobs, self._go(api))

    def _progress(self, kind: Kind) -> int:
        return self.watches[kind].progress

    def _role(self, role: Role, api: HttpApi, recorder: Recorder, leadership: Leadership) -> RunningRole | None:
        if role is Role.SCHEDULER:
            return SchedulerRole(
                self.settings,
                api=api,
                cache=self.cache,
                recorder=recorder,
                leadership=leadership,
                clock=self._clock,
                gate=self._gate,
                failed=self.fail,
            )
        if role is Role.BINDER:
            report = EventReport(recorder)
            return BinderRole(
                self.settings,
                api=api,
                view=self.view,
                report=report,
                leadership=leadership,
                gate=self._gate,
            )
        if role is Role.NODECLAIMS and self.settings.nodeclaims is not NodeClaimsMode.OFF:
            return NodeClaimsRole(self.settings, api=api, cache=self.cache, recorder=recorder, leadership=leadership)
        if role is Role.KWOK:
            return KwokRole(self.settings, api=api, cache=self.cache, recorder=recorder, leadership=leadership)
        return None

    def _pod_refused(self) -> PodRefused | None:
        scheduler = self._roles.get(Role.SCHEDULER)
        return scheduler.refused if isinstance(scheduler, SchedulerRole) else None

    def _supply(self) -> UnusableListener | None:
        keeper = self._roles.get(Role.NODECLAIMS)
        return keeper if isinstance(keeper, NodeClaimsRole) else None

    async def _until_served(self, api: HttpApi) -> None:
        """Wait for a cluster that has every kind: Kopf looks for them only once."""
        told: tuple[str, ...] = ()
        while True:
            try:
                lines = await unserved(api, self._kinds)
                self._optional = await optional(api, self._kinds)
                self.access.accepted()
            except ApiError as error:
                await self._look_at_refusal(error)
                lines = (f"the API server cannot be asked what it serves: {error}",)
            if not lines:
                _log.info(
                    "optional kinds", watched=tuple(f"{one.plural} in {one.api_version}" for one in self._optional)
                )
                return
            self._unready = lines
            if lines != told:
                _log.warning("waiting", problems=lines)
                told = lines
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_at_refusal(self, error: ApiError) -> None:
        if error.code == HTTPStatus.UNAUTHORIZED and not await self.access.refused():
            raise NoAccessError(f"the API server refuses our credentials: {error}")

    async def _go(self, api: HttpApi) -> None:
        """Let the roles begin once every kind was listed."""
        jobs = [job for role in self._roles.values() for job in role.jobs()]
        self._spawn(*jobs, self._check_permissions(api))
        started = self._clock()
        await self._synced.wait()
        _settle_memory()
        _log.info("every kind is listed", seconds=round(self._clock() - started, 2))
        for leadership in self._leaderships.values():
            if not self.settings.leader_elect:
                leadership.take()
                continue
            election = Election(api, leadership, self.settings, self._clock)
            self._elections.append(election)
            self._spawn(election.run())

    async def _check_permissions(self, api: HttpApi) -> None:
        while True:
            try:
                lacking = await missing(api, needed(self.settings, self.watches.resources))
            except ApiError as error:
                if error.code == HTTPStatus.FORBIDDEN:
                    return
                lacking = self._missing
            if lacking and lacking != self._missing:
                _log.error("permissions are missing", problems=lacking)
            self._missing = lacking
            if not lacking:
                return
            await asyncio.sleep(RECHECK_SECONDS)

    async def _watch_the_watches(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look_at_watches()

    def look_at_watches(self) -> None:
        """Say which watches are silent; end the process where nobody even asks any more."""
        limit = self.settings.watch_silence_seconds
        before, self._silent = self._silent, self.watches.silent(limit)
        if self._silent and self._silent != before:
            _log.warning("watches say nothing", kinds=self._silent, seconds=limit)
        # A watch that is in order may be silent, and asked for by nobody, for as long as it lasts.
        abandoned = self.watches.abandoned(ABANDONED_FACTOR * max(limit, WATCH_SECONDS))
        if abandoned:
            self.fail(f"nobody watches {', '.join(abandoned)} any more")

    def _listed(self, resource: Resource, uids: frozenset[str]) -> None:
        if self._intake is not None:
            self._intake.listed(resource, uids)
            self._look_if_synced()

    def _look_if_synced(self) -> None:
        if not self._synced.is_set() and self.watches.are_synced:
            self._synced.set()

    def _leadership_changed(self, role: Role) -> None:
        self._roles[role].leadership_changed()

    def _spawn(self, *jobs: Coroutine[None, None, None]) -> None:
        for job in jobs:
            task = asyncio.create_task(job)
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(f"a part of the operator failed: {error!r}")


def _collect_seldom() -> None:
    """Let the garbage collector run less often: what is listed stays, and every look at all of it takes longer."""
    gc.set_threshold(50_000, 20, 100)


def _settle_memory() -> None:
    """Take what was listed out of the garbage collector's sight: it stays, and looking at all of it takes long."""
    gc.collect()
    gc.freeze()


def _terminate() -> None:
    signal.raise_signal(signal.SIGTERM)
