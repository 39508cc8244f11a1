"""Everything the binder touches, as small protocols: three kinds of objects, a view of the cache, a clock, a report.

Calls that reach the API server are async and raise `dra_binder.errors.ApiError`; an object that they return is as the
server holds it after the call. Lookups in `View` are plain and cost nothing.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import NamedTuple, Protocol

import msgspec

from dra_scheduling.model.bindrequests import BindRequest, BindRequestStatus
from dra_scheduling.model.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from dra_scheduling.model.ids import DeviceID, ObjectKey, PoolKey
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.pods import Node, NodeAllocatableResourceClaimStatus, Pod, PodExtendedResourceClaimStatus


class Claims(Protocol):
    """ResourceClaims. A write holds only for the UID of the claim given; updates also for its resourceVersion."""

    async def get(self, key: ObjectKey) -> ResourceClaim:
        """Return the claim as the server holds it now."""
        ...

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Create the claim under `metadata.name`; the server drops any status. Taken name: `ConflictError`."""
        ...

    async def replace_finalizers(self, claim: ResourceClaim, finalizers: tuple[str, ...]) -> ResourceClaim:
        """Set the finalizers and nothing else."""
        ...

    async def replace_status(self, claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
        """Set allocation and reservedFor; whatever else the status holds stays."""
        ...

    async def delete(self, claim: ResourceClaim) -> ResourceClaim | None:
        """Delete the claim; return it while finalizers hold it, None when it is gone."""
        ...


class Pods(Protocol):
    """Pods. Every write holds only for the UID of the pod given."""

    async def get(self, key: ObjectKey) -> Pod:
        """Return the pod as the server holds it now."""
        ...

    async def patch_status(self, pod: Pod, status: PodExtendedResourceClaimStatus) -> None:
        """Set `status.extendedResourceClaimStatus` and nothing else."""
        ...

    async def patch_taken_of_node(self, pod: Pod, taken: tuple[NodeAllocatableResourceClaimStatus, ...]) -> None:
        """Set `status.nodeAllocatableResourceClaimStatuses` and nothing else."""
        ...

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind the pod to the node."""
        ...


class BindRequests(Protocol):
    """BindRequests. Every write holds only for the UID of the object given."""

    async def patch_status(self, request: BindRequest, status: BindRequestStatus) -> None:
        """Set the status; empty fields are removed."""
        ...

    async def delete(self, request: BindRequest) -> None:
        """Delete the object."""
        ...


class Presence(Enum):
    """What the published ResourceSlices say about a device, seen from a node."""

    REACHABLE = auto()
    """Published in its pool's current generation, and the node can use it."""
    UPDATING = auto()
    """Not among the slices seen, but its pool is incomplete: its driver is publishing, so this says nothing yet."""
    ABSENT = auto()
    """Its pool is complete without it, or there is no such pool."""
    ELSEWHERE = auto()
    """Published, but not for this node."""


class Account(NamedTuple):
    """An amount that several claims draw from: a capacity of a device, or (without a device) a counter of a pool."""

    pool: PoolKey
    name: str
    device: str = ""

    def __str__(self) -> str:
        if self.device:
            return f"capacity {self.name} of device {self.pool}/{self.device}"
        return f"counter {self.name} of pool {self.pool}"


class Draw(NamedTuple):
    """What an allocation draws from an account, in nano units. Draws of one part count once, whoever names it."""

    account: Account
    part: str
    amount: int


class View(Protocol):
    """The cache of watched objects. It may lag behind the server, but never mixes two versions of an object."""

    def bind_request(self, key: ObjectKey) -> BindRequest | None:
        """Return the BindRequest."""
        ...

    def bind_requests_holding(self, device: DeviceID) -> Iterable[BindRequest]:
        """Return the BindRequests that name the device and have neither succeeded nor failed."""
        ...

    def claim(self, key: ObjectKey) -> ResourceClaim | None:
        """Return the claim."""
        ...

    def claims_holding(self, device: DeviceID) -> Iterable[ResourceClaim]:
        """Return the claims whose allocation names the device."""
        ...

    def draws(self, allocation: AllocationResult) -> Iterable[Draw]:
        """Return what the allocation draws from accounts, as far as its devices are published; no zero amounts."""
        ...

    def limit(self, account: Account) -> int | None:
        """Return how much there is to be drawn, in nano units; None where that is not published."""
        ...

    def claims_drawing(self, account: Account) -> Iterable[ResourceClaim]:
        """Return the claims that may draw from the account."""
        ...

    def claims_of_pod(self, uid: str) -> Iterable[ResourceClaim]:
        """Return the claims that this pod controls (its special claims among them) or is in reservedFor of."""
        ...

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return the pod of that name, whatever its UID."""
        ...

    def node(self, name: str) -> Node | None:
        """Return the node."""
        ...

    def matches(self, selector: NodeSelector, node: str) -> bool:
        """Whether the node is known and the selector of an allocation takes it in (`matchFields` included)."""
        ...

    def presence(self, device: DeviceID, node: str) -> Presence:
        """Return whether the device is published and reachable from the node."""
        ...

    def progress(self) -> int:
        """Return the resourceVersion up to which ResourceClaims were seen (bookmarks included)."""
        ...

    def is_contended(self, pools: Iterable[PoolKey], classes: Iterable[str]) -> bool:
        """Whether a scheduler other than ours is about: it has lately taken devices of one of the pools, or will.

        It will where a pod of it waits for devices of one of the DeviceClasses.
        """
        ...


class Clock(Protocol):
    """Time."""

    def now(self) -> str:
        """Return the wall-clock time as RFC 3339 text in UTC, to the second."""
        ...

    def elapsed(self) -> float:
        """Return seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        ...


class Change(Protocol):
    """Whether something has changed in the view."""

    def clear(self) -> None:
        """Forget the changes so far."""
        ...

    async def wait(self, seconds: float | None) -> None:
        """Return as soon as something has changed since `clear`, after so many seconds (None: never) in any case."""
        ...


class Changes(Protocol):
    """What wakes a bind that waits."""

    def of(self, keys: Iterable[ObjectKey]) -> AbstractContextManager[Change]:
        """Notice, for as long as the context lasts, what changes in objects of these names, of whatever kind."""
        ...


class Report(Protocol):
    """What people are told. Best effort: an implementation returns at once and never raises."""

    def bound(self, request: BindRequest, pod: Pod) -> None:
        """The pod is bound to the node of the BindRequest (event `Scheduled` on the pod)."""
        ...

    def waiting(self, request: BindRequest, pod: Pod, reason: str) -> None:
        """Devices have to be made ready before the pod is bound (event `BindingConditionsPending` on the pod)."""
        ...

    def failed(self, request: BindRequest, pod: Pod, reason: str) -> None:
        """The BindRequest failed for good and everything is undone (event `BindFailed` on the pod)."""
        ...


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """All of them together."""

    claims: Claims
    pods: Pods
    bind_requests: BindRequests
    view: View
    clock: Clock
    changes: Changes
    report: Report
