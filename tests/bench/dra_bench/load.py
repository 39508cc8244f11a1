"""Creates many objects at once, over a few connections, and counts what becomes of them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Self

import aiohttp
import orjson

from dra_bench.world import NAMESPACE, Json
from dra_controlplane.client import path_of
from dra_controlplane.server import ControlPlane

CONNECTIONS = 32
LOOK_SECONDS = 5.0
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}
LABEL = re.compile(r'(\w+)="([^"]*)"')
PLURALS = {
    "Namespace": "v1/namespaces",
    "Node": "v1/nodes",
    "Pod": "v1/pods",
    "DeviceClass": "resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "resource.k8s.io/v1/resourceslices",
    "ResourceClaimTemplate": "resource.k8s.io/v1/resourceclaimtemplates",
}


class BoundPods:
    """How many pods of the namespace are bound, as a watch tells; cheap for the server, and exact in time."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Event()

    async def follow(self, response: aiohttp.ClientResponse) -> None:
        """Count until cancelled."""
        async for line in response.content:
            if line.startswith(b'{"type":"ADDED"'):
                self.count += 1
                self._changed.set()
        raise RuntimeError("the watch of bound pods ended")

    async def until(self, count: int, within: float) -> float:
        """Return the moment (monotonic) at which so many were bound. Raises `TimeoutError`."""
        async with asyncio.timeout(within):
            while self.count < count:
                self._changed.clear()
                await self._changed.wait()
        return time.monotonic()


class Load:
    """An administrator with many connections."""

    def __init__(self, plane: ControlPlane) -> None:
        connector = aiohttp.TCPConnector(limit=CONNECTIONS + 1, ssl=plane.client().tls)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession(plane.url, connector=connector, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def create(self, objects: Iterable[Json]) -> None:
        """Create all objects, in their order as far as the connections allow."""
        waiting = iter(objects)
        await asyncio.gather(*(self._create_rest(waiting) for _ in range(CONNECTIONS)))

    @asynccontextmanager
    async def bound_pods(self) -> AsyncIterator[BoundPods]:
        """Count the pods that are bound from now on."""
        query = {"watch": "true", "fieldSelector": "spec.nodeName!=", "timeoutSeconds": "3600"}
        path, headers = path_of("v1/pods", namespace=NAMESPACE), {"Accept": METADATA_ONLY}
        async with self._session.get(path, params=query, headers=headers) as response:
            response.raise_for_status()
            bound = BoundPods()
            task = asyncio.create_task(bound.follow(response))
            try:
                yield bound
            finally:
                task.cancel()

    async def writes(self) -> Counter[str]:
        """Return how many writes the API server has answered since it started, by verb and resource."""
        async with self._session.get("/metrics") as response:
            text = await response.text()
        counted: Counter[str] = Counter()
        for line in text.splitlines():
            if line.startswith("apiserver_request_total{"):
                labels, value = dict(LABEL.findall(line)), float(line.rpartition(" ")[2])
                if labels["verb"] in WRITES:
                    resource = "/".join(part for part in (labels["resource"], labels["subresource"]) if part)
                    counted[f"{labels['verb']} {resource}"] += int(value)
        return counted

    async def _create_rest(self, waiting: Iterable[Json]) -> None:
        for body in waiting:
            path = path_of(PLURALS[body["kind"]], namespace=body["metadata"].get("namespace"))
            headers = {"Content-Type": "application/json"}
            async with self._session.post(path, data=orjson.dumps(body), headers=headers) as answer:
                if answer.status >= 400:
                    raise RuntimeError(f"{path}: {answer.status} {await answer.text()}")
                await answer.read()
