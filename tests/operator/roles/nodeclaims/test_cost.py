"""What a slice costs does not depend on how many other NodeClaims and slices there are: counted, not timed."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import TypeVar

from dra_builders.values import devices, pool, resource_slice
from dra_kube.api import Json
from dra_kube.resources import Kind
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import running, settle
from dra_operating.requests import RequestsInMemory
from dra_operator.api.events import Recorder
from dra_operator.api.leases import Leadership
from dra_operator.roles.nodeclaims.role import NodeClaimsRole
from dra_operator.settings import Role, Settings
from dra_operator.watch.cache import Cache
from dra_scheduling.model.base import Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import KubernetesObject, read

T = TypeVar("T", bound=Value)
SECONDS = 60.0
SINCE = "2026-01-01T00:00:00Z"
MANY = 300
PATHS = {"NodeClaim": "/apis/karpenter.sh/v1/nodeclaims", "Node": "/api/v1/nodes"}
DRIVER = "gpu.example.com"
CLASS = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}


class CountingCache(Cache):
    """Counts the objects that it hands out."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def get(self, kind: type[T], key: ObjectKey) -> T | None:
        self.looks += 1
        return super().get(kind, key)

    def of_kind(self, kind: type[T]) -> Iterator[T]:
        for value in super().of_kind(kind):
            self.looks += 1
            yield value

    def values(self, kind: Kind) -> tuple[KubernetesObject, ...]:
        self.looks += self.count(kind)
        return super().values(kind)


class Hall(RequestsInMemory):
    """A server with registered nodes of NodeClaims, each with one of the two slices of its pool, and the role."""

    def __init__(self, objects: Iterable[Json]) -> None:
        super().__init__()
        self.cache = CountingCache()
        self.asked: list[str] = []
        self._leadership = Leadership(Role.NODECLAIMS, lambda _: self.role.leadership_changed(), lambda: 0.0)
        self.role = NodeClaimsRole(
            Settings.from_environment({"DRA_ROLES": "nodeclaims"}),
            api=self,
            cache=self.cache,
            recorder=Recorder(ApiInMemory(), "tester", ManualClock()),
            leadership=self._leadership,
        )
        for body in objects:
            self.see(read(self.put(f"{PATHS[body['kind']]}/{body['metadata']['name']}", body)))
            if body["kind"] == "Node":
                self.see(piece(body["metadata"]["name"], 0))

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        self.asked.append(path)
        answer = await super().request(method, path, body, content_type=content_type)
        if method == "PATCH":
            self.see(read(self.objects[path.removesuffix("/status")]))
        return answer

    def see(self, value: KubernetesObject) -> None:
        """Let the role see an object."""
        self.cache.put(value)
        self.role.changed(value)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """The role works, and has looked at everything once."""
        async with running(*self.role.jobs()):
            self._leadership.take()
            await settle()
            yield

    async def until_initialized(self, status: str, names: Iterable[str]) -> None:
        """Wait until these NodeClaims say so, and nothing is under way any more."""
        claims = [f"{PATHS['NodeClaim']}/{name}" for name in names]
        async with asyncio.timeout(SECONDS):
            while {initialized(self.objects[claim]) for claim in claims} != {status}:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await settle()


def fresh(nodes: int) -> Iterator[Json]:
    for name in map(str, range(nodes)):
        yield node_claim(name)
        yield node(name)


async def told(nodes: int) -> list[Json]:
    """What is there once all NodeClaims say what they wait for."""
    hall = Hall(fresh(nodes))
    async with hall.at_work():
        await hall.until_initialized("Unknown", map(str, range(nodes)))
    return list(hall.objects.values())


def node_claim(name: str) -> Json:
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": SINCE}
        for kind in ("Launched", "Registered")
    ]
    meta = {
        "name": name,
        "creationTimestamp": SINCE,
        "annotations": {"karpenter.sh/requested-dra-drivers": DRIVER},
        "finalizers": ["karpenter.sh/termination"],
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": meta,
        "spec": {"nodeClassRef": CLASS, "requirements": []},
        "status": {"providerID": f"test://{name}", "nodeName": name, "conditions": conditions},
    }


def node(name: str) -> Json:
    # It has become ready in a future that no deadline is over in.
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2999-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"karpenter.sh/registered": "true"}},
        "spec": {"providerID": f"test://{name}"},
        "status": {"conditions": [ready]},
    }


def piece(name: str, number: int) -> ResourceSlice:
    home = pool(name, slices=2)
    content = devices(1, prefix=f"gpu-{number}-")
    return resource_slice(f"{name}-{number}", content, driver=DRIVER, pool=home, node=name)


def initialized(claim: Json) -> str:
    return next((str(one["status"]) for one in claim["status"]["conditions"] if one["type"] == "Initialized"), "")


def calls_to_see(hall: Hall, value: KubernetesObject) -> int:
    """How many functions are called until the role has taken note of an object."""
    count = 0

    def called(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(called)
    try:
        hall.see(value)
    finally:
        sys.setprofile(None)
    return count


async def test_hearing_of_a_slice_takes_as_many_calls_among_many_node_claims_as_among_few() -> None:
    few, many = ([calls_to_see(hall, piece(name, 1)) for name in "012"] for hall in (Hall(fresh(3)), Hall(fresh(MANY))))

    # Timers are kept in order, so that their number is in it by its logarithm.
    assert max(many) <= 2 * max(few)


async def test_the_slice_that_opens_a_node_has_nothing_asked_or_looked_at_that_is_not_its_own() -> None:
    hall = Hall(await told(MANY))
    async with hall.at_work():
        assert hall.asked == []
        hall.cache.looks = 0
        hall.see(piece("1", 1))
        await hall.until_initialized("True", ["1"])

        assert set(hall.asked) == {"/api/v1/nodes/1", "/apis/karpenter.sh/v1/nodeclaims/1/status"}
        # Its NodeClaim and its node, each time that one of them has changed.
        assert hall.cache.looks < MANY / 4
