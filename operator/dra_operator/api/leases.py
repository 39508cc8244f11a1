"""One active replica a role, by Lease (coordination.k8s.io/v1).

The official client has an election too (`kubernetes.aio.leaderelection`), but it does not give a Lease back, a network
error ends it, a request that hangs outlives the Lease, and it writes local time as UTC.
"""

import asyncio
import math
from collections.abc import Callable

import msgspec

from dra_kube.api import Api, Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_operator.logs import log
from dra_operator.metrics import LEADING
from dra_operator.pacing import Clock, micro_timestamp
from dra_operator.settings import Role, Settings

# Parts of the time for which others keep away after a renewal. The holder gives up well before anybody may take over.
RENEW_PART = 2 / 3
RETRY_PART = 2 / 15
RELEASE_SECONDS = 5.0

_log = log("leader")


def lease_name(role: Role) -> str:
    """Return the name of a role's Lease, which the role's rights are limited to."""
    return f"dra-{role}"


class Seen(msgspec.Struct, frozen=True):
    """A Lease as somebody else left it, and when this replica first saw it so: clocks of hosts need not agree."""

    spec: Json
    since: float


class Leadership:
    """Whether this replica is the active one of a role, and until when that holds without a renewal.

    `changed` is called at every change that is announced.
    """

    def __init__(self, role: Role, changed: Callable[[Role], None], clock: Clock) -> None:
        self.role = role
        self._changed = changed
        self._clock = clock
        self._is_leading = False
        self._until = 0.0

    @property
    def is_leading(self) -> bool:
        """Whether writes of the role are allowed at this moment, announced or not: a process may have been asleep."""
        return self._is_leading and self._clock() < self._until

    def take(self, until: float = math.inf) -> None:
        """Be the active replica up to that time."""
        if not self.is_leading:
            # It may have lapsed without anybody noticing but those who were not allowed to write meanwhile.
            self.step_back()
        self._until = until
        self._set(is_leading=True)

    def step_back(self) -> None:
        """Be a replica that only watches."""
        self._set(is_leading=False)

    def _set(self, *, is_leading: bool) -> None:
        if is_leading == self._is_leading:
            return
        self._is_leading = is_leading
        LEADING.labels(self.role.value).set(is_leading)
        _log.info("leading" if is_leading else "not leading", role=self.role.value)
        self._changed(self.role)


class Election:
    """Holds the Lease of a role while it can."""

    def __init__(self, api: Api, leadership: Leadership, settings: Settings, clock: Clock) -> None:
        self._api = api
        self._leadership = leadership
        self._namespace = settings.namespace
        self._identity = settings.identity
        self._seconds = settings.lease_seconds
        self._clock = clock
        self._seen: Seen | None = None
        self._log = _log.bind(lease=self._name, identity=self._identity)

    @property
    def _name(self) -> str:
        return lease_name(self._leadership.role)

    @property
    def _collection(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            started = self._clock()
            try:
                async with asyncio.timeout(self._seconds * RENEW_PART / 2):
                    is_ours = await self._take_or_renew()
            except (ApiError, TimeoutError) as error:
                self._log.warning("could not renew the lease", error=str(error) or "no answer")
            else:
                if is_ours:
                    self._leadership.take(until=started + self._seconds * RENEW_PART)
                else:
                    self._leadership.step_back()
            await asyncio.sleep(self._seconds * RETRY_PART)
            if not self._leadership.is_leading:
                self._leadership.step_back()

    async def release(self) -> None:
        """Step back and let the next replica take over at once; best effort."""
        if not self._leadership.is_leading:
            return
        self._leadership.step_back()
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                while not await self._give_back():
                    pass
        except (ApiError, TimeoutError) as error:
            self._log.warning("could not release the lease", error=str(error) or "no answer")

    async def _give_back(self) -> bool:
        """Return whether the Lease is not ours any more. A renewal that stopping cut short may still be written."""
        lease = await self._api.request("GET", f"{self._collection}/{self._name}")
        spec: Json = lease.get("spec") or {}
        if spec.get("holderIdentity") != self._identity:
            return True
        freed = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_timestamp()}
        try:
            await self._write({**lease, "spec": {**spec, **freed}})
        except ConflictError:
            return False
        return True

    async def _take_or_renew(self) -> bool:
        try:
            lease = await self._api.request("GET", f"{self._collection}/{self._name}")
        except MissingError:
            return await self._create()
        spec: Json = lease.get("spec") or {}
        if spec.get("holderIdentity") != self._identity and not self._is_free(spec):
            return False
        return await self._claim(lease, spec)

    def _is_free(self, spec: Json) -> bool:
        if not spec.get("holderIdentity"):
            return True
        now = self._clock()
        if self._seen is None or self._seen.spec != spec:
            self._seen = Seen(spec, now)
        return now - self._seen.since > float(spec.get("leaseDurationSeconds") or self._seconds)

    async def _create(self) -> bool:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": self._spec(acquired=micro_timestamp(), transitions=0),
        }
        try:
            await self._api.request("POST", self._collection, lease)
        except ConflictError:
            return False
        return True

    async def _claim(self, lease: Json, spec: Json) -> bool:
        is_same = spec.get("holderIdentity") == self._identity
        acquired = spec.get("acquireTime") or micro_timestamp() if is_same else micro_timestamp()
        transitions = int(spec.get("leaseTransitions") or 0) + (not is_same)
        try:
            await self._write({**lease, "spec": self._spec(acquired=acquired, transitions=transitions)})
        except ConflictError:
            return False
        return True

    async def _write(self, lease: Json) -> None:
        # With its resourceVersion, so that of two replicas only one gets it.
        await self._api.request("PUT", f"{self._collection}/{self._name}", lease)

    def _spec(self, *, acquired: str, transitions: int) -> Json:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._seconds),
            "acquireTime": acquired,
            "renewTime": micro_timestamp(),
            "leaseTransitions": transitions,
        }
