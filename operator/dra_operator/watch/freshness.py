"""Checks that the cache is at least as new as the API server, before a step that cannot be taken back.

Each kind has a watch of its own, and they are not in step: what the cache does not have may be there all the same, and
may be older than what it has.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from dra_kube.api import Api, Json
from dra_kube.errors import MissingError
from dra_kube.resources import Kind, Resource
from dra_operator.watch.cache import Cache, version
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import InvalidObjectError, read_as

AT_ONCE = 4
"""So many lists are under way, no two of them the same; whoever waits for the same one in the meantime shares it."""
BEHIND_SECONDS = 0.5
"""After so long it is worth asking again about what has not been seen."""


class Freshness:
    """Compares the cache with the server. Every method raises `ApiError`.

    The answer holds for what was there when the question was put: whoever asks has to look into the cache after that.
    """

    __slots__ = ("_api", "_cache", "_lists", "_slots", "_under_way")

    def __init__(self, api: Api, cache: Cache) -> None:
        self._api = api
        self._cache = cache
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._lists: dict[str, asyncio.Task[list[Any]]] = {}
        self._under_way: dict[str, asyncio.Task[list[Any]]] = {}

    async def has(self, resource: Resource, name: str) -> bool:
        """Whether the cache knows the object without namespace as it is now; one that is not there need not be."""
        try:
            found = await self._api.request("GET", resource.object_path(ObjectKey("", name)))
        except MissingError:
            return True
        return self._is_seen(resource.kind, found)

    async def has_all(
        self, resource: Resource, selector: str = "", *, includes: Callable[[Json], bool] = lambda _: True
    ) -> bool:
        """Whether the cache knows all objects of a kind as they are now, or those of a field selector."""
        path = f"{resource.path}?fieldSelector={quote(selector)}" if selector else resource.path
        return all(self._is_seen(resource.kind, item) for item in await self._list(path) if includes(item))

    async def _list(self, path: str) -> list[Any]:
        if path not in self._lists:
            self._lists[path] = asyncio.ensure_future(self._send(path))
        return await asyncio.shield(self._lists[path])

    async def _send(self, path: str) -> list[Any]:
        # A thousand NodeClaims may have the same question, about a thousand nodes.
        if path in self._under_way:
            await asyncio.wait((self._under_way[path],))
        async with self._slots:
            # From now on the answer may be older than the question.
            self._under_way[path] = self._lists.pop(path)
            try:
                return (await self._api.request("GET", path)).get("items") or []
            except MissingError:
                # The cluster does not have the kind.
                return []
            finally:
                del self._under_way[path]

    def _is_seen(self, kind: Kind, raw: Json) -> bool:
        metadata = raw["metadata"]
        known = self._cache.get(kind, ObjectKey(metadata.get("namespace") or "", metadata["name"]))
        if known is not None and known.metadata.uid == metadata["uid"]:
            return version(known) >= int(metadata["resourceVersion"])
        return not _is_usable(kind, raw)


def on_node(name: str) -> str:
    """Return the field selector of what is on a node: pods, and slices that its drivers have published."""
    return f"spec.nodeName={name}"


def _is_usable(kind: Kind, raw: Json) -> bool:
    """Whether the object, once seen, would be in the cache."""
    try:
        read_as(kind, raw)
    except InvalidObjectError:
        return False
    return True
