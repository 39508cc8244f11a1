"""The binder's ports over `InMemoryServer`."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from dra_binder.allocations import devices_of
from dra_binder.plan import unknown_request
from dra_binder.ports import Account, Draw, Ports, Presence
from dra_binding.server import InMemoryServer, S, Stored, invalid
from dra_kube.errors import ConflictError
from dra_scheduling.model.bindrequests import BindRequest, BindRequestStatus
from dra_scheduling.model.claims import (
    MAX_CONSUMERS_PER_CLAIM,
    AllocationResult,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID, ObjectKey, PoolKey
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.pods import Node, NodeAllocatableResourceClaimStatus, Pod, PodExtendedResourceClaimStatus


class InMemoryClaims:
    """ResourceClaims with the server's validation."""

    __slots__ = ("_server",)

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server

    async def get(self, key: ObjectKey) -> ResourceClaim:
        return self._server.current(ResourceClaim, key, f"get resourceclaims {key}")

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        action = f"create resourceclaims {claim.key}"

        def apply() -> ResourceClaim:
            if self._server.find(ResourceClaim, claim.key) is not None:
                raise ConflictError(action, 409, reason="AlreadyExists", message=f"{claim.key} already exists")
            requests = tuple(map(_defaulted, claim.spec.devices.requests))
            devices = msgspec.structs.replace(claim.spec.devices, requests=requests)
            spec = msgspec.structs.replace(claim.spec, devices=devices)
            return self._server.put(msgspec.structs.replace(claim, spec=spec, status=ResourceClaimStatus()))

        return await self._server.write(action, apply)

    async def replace_finalizers(self, claim: ResourceClaim, finalizers: tuple[str, ...]) -> ResourceClaim:
        action = f"update resourceclaims {claim.key}"

        def apply() -> ResourceClaim:
            stored = self._server.unchanged(claim, action)
            if stored.metadata.is_deleting and set(finalizers) - set(stored.metadata.finalizers):
                raise invalid(action, "metadata.finalizers")
            return self._server.take_off(stored, finalizers)

        return await self._server.write(action, apply)

    async def replace_status(self, claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
        action = f"update resourceclaims/status {claim.key}"

        def apply() -> ResourceClaim:
            stored = self._server.unchanged(claim, action)
            _validate(stored, status, action)
            # Drivers say nothing of devices that nobody has.
            devices = status.devices if status.allocation is not None else ()
            return self._server.put(
                msgspec.structs.replace(stored, status=msgspec.structs.replace(status, devices=devices))
            )

        return await self._server.write(action, apply)

    async def delete(self, claim: ResourceClaim) -> ResourceClaim | None:
        action = f"delete resourceclaims {claim.key}"

        def apply() -> ResourceClaim | None:
            stored = self._server.expected(claim, action)
            if not stored.metadata.finalizers:
                self._server.remove(ResourceClaim, claim.key)
                return None
            since = stored.metadata.deletion_timestamp or self._server.clock.now()
            metadata = msgspec.structs.replace(stored.metadata, deletion_timestamp=since)
            return self._server.put(msgspec.structs.replace(stored, metadata=metadata))

        return await self._server.write(action, apply)


class InMemoryPods:
    """Pods; bindings are counted in `server.bindings`."""

    __slots__ = ("_server",)

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server

    async def get(self, key: ObjectKey) -> Pod:
        return self._server.current(Pod, key, f"get pods {key}")

    async def patch_status(self, pod: Pod, status: PodExtendedResourceClaimStatus) -> None:
        action = f"patch pods/status {pod.key}"

        def apply() -> None:
            stored = self._server.expected(pod, action)
            changed = msgspec.structs.replace(stored.status, extended_resource_claim_status=status)
            self._server.put(msgspec.structs.replace(stored, status=changed))

        await self._server.write(action, apply)

    async def patch_taken_of_node(self, pod: Pod, taken: tuple[NodeAllocatableResourceClaimStatus, ...]) -> None:
        action = f"patch pods/status {pod.key}"

        def apply() -> None:
            stored = self._server.expected(pod, action)
            changed = msgspec.structs.replace(stored.status, node_allocatable_resource_claim_statuses=taken)
            self._server.put(msgspec.structs.replace(stored, status=changed))

        await self._server.write(action, apply)

    async def bind(self, pod: Pod, node: str) -> None:
        action = f"create pods/binding {pod.key}"

        def apply() -> None:
            stored = self._server.expected(pod, action)
            if stored.spec.node_name or stored.metadata.is_deleting:
                raise ConflictError(action, 409, reason="Conflict", message="pod is assigned or being deleted")
            self._server.bindings.append((pod.metadata.uid, node))
            spec = msgspec.structs.replace(stored.spec, node_name=node)
            self._server.put(msgspec.structs.replace(stored, spec=spec))

        await self._server.write(action, apply)


class InMemoryBindRequests:
    """BindRequests."""

    __slots__ = ("_server",)

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server

    async def patch_status(self, request: BindRequest, status: BindRequestStatus) -> None:
        action = f"patch bindrequests/status {request.key}"

        def apply() -> None:
            stored = self._server.expected(request, action)
            self._server.put(msgspec.structs.replace(stored, status=status))

        await self._server.write(action, apply)

    async def delete(self, request: BindRequest) -> None:
        action = f"delete bindrequests {request.key}"

        def apply() -> None:
            self._server.expected(request, action)
            self._server.remove(BindRequest, request.key)

        await self._server.write(action, apply)


class InMemoryView:
    """A cache that shows each change `lag` seconds late.

    Devices are published for every node unless `presences` says otherwise; `matches` reads `matchFields` only. There
    are the accounts that have `limits`; devices draw `charges` from counters, and their shares what they consume.
    """

    __slots__ = ("_objects", "_position", "_server", "charges", "contended", "lag", "limits", "presences", "wanted")

    def __init__(self, server: InMemoryServer, lag: float = 0.0) -> None:
        self._server = server
        self._objects: dict[tuple[type[Stored], ObjectKey], Stored] = dict(server.objects)
        self._position = len(server.changes)
        self.lag = lag
        self.presences: dict[DeviceID, Presence] = {}
        self.contended: set[PoolKey] = set()
        self.wanted: set[str] = set()
        self.limits: dict[Account, int] = {}
        self.charges: dict[DeviceID, tuple[tuple[str, int], ...]] = {}

    def bind_request(self, key: ObjectKey) -> BindRequest | None:
        return self._find(BindRequest, key)

    def bind_requests_holding(self, device: DeviceID) -> Iterable[BindRequest]:
        return tuple(
            request for request in self.all(BindRequest) if not request.has_ended and device in _promised(request)
        )

    def claim(self, key: ObjectKey) -> ResourceClaim | None:
        return self._find(ResourceClaim, key)

    def claims_holding(self, device: DeviceID) -> Iterable[ResourceClaim]:
        return tuple(claim for claim in self.all(ResourceClaim) if device in devices_of(claim.status.allocation))

    def draws(self, allocation: AllocationResult) -> Iterable[Draw]:
        for result in allocation.devices.results:
            device = result.device_id
            for name, amount in result.consumed_capacity.items():
                yield Draw(Account(device.pool_key, name, device.device), result.share_id or "", amount.nano)
            for name, drawn in self.charges.get(device, ()):
                yield Draw(Account(device.pool_key, name), device.device, drawn)

    def limit(self, account: Account) -> int | None:
        return self.limits.get(account)

    def claims_drawing(self, account: Account) -> Iterable[ResourceClaim]:
        return tuple(
            claim
            for claim in self.all(ResourceClaim)
            if claim.status.allocation is not None
            and any(draw.account == account for draw in self.draws(claim.status.allocation))
        )

    def claims_of_pod(self, uid: str) -> Iterable[ResourceClaim]:
        for claim in self.all(ResourceClaim):
            owner = claim.metadata.controller
            if (owner is not None and owner.uid == uid) or any(one.uid == uid for one in claim.status.reserved_for):
                yield claim

    def pod(self, key: ObjectKey) -> Pod | None:
        return self._find(Pod, key)

    def node(self, name: str) -> Node | None:
        return self._find(Node, ObjectKey("", name))

    def matches(self, selector: NodeSelector, node: str) -> bool:
        return any(
            all(node in requirement.values for requirement in term.match_fields)
            for term in selector.node_selector_terms
        )

    def presence(self, device: DeviceID, node: str) -> Presence:
        return self.presences.get(device, Presence.REACHABLE)

    def progress(self) -> int:
        self._catch_up()
        return self._server.changes[self._position - 1].version if self._position else 0

    def is_contended(self, pools: Iterable[PoolKey], classes: Iterable[str]) -> bool:
        return not self.contended.isdisjoint(pools) or not self.wanted.isdisjoint(classes)

    def all(self, kind: type[S]) -> tuple[S, ...]:
        """Return all objects of the kind as the cache has them."""
        self._catch_up()
        return tuple(value for value in self._objects.values() if isinstance(value, kind))

    def position(self) -> int:
        """Return how many changes have been seen."""
        self._catch_up()
        return self._position

    def _find(self, kind: type[S], key: ObjectKey) -> S | None:
        self._catch_up()
        value = self._objects.get((kind, key))
        return value if isinstance(value, kind) else None

    def _catch_up(self) -> None:
        for change in self._server.changes[self._position :]:
            if change.at + self.lag > self._server.clock.elapsed():
                return
            self._position += 1
            if change.value is None:
                self._objects.pop((change.kind, change.key), None)
            else:
                self._objects[change.kind, change.key] = change.value


class InMemoryChange:
    """Whether the view has changed; while somebody waits, time passes until something is due."""

    __slots__ = ("_keys", "_seen", "_server", "_view")

    def __init__(self, server: InMemoryServer, view: InMemoryView, keys: frozenset[ObjectKey]) -> None:
        self._server = server
        self._view = view
        self._keys = keys
        self._seen = 0

    def clear(self) -> None:
        self._seen = self._view.position()

    async def wait(self, seconds: float | None) -> None:
        clock = self._server.clock
        end = math.inf if seconds is None else clock.elapsed() + seconds
        while not self._is_changed() and clock.elapsed() < end:
            await clock.sleep(self._pass_until(end) - clock.elapsed())

    def _is_changed(self) -> bool:
        seen, self._seen = self._seen, self._view.position()
        return any(change.key in self._keys for change in self._server.changes[seen : self._seen])

    def _pass_until(self, end: float) -> float:
        """Let happen what is due next, and return when it shows."""
        now, later = self._server.clock.elapsed(), self._server.later
        if len(self._server.changes) > self._seen:
            return max(now, self._server.changes[self._seen].at + self._view.lag)
        if not later or later[0][0] > end:
            return end
        at, action = later.pop(0)
        self._server.clock.seconds = max(now, at)
        action()
        return self._server.clock.elapsed()


class InMemoryChanges:
    """Changes of the view."""

    __slots__ = ("_server", "_view")

    def __init__(self, server: InMemoryServer, view: InMemoryView) -> None:
        self._server = server
        self._view = view

    @contextmanager
    def of(self, keys: Iterable[ObjectKey]) -> Iterator[InMemoryChange]:
        yield InMemoryChange(self._server, self._view, frozenset(keys))


class InMemoryReport:
    """What was reported: event, pod UID, reason."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def bound(self, request: BindRequest, pod: Pod) -> None:
        self.events.append(("Scheduled", pod.metadata.uid, ""))

    def waiting(self, request: BindRequest, pod: Pod, reason: str) -> None:
        self.events.append(("BindingConditionsPending", pod.metadata.uid, reason))

    def failed(self, request: BindRequest, pod: Pod, reason: str) -> None:
        self.events.append(("BindFailed", pod.metadata.uid, reason))


def in_memory_ports(server: InMemoryServer, view: InMemoryView, report: InMemoryReport) -> Ports:
    """Return all ports over one server."""
    return Ports(
        claims=InMemoryClaims(server),
        pods=InMemoryPods(server),
        bind_requests=InMemoryBindRequests(server),
        view=view,
        clock=server.clock,
        changes=InMemoryChanges(server, view),
        report=report,
    )


def _validate(stored: ResourceClaim, status: ResourceClaimStatus, action: str) -> None:
    before, uids = stored.status, [consumer.uid for consumer in status.reserved_for]
    is_changed = before.allocation is not None and status.allocation not in (None, before.allocation)
    if is_changed or (status.allocation and unknown_request(status.allocation, stored.spec.devices.requests)):
        raise invalid(action, "status.allocation")
    new = set(uids) - {consumer.uid for consumer in before.reserved_for}
    if (
        (uids and status.allocation is None)
        or (new and stored.metadata.is_deleting)
        or len(set(uids)) != len(uids)
        or len(uids) > MAX_CONSUMERS_PER_CLAIM
    ):
        raise invalid(action, "status.reservedFor")


def _defaulted(request: DeviceRequest) -> DeviceRequest:
    exact = request.exactly
    if exact is None:
        return request
    filled = msgspec.structs.replace(exact, allocation_mode=exact.mode, count=exact.wanted)
    return msgspec.structs.replace(request, exactly=filled)


def _promised(request: BindRequest) -> Iterator[DeviceID]:
    for entry in request.spec.resource_claim_allocations:
        yield from devices_of(entry.allocation)
    if request.spec.extended_resource_claim_allocation is not None:
        yield from devices_of(request.spec.extended_resource_claim_allocation.allocation)
