"""A slow safety net under the watches: now and then the cache is compared with the names and versions on the server.

Watches are not expected to lose anything. What is found here is put right, counted and said in the log, and the kind
is listed anew. It is the only way to tell a mute watch from a quiet one: a server sends no bookmark of a kind that
does not change. So a watch without news is looked at sooner, and later each time that it turns out to be quiet.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import quote

from dra_kube.api import Api, Json
from dra_kube.errors import ApiError, MissingError
from dra_kube.resources import Kind, Resource
from dra_operator.logs import log
from dra_operator.metrics import REPAIRS
from dra_operator.watch.cache import Cache, version
from dra_operator.watch.intake import Intake
from dra_operator.watch.session import version_of
from dra_operator.watch.watches import Clock, Watches
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import key_of

PERIOD_SECONDS = 600.0
QUIET_SECONDS = 60.0
"""A watch without news for so long may be mute."""
PACE_SECONDS = 5.0
PATIENCE_SECONDS = 10.0
"""What differs for so long is not on its way any more."""
NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE = 500

_log = log("audit")


class Identity(NamedTuple):
    """An object at one version."""

    uid: str
    version: int


class Audit:
    """Compares and repairs, one kind after the other."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        watches: Watches,
        intake: Intake,
        *,
        clock: Clock = time.monotonic,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._api = api
        self._clock = clock
        self._quiet_seconds = quiet_seconds
        self._looked: dict[Kind, float] = {}
        self._quiet_looks: Counter[Kind] = Counter()
        self._cache = cache
        self._watches = watches
        self._intake = intake

    async def run(self) -> None:
        """Look at every kind once a period, and at quiet ones sooner, until cancelled."""
        while True:
            await asyncio.sleep(min(PACE_SECONDS, self._quiet_seconds / 2))
            for resource in self._watches.behind_own_writes(self._quiet_seconds):
                _log.warning("a watch does not tell of own writes", kind=resource.plural)
                self._watches[resource.kind].expire()
            # Together: each waits for what is only on its way, and one mute watch seldom comes alone.
            await asyncio.gather(*map(self._look, self.due()))

    async def _look(self, resource: Resource) -> None:
        try:
            await self.look_at(resource)
        except ApiError as error:
            _log.debug("could not compare", kind=resource.plural, error=str(error))

    def due(self) -> tuple[Resource, ...]:
        """Return the kinds to look at now, and count on that being done."""
        now, found = self._clock(), []
        for resource in self._watches.resources:
            kind, news = resource.kind, self._watches[resource.kind].last_news
            last = self._looked.setdefault(kind, news)
            if news > last:
                self._quiet_looks[kind] = 0
            pause = min(self._quiet_seconds * 2.0 ** min(self._quiet_looks[kind], 16), PERIOD_SECONDS)
            is_quiet = now - news >= self._quiet_seconds
            if now - last >= (pause if is_quiet else PERIOD_SECONDS):
                self._looked[kind] = now
                self._quiet_looks[kind] += is_quiet
                found.append(resource)
        return tuple(found)

    async def look_at(self, resource: Resource, patience: float = PATIENCE_SECONDS) -> int:
        """Put right what differs now and still differs a while later; return how much that was. Raises `ApiError`."""
        before = await self._differences(resource) if self._watches[resource.kind].is_synced else {}
        if not before:
            return 0
        await asyncio.sleep(patience)
        after = await self._differences(resource)
        lasting = [key for key, said in after.items() if before.get(key) == said]
        for key in lasting:
            _log.warning("a watch has missed something", kind=resource.plural, object=str(key))
            REPAIRS.labels(resource.plural).inc()
            await self._repair(resource, key)
        if lasting:
            self._watches[resource.kind].expire()
        return len(lasting)

    async def _differences(self, resource: Resource) -> dict[ObjectKey, tuple[Identity | None, Identity | None]]:
        """Return what the server and the cache say where they do not say the same."""
        listed = {
            key: identity async for key, identity in self._names(resource) if not self._intake.is_unusable(identity.uid)
        }
        cached = {
            key_of(value): Identity(value.metadata.uid, version(value)) for value in self._cache.values(resource.kind)
        }
        keys = listed.keys() | cached.keys()
        return {key: (listed.get(key), cached.get(key)) for key in keys if listed.get(key) != cached.get(key)}

    async def _names(self, resource: Resource) -> AsyncIterator[tuple[ObjectKey, Identity]]:
        token = ""
        while True:
            query = f"?limit={PAGE}" + (f"&continue={quote(token)}" if token else "")
            page = await self._api.request("GET", resource.path + query, accept=NAMES_ONLY)
            for item in page.get("items") or ():
                yield _key(item), Identity(item["metadata"]["uid"], version_of(item))
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def _repair(self, resource: Resource, key: ObjectKey) -> None:
        try:
            self._intake.correct(resource.kind, key, await self._api.request("GET", resource.object_path(key)))
        except MissingError:
            self._intake.correct(resource.kind, key, None)


def _key(item: Json) -> ObjectKey:
    return ObjectKey(item["metadata"].get("namespace") or "", item["metadata"]["name"])
