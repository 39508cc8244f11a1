"""An API server in memory: resourceVersions, UIDs, finalizers, and the rules for ResourceClaims and Bindings."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from dra_binding.faults import APPLIED, FaultRule, failure
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod

Stored = ResourceClaim | Pod | BindRequest | Node
S = TypeVar("S", ResourceClaim, Pod, BindRequest, Node)
T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)


class ServerChange(msgspec.Struct, frozen=True):
    """One entry of what watches deliver; `value` is None for a deletion."""

    at: float
    version: int
    kind: type[Stored]
    key: ObjectKey
    value: Stored | None


class InMemoryClock:
    """Time that passes only while somebody sleeps."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> str:
        return (START + timedelta(seconds=self.seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def elapsed(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


class InMemoryServer:
    """The objects, the log of writes (`create resourceclaims default/x`), and the rules that make writes fail.

    `after_write` is called after each write with its number: the place for what others do meanwhile. `later` is what
    others do while a bind waits: at the second given, or as soon as a bind waits where that has passed.
    """

    __slots__ = ("after_write", "bindings", "changes", "clock", "later", "objects", "rules", "version", "writes")

    def __init__(self, *rules: FaultRule) -> None:
        self.objects: dict[tuple[type[Stored], ObjectKey], Stored] = {}
        self.changes: list[ServerChange] = []
        self.writes: list[str] = []
        self.bindings: list[tuple[str, str]] = []
        self.rules = list(rules)
        self.clock = InMemoryClock()
        self.version = 0
        self.after_write: Callable[[int], None] = lambda _: None
        self.later: list[tuple[float, Callable[[], None]]] = []

    def find(self, kind: type[S], key: ObjectKey) -> S | None:
        """Return the object, if there is one."""
        value = self.objects.get((kind, key))
        return value if isinstance(value, kind) else None

    def all(self, kind: type[S]) -> tuple[S, ...]:
        """Return all objects of the kind."""
        return tuple(value for value in self.objects.values() if isinstance(value, kind))

    def put(self, value: S) -> S:
        """Store an object as it is, with a new resourceVersion, and what else of its metadata is missing."""
        self.version += 1
        meta = value.metadata
        stored = msgspec.structs.replace(
            value,
            metadata=msgspec.structs.replace(
                meta,
                uid=meta.uid or f"uid-{self.version}",
                resource_version=str(self.version),
                creation_timestamp=meta.creation_timestamp or self.clock.now(),
            ),
        )
        key = ObjectKey(meta.namespace, meta.name)
        self.objects[type(value), key] = stored
        self.changes.append(ServerChange(self.clock.seconds, self.version, type(value), key, stored))
        return stored

    def remove(self, kind: type[Stored], key: ObjectKey) -> None:
        """Let the object vanish."""
        self.version += 1
        del self.objects[kind, key]
        self.changes.append(ServerChange(self.clock.seconds, self.version, kind, key, None))

    def current(self, kind: type[S], key: ObjectKey, action: str) -> S:
        """Return the object, or raise as the server would."""
        value = self.find(kind, key)
        if value is None:
            raise MissingError(action, 404, reason="NotFound", message=f"{key} not found")
        return value

    def expected(self, given: S, action: str) -> S:
        """Return the stored object if its UID is that of the one given, or raise as the server would."""
        stored = self.current(type(given), ObjectKey(given.metadata.namespace, given.metadata.name), action)
        if stored.metadata.uid != given.metadata.uid:
            raise ConflictError(action, 409, reason="Conflict", message="precondition failed: UID")
        return stored

    def unchanged(self, given: S, action: str) -> S:
        """Return the stored object if UID and resourceVersion are those of the one given, or raise."""
        stored = self.expected(given, action)
        if stored.metadata.resource_version != given.metadata.resource_version:
            raise ConflictError(action, 409, reason="Conflict", message="the object has been modified")
        return stored

    def take_off(self, value: S, finalizers: tuple[str, ...]) -> S:
        """Store the object with these finalizers; without any, one that is being deleted goes."""
        metadata: ObjectMeta = msgspec.structs.replace(value.metadata, finalizers=finalizers)
        stored = self.put(msgspec.structs.replace(value, metadata=metadata))
        if metadata.is_deleting and not finalizers:
            self.remove(type(value), ObjectKey(metadata.namespace, metadata.name))
        return stored

    async def write(self, action: str, apply: Callable[[], T]) -> T:
        """Apply a write under the rules in force."""
        self.writes.append(action)
        number = len(self.writes)
        await asyncio.sleep(0)
        fault = next((rule.fault for rule in self.rules if rule.strikes(action, number)), None)
        if fault is not None and fault not in APPLIED:
            raise failure(fault, action)
        result = apply()
        self.after_write(number)
        if fault is not None:
            raise failure(fault, action)
        return result


def invalid(action: str, path: str) -> ApiError:
    """Return the server's answer to an object that breaks a rule."""
    return ApiError(action, 422, reason="Invalid", message="the object is invalid", causes=(path,))
