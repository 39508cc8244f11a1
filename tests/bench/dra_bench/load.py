"""Creates many objects at once, over a few connections, and counts what becomes of them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Self

import aiohttp
import orjson

from dra_bench.world import NAMESPACE, Json
from dra_controlplane.client import path_of
from dra_controlplane.server import ControlPlane

CONNECTIONS = 32
LOOK_SECONDS = 5.0
COUNT_SECONDS = 0.02
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
WRITES = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}
NAME = re.compile(rb'"name":"([^"]+)"')
VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
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
    """The pods of the namespace that are bound, as a watch tells: cheap for the server, and exact in time."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.latest = 0.0
        """When the last one so far was seen (monotonic)."""
        self._session = session
        self._names: set[bytes] = set()
        self._following: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """How many are bound by now."""
        return len(self._names)

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._following is not None:
            self._following.cancel()

    async def until(self, count: int, within: float) -> float:
        """Return the moment (monotonic) at which so many were bound. Raises `TimeoutError`."""
        assert self._following is not None
        async with asyncio.timeout(within):
            while self.count < count:
                if self._following.done():
                    self._following.result()
                await asyncio.sleep(COUNT_SECONDS)
        return self.latest

    async def _follow(self) -> None:
        path, headers = path_of("v1/pods", namespace=NAMESPACE), {"Accept": METADATA_ONLY}
        query = {"watch": "true", "fieldSelector": "spec.nodeName!="}
        # A busy server ends the watches of whoever reads slowly; they go on where they were.
        while True:
            async with self._session.get(path, params=query, headers=headers) as response:
                response.raise_for_status()
                async for line in response.content:
                    self._note(line)
                    query["resourceVersion"] = VERSION.findall(line)[0].decode()

    def _note(self, line: bytes) -> None:
        if not line.startswith(b'{"type":"ERROR"'):
            self._names.add(NAME.findall(line)[0])
            self.latest = time.monotonic()
            return
        raise RuntimeError(f"the watch of bound pods failed: {line.decode()}")


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

    def bound_pods(self) -> BoundPods:
        """Return a context in which the bound pods of the namespace are counted."""
        return BoundPods(self._session)

    async def writes(self) -> Counter[str]:
        """Return how many writes the API server has answered since it started, by verb and resource."""
        async with self._session.get("/metrics") as response:
            return writes_in(await response.text())

    async def _create_rest(self, waiting: Iterable[Json]) -> None:
        for body in waiting:
            path = path_of(PLURALS[body["kind"]], namespace=body["metadata"].get("namespace"))
            headers = {"Content-Type": "application/json"}
            async with self._session.post(path, data=orjson.dumps(body), headers=headers) as answer:
                if answer.status >= 400:
                    raise RuntimeError(f"{path}: {answer.status} {await answer.text()}")
                await answer.read()


def writes_in(metrics: str) -> Counter[str]:
    """Return the number of writes that the metrics of an API server tell, by verb and resource."""
    counted: Counter[str] = Counter()
    for line in metrics.splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(LABEL.findall(line))
            if labels["verb"] in WRITES:
                resource = "/".join(part for part in (labels["resource"], labels["subresource"]) if part)
                counted[f"{labels['verb']} {resource}"] += int(float(line.rpartition(" ")[2]))
    return counted
