"""A reverse proxy before kube-apiserver that lets everything pass, except what a test tells it to disturb."""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

from dra_cluster.faults import Action, Match, Rule, reset
from dra_controlplane.certificates import Authority

START_SECONDS = 60.0
CLOSE_SECONDS = 0.25
DROPPED = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive", "host", "date"})
GONE = {"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410}}


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A write that came by; `status` is what the client was told, 0 if nothing."""

    moment: float
    method: str
    path: str
    body: bytes
    status: int


class Stream:
    """A watch that is under way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_frozen = False
        self.is_gone = False


class Proxy:
    """Runs in a thread of its own, from entering to leaving."""

    def __init__(self, upstream: str, ca: Path, folder: Path) -> None:
        authority = Authority(folder)
        certificate, key = authority.server("proxy")
        self.ca = authority.certificate
        self._upstream = upstream
        self._trust = ssl.create_default_context(cafile=str(ca))
        self._identity = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._identity.load_cert_chain(certificate, key)
        self._rules: list[Rule] = []
        self._writes: list[Recorded] = []
        self._streams: set[Stream] = set()
        self._port = 0
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(START_SECONDS):
            raise TimeoutError("the proxy did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"https://127.0.0.1:{self._port}"

    def disturb(self, match: Match, action: Action, *, skip: int = 0, times: int = 1) -> Rule:
        """Adds a rule; rules added earlier come first."""
        rule = Rule(match=match, action=action, skip=skip, times=times)
        self._rules.append(rule)
        return rule

    def calm(self) -> None:
        """Removes every rule."""
        self._rules.clear()

    @contextmanager
    def disturbed(self, match: Match, action: Action) -> Iterator[Rule]:
        """A rule for every matching request, for as long as the block lasts."""
        rule = self.disturb(match, action, times=0)
        try:
            yield rule
        finally:
            self._rules.remove(rule)

    def writes(self, match: Match | None = None) -> list[Recorded]:
        """The writes that came by, oldest first."""
        wanted = match or Match()
        return [one for one in list(self._writes) if wanted.fits(one.method, one.path, one.body)]

    def freeze_watches(self, path: str = "") -> int:
        """Leaves watches open and silent, as a firewall that forgot them would; returns how many. New ones work."""
        return self._mark("is_frozen", path)

    def end_watches(self, path: str = "") -> int:
        """Tells watches that their version is too old and ends them; returns how many."""
        return self._mark("is_gone", path)

    @contextmanager
    def silenced(self, path: str) -> Iterator[None]:
        """Nobody hears of a kind for as long as the block lasts, by a watch or a list; then all watches begin anew."""
        with self.disturbed(Match(method="GET", path=rf"{path}\?(limit|.*watch=)"), reset()):
            self.freeze_watches(path)
            try:
                yield
            finally:
                self.end_watches(path)

    def _mark(self, attribute: str, path: str) -> int:
        chosen = [stream for stream in list(self._streams) if path in stream.path]
        for stream in chosen:
            setattr(stream, attribute, True)
        return len(chosen)

    async def _serve(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._trust)
        async with aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        ) as session:
            self._session = session
            runner = web.ServerRunner(web.Server(self._handle), handle_signals=False, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._identity)
            await site.start()
            self._port = runner.addresses[0][1]
            self._started.set()
            await self._over.wait()
            await runner.cleanup()
        # Encrypted connections take a moment to close.
        await asyncio.sleep(CLOSE_SECONDS)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = str(request.rel_url)
        exchange = _Passage(self._session, self._upstream, request, await request.read())
        rule = next((one for one in self._rules if one.takes(request.method, path, exchange.body)), None)
        if rule is None and request.method == "GET" and "watch" in request.rel_url.query:
            return await self._stream(exchange, path)
        response: web.StreamResponse | None = None
        try:
            response = await (rule.action(exchange) if rule is not None else exchange.forward())
        finally:
            if request.method != "GET":
                self._record(exchange, path, 0 if response is None or exchange.is_reset else response.status)
        return response

    def _record(self, exchange: "_Passage", path: str, status: int) -> None:
        recorded = Recorded(
            moment=time.monotonic(), method=exchange.request.method, path=path, body=exchange.body, status=status
        )
        self._writes.append(recorded)

    async def _stream(self, exchange: "_Passage", path: str) -> web.StreamResponse:
        stream = Stream(path)
        self._streams.add(stream)
        try:
            return await exchange.stream(stream)
        finally:
            self._streams.discard(stream)


class _Passage:
    """One request, passed on or not."""

    def __init__(self, session: aiohttp.ClientSession, upstream: str, request: web.BaseRequest, body: bytes) -> None:
        self.request = request
        self.body = body
        self.is_reset = False
        self._session = session
        self._url = URL(upstream + str(request.rel_url), encoded=True)

    async def forward(self) -> web.StreamResponse:
        try:
            async with self._ask() as answer:
                content = await answer.read()
                return web.Response(status=answer.status, body=content, headers=_kept(answer.headers))
        except aiohttp.ClientError:
            return self.reset()

    def reset(self) -> web.StreamResponse:
        self.is_reset = True
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response(status=502)

    async def hold(self) -> web.StreamResponse:
        response = web.StreamResponse(status=200, headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(self.request)
        # Nothing tells when a client has gone.
        while self.request.transport is not None and not self.request.transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return response

    async def stream(self, stream: Stream) -> web.StreamResponse:
        try:
            async with self._ask() as answer:
                response = web.StreamResponse(status=answer.status, headers=_kept(answer.headers))
                response.enable_chunked_encoding()
                await response.prepare(self.request)
                await self._pump(answer, response, stream)
        except (aiohttp.ClientError, ConnectionError):
            return self.reset()
        return response

    async def _pump(self, answer: aiohttp.ClientResponse, response: web.StreamResponse, stream: Stream) -> None:
        reading = asyncio.ensure_future(answer.content.readany())
        try:
            while self.request.transport is not None and not self.request.transport.is_closing():
                if stream.is_gone:
                    await response.write(json.dumps(GONE, separators=(",", ":")).encode() + b"\n")
                    return
                if stream.is_frozen:
                    await asyncio.sleep(0.05)
                    continue
                done, _ = await asyncio.wait([reading], timeout=0.1)
                if not done or stream.is_frozen:
                    continue
                chunk = reading.result()
                if not chunk:
                    return
                await response.write(chunk)
                reading = asyncio.ensure_future(answer.content.readany())
        finally:
            reading.cancel()

    def _ask(self) -> "aiohttp.client._RequestContextManager":
        headers = {key: value for key, value in self.request.headers.items() if key.lower() not in DROPPED}
        return self._session.request(self.request.method, self._url, headers=headers, data=self.body or None)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() not in DROPPED}
