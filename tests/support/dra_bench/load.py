"""Creates many objects at once, over a few connections, and counts what becomes of them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Self

import aiohttp
import orjson

from dra_bench.world import NAMESPACE, Json
from dra_controlplane.client import MERGE_PATCH, path_of
from dra_controlplane.server import ControlPlane

CONNECTIONS = 32
LOOK_SECONDS = 5.0
COUNT_SECONDS = 0.02
BAD_REQUEST = 400
JSON = "application/json"
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
    "InstanceType": "dra-scheduler.dev/v1alpha1/instancetypes",
    "NodePool": "karpenter.sh/v1/nodepools",
    "NodeClaim": "karpenter.sh/v1/nodeclaims",
}
Judge = Callable[[bytes], bytes | None]
"""Returns the name of the object that a line of a watch is about where it is as wanted, None where it is not."""


class Seen:
    """Which objects a watch has shown to be as wanted, and when: cheap for the server, and exact in time."""

    def __init__(
        self, session: aiohttp.ClientSession, path: str, judge: Judge, query: Mapping[str, str], accept: str
    ) -> None:
        self.times: dict[bytes, float] = {}
        """When each was seen first (monotonic), by name, the latest in the end."""
        self._session = session
        self._path = path
        self._judge = judge
        self._query = {"watch": "true", **query}
        self._headers = {"Accept": accept}
        self._following: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """How many there are by now."""
        return len(self.times)

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._following is not None:
            self._following.cancel()

    async def until(self, count: int, within: float) -> float:
        """Return the moment (monotonic) at which the latest of at least so many was seen. Raises `TimeoutError`."""
        assert self._following is not None
        async with asyncio.timeout(within):
            while self.count < count:
                if self._following.done():
                    self._following.result()
                await asyncio.sleep(COUNT_SECONDS)
        return max(self.times.values())

    async def _follow(self) -> None:
        # A busy server ends the watches of whoever reads slowly; they go on where they were.
        while True:
            async with self._session.get(self._path, params=self._query, headers=self._headers) as response:
                response.raise_for_status()
                async for line in response.content:
                    self._note(line)
                    self._query["resourceVersion"] = VERSION.findall(line)[0].decode()

    def _note(self, line: bytes) -> None:
        if line.startswith(b'{"type":"ERROR"'):
            raise RuntimeError(f"the watch of {self._path} failed: {line.decode()}")
        name = self._judge(line)
        if name is not None:
            self.times.setdefault(name, time.monotonic())


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

    async def create(self, objects: Iterable[Json], done: Callable[[Json], None] | None = None) -> None:
        """Create all objects, in their order as far as the connections allow; `done` is told of each that is there."""
        waiting = iter(objects)
        await asyncio.gather(*(self._create_rest(waiting, done) for _ in range(CONNECTIONS)))

    async def show(self, objects: Iterable[Json]) -> None:
        """Write the status of objects without namespace that are there."""
        waiting = iter(objects)
        await asyncio.gather(*(self._show_rest(waiting) for _ in range(CONNECTIONS)))

    def bound_pods(self) -> Seen:
        """Return a context in which the bound pods of the namespace are counted."""
        path = path_of(PLURALS["Pod"], namespace=NAMESPACE)
        return Seen(self._session, path, _named, {"fieldSelector": "spec.nodeName!="}, METADATA_ONLY)

    def seen(self, kind: str, judge: Judge) -> Seen:
        """Return a context in which those objects of a kind without namespace are counted that are as wanted."""
        return Seen(self._session, path_of(PLURALS[kind]), judge, {}, JSON)

    async def writes(self) -> Counter[str]:
        """Return how many writes the API server has answered since it started, by verb and resource."""
        async with self._session.get("/metrics") as response:
            return writes_in(await response.text())

    async def _create_rest(self, waiting: Iterable[Json], done: Callable[[Json], None] | None) -> None:
        for body in waiting:
            path = path_of(PLURALS[body["kind"]], namespace=body["metadata"].get("namespace"))
            await self._send("POST", path, body, JSON)
            if done is not None:
                done(body)

    async def _show_rest(self, waiting: Iterable[Json]) -> None:
        for body in waiting:
            path = path_of(PLURALS[body["kind"]], body["metadata"]["name"], subresource="status")
            await self._send("PATCH", path, {"status": body["status"]}, MERGE_PATCH)

    async def _send(self, method: str, path: str, body: Json, content: str) -> None:
        headers = {"Content-Type": content}
        async with self._session.request(method, path, data=orjson.dumps(body), headers=headers) as answer:
            if answer.status >= BAD_REQUEST:
                raise RuntimeError(f"{path}: {answer.status} {await answer.text()}")
            await answer.read()


def _named(line: bytes) -> bytes | None:
    found = NAME.search(line)
    return None if found is None else found[1]


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
