"""Creates many objects at once, over a few connections, and asks how far the pods are."""

import asyncio
import time
from collections.abc import Iterable
from typing import Self

import aiohttp
import orjson

from dra_bench.world import NAMESPACE, Json
from dra_controlplane.client import path_of
from dra_controlplane.server import ControlPlane

CONNECTIONS = 32
POLL_SECONDS = 0.5
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PLURALS = {
    "Namespace": "v1/namespaces",
    "Node": "v1/nodes",
    "Pod": "v1/pods",
    "DeviceClass": "resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "resource.k8s.io/v1/resourceslices",
    "ResourceClaimTemplate": "resource.k8s.io/v1/resourceclaimtemplates",
}


class Load:
    """An administrator with many connections."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._plane.client().tls)
        self._session = aiohttp.ClientSession(self._plane.url, connector=connector)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    async def create(self, objects: Iterable[Json]) -> None:
        """Create all objects, in their order as far as the connections allow."""
        waiting = iter(list(objects))
        await asyncio.gather(*(self._create_rest(waiting) for _ in range(CONNECTIONS)))

    async def until_bound(self, *, within: float) -> float:
        """Return the moment (monotonic) at which no pod of the namespace was unbound any more."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            asked = time.monotonic()
            if not await self._unbound():
                return asked
            await asyncio.sleep(POLL_SECONDS)
        msg = f"{await self._unbound()} pods were still unbound after {within:.0f} s"
        raise TimeoutError(msg)

    async def writes(self) -> float:
        """Return how many writes the API server has answered since it started."""
        text = await self._read("/metrics", {})
        lines = (line for line in text.decode().splitlines() if line.startswith("apiserver_request_total{"))
        verbs = ('verb="POST"', 'verb="PUT"', 'verb="PATCH"', 'verb="APPLY"', 'verb="DELETE"')
        return sum(float(line.rpartition(" ")[2]) for line in lines if any(verb in line for verb in verbs))

    async def _create_rest(self, waiting: Iterable[Json]) -> None:
        assert self._session is not None
        for body in waiting:
            path = path_of(PLURALS[body["kind"]], namespace=body["metadata"].get("namespace"))
            headers = {"Content-Type": "application/json"}
            async with self._session.post(path, data=orjson.dumps(body), headers=headers) as answer:
                if answer.status >= 400:
                    msg = f"{path}: {answer.status} {await answer.text()}"
                    raise RuntimeError(msg)
                await answer.read()

    async def _unbound(self) -> int:
        query = {"fieldSelector": "spec.nodeName=", "resourceVersion": "0", "limit": "0"}
        text = await self._read(path_of("v1/pods", namespace=NAMESPACE), query)
        return len(orjson.loads(text).get("items") or ())

    async def _read(self, path: str, query: dict[str, str]) -> bytes:
        assert self._session is not None
        headers = {"Accept": METADATA_ONLY} if query else {}
        async with self._session.get(path, params=query, headers=headers) as answer:
            answer.raise_for_status()
            return await answer.read()
