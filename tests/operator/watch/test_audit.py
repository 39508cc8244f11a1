import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from dra_builders.values import pod
from dra_kube.api import Json
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.http import access_to, ignore_lists, serving
from dra_operating.objects import at, raw
from dra_operator.api.client import HttpApi
from dra_operator.api.events import Recorder
from dra_operator.kinds import PODS
from dra_operator.watch.audit import Audit
from dra_operator.watch.cache import Cache
from dra_operator.watch.intake import BadInput, Intake
from dra_operator.watch.watches import Watches
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject


class World:
    """Pods on a server, and a cache that may know something else."""

    def __init__(self, server: dict[str, Json], api: HttpApi, listed: asyncio.Event) -> None:
        self.server = server
        self.cache = Cache()
        self.listed = listed
        self.told: list[str] = []
        self.watches = watches = Watches(ManualClock(), ignore_lists)
        watches[Pod].page([], 0, first=True, last=True)
        recorder = Recorder(ApiInMemory(), "tester", ManualClock())
        self.intake = Intake(self.cache, watches, BadInput(recorder), [self])
        self.audit = Audit(api, self.cache, watches, self.intake)

    def changed(self, value: KubernetesObject) -> None:
        self.told.append(f"changed {value.metadata.name}")

    def removed(self, value: KubernetesObject) -> None:
        self.told.append(f"removed {value.metadata.name}")

    def on_server(self, value: Pod, version: int) -> None:
        self.server[value.metadata.name] = raw(value, version)

    async def look(self, meanwhile: Callable[[], object] = lambda: None) -> int:
        looking = asyncio.create_task(self.audit.look_at(PODS, patience=0.1))
        await self.listed.wait()
        meanwhile()
        return await looking


@pytest.fixture
async def world() -> AsyncIterator[World]:
    server: dict[str, Json] = {}
    listed = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/pods")[2].strip("/")
        if name:
            return web.json_response(server.get(name, {}), status=200 if name in server else 404)
        first = sorted(server)[: 1 if "continue" not in request.query else None]
        page = first if "continue" not in request.query else sorted(server)[1:]
        more = {"continue": "a token/with=signs"} if "continue" not in request.query and len(server) > 1 else {}
        assert request.headers["Accept"].startswith("application/json;as=PartialObjectMetadataList")
        response = web.json_response({"metadata": more, "items": [server[one] for one in page]})
        if not more:
            listed.set()
        return response

    async with serving(answer) as url:
        api = HttpApi(access_to(url, ManualClock()))
        yield World(server, api, listed)
        await api.close()


async def test_a_cache_that_is_true_needs_no_repair(world: World) -> None:
    for name in "abc":
        world.on_server(pod(name), 1)
        world.cache.put(at(pod(name), 1))

    assert await world.look() == 0
    assert world.told == []


async def test_an_object_that_was_missed_is_found(world: World) -> None:
    for name in "abc":
        world.on_server(pod(name), 1)
    world.cache.put(at(pod("a"), 1))

    assert await world.look() == 2
    assert sorted(world.told) == ["changed b", "changed c"]


async def test_a_kind_of_which_something_was_missed_is_listed_anew(world: World) -> None:
    world.on_server(at(pod("a"), 3), 3)

    assert await world.look() == 1

    assert world.watches.mute() == ("pods",)


def test_a_watch_without_news_is_looked_at_soon_and_then_less_and_less_often() -> None:
    clock = ManualClock()
    watches = Watches(clock, ignore_lists, [PODS])
    cache = Cache()
    intake = Intake(cache, watches, BadInput(Recorder(ApiInMemory(), "tester", clock)), [])
    audit = Audit(ApiInMemory(), cache, watches, intake, clock=clock, quiet_seconds=10.0)
    looks = []
    for second in range(1, 200):
        clock.advance(1.0)
        if audit.due():
            looks.append(second)

    assert looks == [10, 30, 70, 150]
    watches[Pod].bookmark(7)
    clock.advance(10.0)
    assert audit.due() == (PODS,)


async def test_an_object_that_went_unnoticed_is_gone(world: World) -> None:
    world.cache.put(at(pod("a"), 1))

    assert await world.look() == 1
    assert world.told == ["removed a"]


async def test_a_change_that_was_missed_is_taken_over(world: World) -> None:
    world.cache.put(at(pod("a"), 1))
    world.on_server(pod("a", node_name="n1"), 2)

    assert await world.look() == 1
    current = world.cache.get(Pod, ObjectKey("default", "a"))
    assert current is not None
    assert current.spec.node_name == "n1"


async def test_what_is_only_on_its_way_is_left_to_the_watch(world: World) -> None:
    world.on_server(pod("a"), 2)
    world.cache.put(at(pod("a"), 1))

    assert await world.look(meanwhile=lambda: world.cache.put(at(pod("a"), 2))) == 0
    assert world.told == []


async def test_what_keeps_changing_is_left_to_the_watch(world: World) -> None:
    world.on_server(pod("a"), 2)
    world.cache.put(at(pod("a"), 1))

    assert await world.look(meanwhile=lambda: world.on_server(pod("a"), 3)) == 0


async def test_an_object_that_cannot_be_used_is_not_missed(world: World) -> None:
    world.on_server(pod("a"), 1)
    world.server["a"]["spec"]["tolerations"] = [{"tolerationSeconds": "soon"}]
    world.intake.observe(Pod, "ADDED", world.server["a"])

    assert await world.look() == 0
