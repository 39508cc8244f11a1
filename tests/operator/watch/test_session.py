import asyncio
import json
from collections.abc import Iterable

import aiohttp
import pytest
from aiohttp import web

from dra_operating.clock import ManualClock
from dra_operating.http import ignore_lists, no_tls, serving
from dra_operator.kinds import PODS
from dra_operator.watch import session as session_module
from dra_operator.watch.session import open_session
from dra_operator.watch.watches import Watches
from dra_scheduling.model.pods import Pod


def entry(uid: str, version: int) -> dict[str, object]:
    metadata = {"uid": uid, "name": uid, "resourceVersion": str(version), "managedFields": [{"manager": "kubelet"}]}
    return {"metadata": metadata}


def line(kind: str, version: int, **extra: object) -> bytes:
    text = json.dumps({"type": kind, "object": {"metadata": {"uid": "a", "resourceVersion": str(version)}, **extra}})
    return text.replace(": ", ":").encode() + b"\n"


class World:
    """A server with one answer for lists and one for watches, and a session to it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.watches = Watches(self.clock, ignore_lists)
        self.pages: dict[str, dict[str, object]] = {}
        self.chunks: Iterable[bytes] = ()
        self.status = 200
        self.accepted = 0
        self.has_accepted = asyncio.Event()
        self.hold: asyncio.Event | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response(self.pages[request.query.get("continue", "")], status=self.status)
        response = web.StreamResponse(status=self.status)
        await response.prepare(request)
        for chunk in self.chunks:
            await response.write(chunk)
        if self.hold is not None:
            await self.hold.wait()
        return response

    def accept(self) -> None:
        self.accepted += 1
        self.has_accepted.set()

    async def list(self) -> list[object]:
        items: list[object] = []
        async with serving(self.answer) as url, open_session(self.watches, {}, no_tls(), self.accept) as session:
            token = ""
            while True:
                answer = await session.get(f"{url}{PODS.path}", params={"continue": token} if token else {})
                page = await answer.json()
                items += page["items"]
                token = page["metadata"].get("continue", "")
                if not token:
                    return items

    async def watch(self) -> bytes:
        async with serving(self.answer) as url, open_session(self.watches, {}, no_tls(), self.accept) as session:
            response = await session.get(f"{url}{PODS.path}?watch=true")
            seen = b""
            async for chunk in response.content.iter_chunked(1024):
                seen += chunk
            return seen


@pytest.fixture
def world() -> World:
    return World()


async def test_a_list_in_pages_is_noted_as_one(world: World) -> None:
    world.pages = {
        "": {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [entry("a", 1), entry("b", 2)]},
        "more": {"metadata": {"resourceVersion": "9"}, "items": [entry("c", 3)]},
    }

    assert len(await world.list()) == 3

    assert [world.watches[Pod].admit(None, uid, version) for uid, version in (("a", 1), ("b", 2), ("c", 3))] == [
        True
    ] * 3
    assert world.watches[Pod].is_synced
    assert world.watches[Pod].progress == 9


async def test_a_list_without_items_is_an_empty_one(world: World) -> None:
    world.pages = {"": {"metadata": {"resourceVersion": "9"}, "items": None}}

    assert await world.list() == []

    assert world.watches[Pod].is_synced


async def test_fields_of_managers_are_not_passed_on(world: World) -> None:
    world.pages = {"": {"metadata": {"resourceVersion": "9"}, "items": [entry("a", 1)]}}

    (item,) = await world.list()

    assert "managedFields" not in json.dumps(item)


async def test_a_refused_list_is_no_list(world: World) -> None:
    world.status = 403
    world.pages = {"": {"metadata": {}, "items": []}}

    await world.list()

    assert not world.watches[Pod].is_synced
    assert world.accepted == 0


async def test_credentials_that_are_taken_are_noted(world: World) -> None:
    world.pages = {"": {"metadata": {"resourceVersion": "9"}, "items": []}}

    await world.list()

    assert world.accepted == 1


async def test_events_are_passed_on_as_they_are_and_noted(world: World) -> None:
    world.watches[Pod].page([], 5, first=True, last=True)
    world.chunks = [line("ADDED", 6) + line("MODIFIED", 7)]

    assert await world.watch() == line("ADDED", 6) + line("MODIFIED", 7)

    assert world.watches[Pod].progress == 5
    world.watches[Pod].admit("ADDED", "a", 6)
    world.watches[Pod].admit("MODIFIED", "a", 7)
    assert world.watches[Pod].progress == 7


async def test_an_event_in_pieces_is_one_event(world: World) -> None:
    world.watches[Pod].page([], 5, first=True, last=True)
    whole = line("ADDED", 6, spec="x" * 5_000)
    world.chunks = [whole[:40], whole[40:2_000], whole[2_000:] + line("BOOKMARK", 8)[:10], line("BOOKMARK", 8)[10:]]

    assert await world.watch() == whole + line("BOOKMARK", 8)

    world.watches[Pod].admit("ADDED", "a", 6)
    assert world.watches[Pod].progress == 8


async def test_echoes_of_own_writes_are_not_passed_on(world: World) -> None:
    world.watches[Pod].page([], 5, first=True, last=True)
    world.watches[Pod].learn("own", 7)
    world.chunks = [line("ADDED", 6) + line("MODIFIED", 7), line("MODIFIED", 8)]

    assert await world.watch() == line("ADDED", 6) + line("MODIFIED", 8)


async def test_the_version_of_an_event_is_not_found_in_its_annotations(world: World) -> None:
    world.watches[Pod].page([], 5, first=True, last=True)
    copy = json.dumps({"metadata": {"resourceVersion": "999"}})
    event = {"type": "ADDED", "object": {"metadata": {"annotations": {"copy": copy}, "resourceVersion": "6"}}}
    world.chunks = [json.dumps(event, separators=(",", ":")).encode() + b"\n"]

    await world.watch()

    world.watches[Pod].admit("ADDED", "a", 6)
    assert world.watches[Pod].progress == 6


async def test_anything_that_comes_is_a_sign_of_life(world: World) -> None:
    world.clock.advance(100)
    assert "pods" in world.watches.silent(60)
    world.chunks = [line("BOOKMARK", 8)]

    await world.watch()

    assert "pods" not in world.watches.silent(60)


async def test_the_end_of_a_version_is_passed_on(world: World) -> None:
    gone = b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n'
    world.chunks = [gone]

    assert await world.watch() == gone


async def test_a_watch_that_is_refused_as_too_old_ends_as_one_whose_version_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "ERROR_PAUSE", 0)
    world.status = 410
    world.chunks = [b'{"kind":"Status","code":410}']

    assert b'"type":"ERROR"' in (answer := await world.watch())
    assert json.loads(answer)["object"]["code"] == 410


async def test_a_watch_that_is_refused_as_too_old_leaves_the_kind_silent_until_it_is_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "ERROR_PAUSE", 0)
    world.clock.advance(100)
    world.status = 410
    await world.watch()
    assert "pods" in world.watches.silent(60)

    world.status = 200
    world.pages[""] = {"metadata": {"resourceVersion": "7"}, "items": []}
    await world.list()

    assert "pods" not in world.watches.silent(60)


async def test_a_list_that_expires_between_its_pages_ends_so_that_kopf_begins_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "ERROR_PAUSE", 0)
    world.status = 410
    world.pages[""] = {"kind": "Status", "code": 410}

    # After a ClientConnectionError, Kopf asks for the very same page again, for ever.
    with pytest.raises(aiohttp.ClientPayloadError, match="expired"):
        await world.list()


async def test_a_watch_that_is_accepted_where_nothing_changes_is_not_silent(world: World) -> None:
    world.clock.advance(100)

    assert await world.watch() == b""

    assert "pods" not in world.watches.silent(60)


async def test_a_watch_that_has_missed_something_is_broken_off_and_ends_as_one_that_is_too_old(world: World) -> None:
    world.hold = asyncio.Event()
    seen = asyncio.create_task(world.watch())
    await world.has_accepted.wait()

    world.watches[Pod].expire()

    assert b'"code":410' in await asyncio.wait_for(seen, 5)
    assert world.watches.mute() == ("pods",)
    world.watches[Pod].page([], 9, first=True, last=True)
    assert world.watches.mute() == ()


async def test_any_other_error_is_a_connection_that_broke(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "ERROR_PAUSE", 0)
    world.chunks = [b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd is away"}}\n']

    with pytest.raises(aiohttp.ClientPayloadError):
        await world.watch()


async def test_asking_is_noted_even_where_nobody_answers(world: World) -> None:
    world.clock.advance(100)
    async with open_session(world.watches, {}, no_tls(), world.accept) as session:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(f"http://127.0.0.1:1{PODS.path}?watch=true")

    assert "pods" not in world.watches.abandoned(60)
    assert "pods" in world.watches.silent(60)
