"""The binder's role: `dra_binder` over the API server, with the cache as its view."""

import time
from collections.abc import Callable, Coroutine

from structlog.typing import FilteringBoundLogger

from dra_binder.binder import Binder, Ending
from dra_binder.ports import Ports
from dra_binder.settings import BinderSettings
from dra_binder.turns import Turns
from dra_binder.undo import Leftover
from dra_kube.api import Api, RetryingApi
from dra_kube.errors import ThrottledError
from dra_kube.retry import Backoff, RetryPolicy
from dra_operator.api.events import BIND_FAILED, EventMessage, EventType, Recorder, Regarding
from dra_operator.api.leases import Leadership
from dra_operator.pacing import LevelGate, timestamp
from dra_operator.roles.binder.binding import Binding
from dra_operator.roles.binder.concurrency import Slot
from dra_operator.roles.binder.ports import KubeBindRequests, KubeClaims, KubePods
from dra_operator.roles.binder.view import ClusterView
from dra_operator.roles.binder.wakeups import ChangeHub, SlotChanges
from dra_operator.settings import Settings
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject

SCHEDULED = "Scheduled"
BINDING_CONDITIONS_PENDING = "BindingConditionsPending"


# The server's word after 429: a bind that has begun is cheaper to finish than to undo.
PATIENCE = RetryPolicy(attempts=4, backoff=Backoff(0.0, 0.0), repeated=(ThrottledError,), most_asked=10.0)


class SlotClock:
    """`dra_binder.ports.Clock` of the bind that has a slot."""

    __slots__ = ("_slot",)

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def now(self) -> str:
        """Return the time as RFC 3339 text in UTC."""
        return timestamp()

    def elapsed(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let time pass; during a long pause another bind has the slot."""
        await self._slot.sleep(seconds)


class EventReport:
    """`dra_binder.ports.Report`: Events of the pod."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def bound(self, request: BindRequest, pod: Pod) -> None:
        """Report that the pod is bound to its node."""
        # Word for word what kube-scheduler writes: people and tools look for it.
        message = f"Successfully assigned {pod.key} to {request.spec.selected_node}"
        self._tell(pod, EventType.NORMAL, SCHEDULED, message)

    def waiting(self, request: BindRequest, pod: Pod, reason: str) -> None:
        """Tell what has to be made ready first."""
        message = f"Binding to {request.spec.selected_node}: {reason}"
        self._tell(pod, EventType.NORMAL, BINDING_CONDITIONS_PENDING, message)

    def failed(self, request: BindRequest, pod: Pod, reason: str) -> None:
        """Tell why the pod is not on its node."""
        message = f"Could not bind to {request.spec.selected_node}: {reason}"
        self._tell(pod, EventType.WARNING, BIND_FAILED, message)

    def _tell(self, pod: Pod, severity: EventType, reason: str, message: str) -> None:
        notice = EventMessage(regarding=Regarding.of(pod), severity=severity, reason=reason, message=message)
        self._recorder.tell(notice)


class LevelBinder:
    """`Carrier`: binds that begin only when the watches of all kinds have been read."""

    def __init__(self, ports: Callable[[Slot], Ports], rules: BinderSettings, gate: LevelGate) -> None:
        self._ports = ports
        self._rules = rules
        self._gate = gate
        self._turns = Turns()

    async def run(self, request: BindRequest, log: FilteringBoundLogger, slot: Slot) -> Ending:
        """Bind the pod of the BindRequest or undo everything."""
        await self._gate.wait()
        return await self._binder(slot).run(request, log)

    async def clean(self, leftover: Leftover, log: FilteringBoundLogger) -> None:
        """Undo what a sweep found."""
        await self._binder(Slot()).clean(leftover, log)

    def _binder(self, slot: Slot) -> Binder:
        return Binder(self._ports(slot), self._rules, self._turns)


class BinderRole:
    """Everything that the role is made of. Lives on the event loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        api: Api,
        view: ClusterView,
        report: EventReport,
        leadership: Leadership,
        gate: LevelGate,
    ) -> None:
        self._leadership = leadership
        changes = ChangeHub()

        def ports(slot: Slot) -> Ports:
            patient = RetryingApi(api, PATIENCE, slot.sleep)
            return Ports(
                claims=KubeClaims(patient),
                pods=KubePods(patient),
                bind_requests=KubeBindRequests(patient),
                view=view,
                clock=SlotClock(slot),
                changes=SlotChanges(changes, slot),
                report=report,
            )

        rules = BinderSettings(
            scheduler_name=settings.scheduler_name,
            settle_seconds=settings.settle_seconds,
            binding_timeout_seconds=settings.binding_timeout_seconds,
        )
        self._binding = Binding(
            LevelBinder(ports, rules, gate),
            view,
            changes,
            concurrency=settings.bind_concurrency,
            may_write=lambda: leadership.is_leading,
            clock=time.monotonic,
        )

    def changed(self, value: KubernetesObject) -> None:
        """Pass an object on."""
        self._binding.changed(value)

    def removed(self, value: KubernetesObject) -> None:
        """Pass on that an object is gone."""
        self._binding.removed(value)

    def jobs(self) -> tuple[Coroutine[None, None, None], ...]:
        """Return what is to run on the event loop."""
        return (self._binding.run(),)

    def leadership_changed(self) -> None:
        """Take up what is unfinished, or leave it."""
        if self._leadership.is_leading:
            self._binding.lead()
        else:
            self._binding.drop()

    async def stop(self, seconds: float) -> None:
        """End what is under way, or leave it to the next start."""
        await self._binding.finish(seconds)
