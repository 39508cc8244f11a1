"""Carries one BindRequest to its end, or back to where nothing of it is left."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import msgspec
from structlog.typing import FilteringBoundLogger

from dra_binder.allocations import has_binding_conditions
from dra_binder.plan import Bound, Plan, make_plan, special_names, standing
from dra_binder.ports import Ports
from dra_binder.prechecks import is_contended, is_written, refusal
from dra_binder.preparation import WaitForDevices, judge, latest
from dra_binder.settings import ATTEMPTS, DEFAULTS, BinderSettings, limit_of
from dra_binder.steps import (
    bind,
    read_claims,
    read_pod,
    reserve_regular,
    reserve_special,
    settle,
    show_in_pod,
    show_taken_of_node,
)
from dra_binder.stops import GiveUp, Gone, Retry, Stop, stop_after
from dra_binder.sweep import unneeded
from dra_binder.turns import Turns
from dra_binder.undo import Leftover, release
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_kube.retry import RetryPolicy, retry
from dra_scheduling.model.bindrequests import FAILED, PENDING, SUCCEEDED, BindRequest, BindRequestStatus
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Pod

T = TypeVar("T")


class Failed(msgspec.Struct, frozen=True):
    """Everything is undone and the BindRequest says why."""

    reason: str
    attempts: int


class Unfinished(msgspec.Struct, frozen=True):
    """The API server could not be told; the same BindRequest is to be run again after so many seconds."""

    reason: str
    after: float


Ending = Bound | Failed | Gone | Unfinished


class Binder:
    """Runs BindRequests over the ports; remembers nothing of them, so any number may run at once, one a pod.

    Binders that run beside each other share their `turns`.
    """

    __slots__ = ("_ports", "_settings", "_turns")

    def __init__(self, ports: Ports, settings: BinderSettings = DEFAULTS, turns: Turns | None = None) -> None:
        self._ports = ports
        self._settings = settings
        self._turns = turns if turns is not None else Turns()

    async def run(self, request: BindRequest, log: FilteringBoundLogger) -> Ending:
        """Bind the pod of the BindRequest or undo everything, and return which.

        Takes as long as `spec.backoffLimit` attempts with their pauses, each call being bounded by its port, and as
        drivers need to make devices ready. May be
        cancelled or killed at any point: running the same BindRequest again goes on from what the server holds.
        """
        if request.has_ended:
            return Gone(f"BindRequest {request.key} is {request.phase} already")
        return await _Run(self._ports, self._settings, self._turns, request, log).to_the_end()

    async def clean(self, leftover: Leftover, log: FilteringBoundLogger) -> None:
        """Undo what a sweep found, but for what a bound pod uses. Raises `ApiError`; to be repeated then."""
        pod = await read_pod(self._ports, leftover.pod)
        if pod is not None and pod.metadata.uid == leftover.uid and pod.spec.node_name:
            leftover = unneeded(leftover, pod)
            if not leftover.special:
                return
        await release(self._ports.claims, self._turns, leftover, None)
        log.info(
            "undid the leftovers of an unfinished bind",
            pod=str(leftover.pod),
            claims=sorted(map(str, leftover.special | leftover.regular)),
        )


class _Run:
    """One BindRequest on its way. `pod` is the pod as last seen, `claims` what was written for it."""

    __slots__ = ("claims", "failures", "log", "pod", "ports", "request", "settings", "turns", "waits_for")

    def __init__(
        self, ports: Ports, settings: BinderSettings, turns: Turns, request: BindRequest, log: FilteringBoundLogger
    ) -> None:
        self.ports = ports
        self.settings = settings
        self.turns = turns
        self.request = request
        self.log = log.bind(bindrequest=str(request.key), pod=str(request.pod_key), node=request.spec.selected_node)
        self.pod: Pod | None = None
        self.claims: tuple[ResourceClaim, ...] = ()
        # Attempts for an earlier decision in the same object say nothing about this one.
        is_observed = request.status.observed_generation in {0, request.metadata.generation}
        self.failures = request.status.failed_attempts if is_observed else 0
        self.waits_for = request.status.reason if request.phase == PENDING else ""

    async def to_the_end(self) -> Ending:
        limit = limit_of(self.request.spec.backoff_limit)
        end: Bound | Stop = GiveUp(self.request.status.reason or f"failed {self.failures} times")
        while self.failures < limit:
            end = await self._attempt()
            if not isinstance(end, Retry):
                self.failures += isinstance(end, GiveUp)
                break
            self.failures += 1
            self.log.warning("bind attempt failed", reason=end.reason, attempt=self.failures, limit=limit)
            if self.failures < limit:
                self.waits_for = ""
                await self._record(end.reason, "")
            # After the last failure too: a Binding that got no answer may still be on its way.
            await self.ports.clock.sleep(max(end.after, ATTEMPTS.pause(self.failures)))
        if isinstance(end, Bound):
            return await self._succeed(end)
        return await self._back_out(end)

    async def _attempt(self) -> Bound | Stop:
        try:
            return await self._carry_out()
        except ApiError as error:
            return stop_after(error)

    async def _carry_out(self) -> Bound | Stop:
        pod = await self._waiting_pod()
        if not isinstance(pod, Pod):
            return pod
        plan = make_plan(self.request, pod)
        if not isinstance(plan, Plan):
            return plan
        return (
            await self._write_claims(plan)
            or await settle(self.ports, self.claims, self.settings)
            or await self._until_ready()
            or await bind(self.ports, self.request, plan)
        )

    async def _waiting_pod(self) -> Pod | Bound | Stop:
        """Return the pod if it still waits for what the BindRequest says."""
        current = self.ports.view.bind_request(self.request.key)
        if current is None or current.metadata.uid != self.request.metadata.uid or current.metadata.is_deleting:
            return Gone(f"BindRequest {self.request.key} was deleted")
        if current.metadata.generation != self.request.metadata.generation:
            return Gone(f"BindRequest {self.request.key} was decided anew")
        pod = await self._read_pod()
        where = standing(self.request, pod)
        if pod is not None and not isinstance(where, Gone):
            self.pod = pod
        if where is not None or pod is None:
            return where or Gone(f"pod {self.request.pod_key} does not exist")
        return pod

    async def _until_ready(self) -> Bound | Stop | None:
        """Wait until the drivers say that all devices are ready, without keeping others from being bound."""
        if not any(has_binding_conditions(claim.status.allocation) for claim in self.claims):
            return None
        node = self.request.spec.selected_node
        keys = {self.request.key, self.request.pod_key, ObjectKey("", node), *(claim.key for claim in self.claims)}
        has_waited = False
        with self.ports.changes.of(keys) as change:
            while True:
                change.clear()
                claims = latest(self.claims, self.ports.view, self.request.pod_uid)
                if isinstance(claims, GiveUp):
                    return claims
                if self.ports.view.node(node) is None:
                    return GiveUp(f"node {node} does not exist any more")
                verdict = judge(claims, self.ports.clock.now(), self.settings.binding_timeout_seconds)
                if not isinstance(verdict, WaitForDevices):
                    break
                has_waited = True
                await self._tell_waiting(verdict.reason)
                await change.wait(verdict.seconds)
                pod = await self._waiting_pod()
                if not isinstance(pod, Pod):
                    return pod
        if verdict is None and has_waited:
            return await settle(self.ports, self.claims, self.settings)
        return verdict

    async def _tell_waiting(self, reason: str) -> None:
        """Say in the BindRequest what is waited for, once for each reason, and on the pod once for all."""
        if reason == self.waits_for:
            return
        self.log.info("the bind waits", reason=reason)
        if not self.waits_for and self.pod is not None:
            self.ports.report.waiting(self.request, self.pod, reason)
        self.waits_for = reason
        await self._record(reason, PENDING)

    async def _read_pod(self) -> Pod | None:
        key = self.request.pod_key
        pod = self.ports.view.pod(key)
        if pod is None or pod.metadata.uid != self.request.pod_uid:
            # The BindRequest may have come faster than its pod.
            return await read_pod(self.ports, key)
        return pod

    async def _write_claims(self, plan: Plan) -> Bound | Stop | None:
        ports = self.ports
        known = await self._read_claims(plan)
        if isinstance(known, dict) and is_contended(plan, known, ports.view):
            # kube-scheduler remembers a device once, however many claims hold it: when one of two claims lets go, it
            # gives the device out again. So what it has decided already shall be seen before anything is written.
            await ports.clock.sleep(self.settings.stand_back_seconds)
            known = await self._read_claims(plan)
        if not isinstance(known, dict):
            return known
        if self.waits_for and not is_written(plan, known, ports.view):
            # An undo that was cut off: to begin anew would give the same device as much time once more.
            return GiveUp(f"given back while {self.waits_for}")
        special = await reserve_special(ports, plan)
        if special is not None and not isinstance(special, ResourceClaim):
            return special
        written = [special] if special is not None else []
        for regular in plan.regular:
            async with self.turns.at(regular.key):
                claim = await reserve_regular(ports, plan, regular, known[regular.key])
            if not isinstance(claim, ResourceClaim):
                return claim
            written.append(claim)
        self.claims = tuple(written)
        if special is not None:
            stopped = await show_in_pod(ports, self.request, plan, special)
            if stopped is not None:
                return stopped
        return await show_taken_of_node(ports, self.request, plan, special)

    async def _read_claims(self, plan: Plan) -> dict[ObjectKey, ResourceClaim] | Stop:
        """Return the regular claims by key if the plan may be carried out on them."""
        known = await read_claims(self.ports, plan)
        if isinstance(known, GiveUp):
            return known
        return refusal(self.request, plan, known, self.ports.view) or known

    async def _succeed(self, end: Bound) -> Ending:
        told = await self._insist(lambda: self._write_status(SUCCEEDED, ""))
        if isinstance(told, ApiError):
            return Unfinished(
                f"the pod is bound, but its BindRequest does not say so yet: {told}", after=ATTEMPTS.longest
            )
        self.log.info("bound", claims=[str(claim.key) for claim in self.claims])
        if self.pod is not None:
            self.ports.report.bound(self.request, self.pod)
        return end

    async def _back_out(self, end: Stop) -> Ending:
        spoiled = end.spoiled if isinstance(end, GiveUp) else ()
        pod = await self._insist(lambda: self._undo(spoiled))
        if isinstance(pod, ApiError):
            return Unfinished(f"{end.reason}; not undone yet: {pod}", after=ATTEMPTS.longest)
        match standing(self.request, pod):
            case Bound() as bound:
                return await self._succeed(bound)
            case Gone() as gone:
                return await self._forget(gone.reason, pod)
            case GiveUp() as final:
                return await self._fail(final.reason, pod)
            case None if isinstance(end, Gone):
                self.log.info("the decision no longer holds, everything is undone", reason=end.reason)
                return end
            case None:
                return await self._fail(end.reason, pod)

    async def _undo(self, spoiled: tuple[AllocationResult, ...]) -> Pod | None:
        """Undo everything unless the pod is bound, and return the pod of that name as the server holds it now."""
        uid = self.request.pod_uid
        pod = await read_pod(self.ports, self.request.pod_key)
        if pod is not None and pod.metadata.uid == uid:
            self.pod = pod
            if pod.spec.node_name:
                return pod
        ours = [entry.allocation for entry in self.request.spec.resource_claim_allocations]
        await release(self.ports.claims, self.turns, self._leftover(uid), (*ours, *spoiled))
        return pod

    def _leftover(self, uid: str) -> Leftover:
        """Return the claims to look at: those that the cache shows, and those that may have been written since."""
        key = self.request.pod_key
        shown = tuple(self.ports.view.claims_of_pod(uid))
        special = {claim.key for claim in shown if claim.is_special_claim_of(key.name, uid)}
        regular = {claim.key for claim in shown}
        in_status = ""
        if self.pod is not None:
            referred = set(claim_keys(self.pod).values())
            special -= referred
            regular |= referred
            status = self.pod.status.extended_resource_claim_status
            in_status = status.resource_claim_name if status else ""
        if self.request.spec.extended_resource_claim_allocation is not None:
            special |= {ObjectKey(key.namespace, name) for name in special_names(key.name, uid, in_status)}
        return Leftover(pod=key, uid=uid, special=frozenset(special), regular=frozenset(regular))

    async def _fail(self, reason: str, pod: Pod | None) -> Ending:
        told = await self._insist(lambda: self._write_status(FAILED, reason))
        if isinstance(told, ApiError):
            return Unfinished(f"{reason}; undone, but the BindRequest does not say so yet: {told}", ATTEMPTS.longest)
        self.log.warning("bind failed, everything is undone", reason=reason, attempts=self.failures)
        if pod is not None and not pod.metadata.is_deleting:
            self.ports.report.failed(self.request, pod, reason)
        return Failed(reason, self.failures)

    async def _forget(self, reason: str, pod: Pod | None) -> Ending:
        """Leave the BindRequest to the garbage collector where that will take it, else delete it."""
        is_collected = any(owner.kind == "Pod" for owner in self.request.metadata.owner_references)
        if not is_collected or (pod is not None and pod.metadata.uid != self.request.pod_uid):
            told = await self._insist(self._delete)
            if isinstance(told, ApiError):
                return Unfinished(f"{reason}; undone, but the BindRequest is still there: {told}", ATTEMPTS.longest)
        self.log.info("the pod is gone, everything is undone", reason=reason)
        return Gone(reason)

    async def _record(self, reason: str, phase: str) -> None:
        """Write down how far the bind got; best effort, since nothing depends on it."""
        try:
            await self._write_status(phase, reason)
        except ApiError as error:
            self.log.warning("could not record how far the bind got", reason=str(error))

    async def _write_status(self, phase: str, reason: str) -> None:
        status = BindRequestStatus(
            phase=phase,
            reason=reason,
            failed_attempts=self.failures,
            observed_generation=self.request.metadata.generation,
            last_attempt_time=self.ports.clock.now(),
        )
        with suppress(MissingError):
            await self.ports.bind_requests.patch_status(self.request, status)

    async def _delete(self) -> None:
        try:
            await self.ports.bind_requests.delete(self.request)
        except MissingError:
            return
        except ConflictError:
            shown = self.ports.view.bind_request(self.request.key)
            if shown is not None and shown.metadata.uid == self.request.metadata.uid:
                raise

    async def _insist(self, action: Callable[[], Awaitable[T]]) -> T | ApiError:
        """Repeat what must not be left out; return its result, or the last error if the server stays out of reach."""

        def failed(error: ApiError, times: int) -> None:
            self.log.warning("will try again", reason=str(error), attempt=times)

        policy = RetryPolicy(attempts=self.settings.undo_attempts, backoff=ATTEMPTS, repeated=(ApiError,))
        try:
            return await retry(action, policy, self.ports.clock.sleep, failed=failed)
        except ApiError as error:
            return error
