"""HTTP sessions for Kopf that tell `dra_operator.watch.watches` what goes over the wire.

Kopf accepts a session of the operator's own (`kopf.AiohttpSession`). Its responses decode lists with orjson, several
times faster than Kopf would, and note what was listed; of watches they note versions, bookmarks and signs of life, and
pass whole lines on, but for the echoes of own writes: Kopf takes longer over an event than everything else here.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson
from aiohttp.connector import Connection

from dra_kube.resources import Resource
from dra_operator.kinds import BY_PATH
from dra_operator.logs import log
from dra_operator.metrics import WATCH_EVENTS
from dra_operator.watch.watches import Watch, Watches

ERROR = b'{"type":"ERROR"'
BOOKMARK = b'{"type":"BOOKMARK"'
GONE = b'"code":410'
GONE_LINE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'
VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
# What Kopf would answer by stopping the operator, a reconnection mends; not in a tight loop though.
ERROR_PAUSE = 1.0

_log = log("session")


def open_session(
    watches: Watches, headers: Mapping[str, str], tls: ssl.SSLContext, accepted: Callable[[], None]
) -> aiohttp.ClientSession:
    """Return a session for Kopf's lists and watches; `accepted` is called when the server has taken the credentials.

    The headers of the session may be changed while it is in use.
    """

    class ObservedResponse(_Response):
        book = watches
        on_success = staticmethod(accepted)

    trace = aiohttp.TraceConfig()

    async def requested(_: aiohttp.ClientSession, __: SimpleNamespace, start: aiohttp.TraceRequestStartParams) -> None:
        resource = BY_PATH.get(start.url.path)
        if resource is not None:
            watches[resource.kind].attempted()

    trace.on_request_start.append(requested)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        headers=headers,
        response_class=ObservedResponse,
        trace_configs=[trace],
    )


class _Response(aiohttp.ClientResponse):
    book: Watches
    on_success: Callable[[], None]

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        await super().start(connection)
        if self.status == HTTPStatus.OK:
            self.on_success()
        if self.status == HTTPStatus.NOT_FOUND and self.url.path in BY_PATH:
            # The CustomResourceDefinition was taken away, and may come back: Kopf would stop, but waits for a server.
            raise aiohttp.ClientConnectionError(f"{self.url.path} is not served")
        if self.status == HTTPStatus.GONE and self.url.path in BY_PATH:
            return await self._expired()
        watch = self._watch()
        if watch is not None and "watch" in self.url.query:
            # The server sends no bookmark while nothing changes: that it accepts a watch is then all it ever says.
            watch.opened(self.close)
            self.content = _Stream(self.content, watch)  # type: ignore[assignment]
        return self

    async def _expired(self) -> aiohttp.ClientResponse:
        """Let Kopf list anew: as a status, 410 would end the process, and only in the stream it would not."""
        if "watch" not in self.url.query:
            # Kopf would ask for the same page for ever after a broken connection; after a broken body it begins anew.
            _log.warning("a list has expired before its last page", path=self.url.path)
            await asyncio.sleep(ERROR_PAUSE)
            raise aiohttp.ClientPayloadError(f"the list of {self.url.path} has expired")
        _log.warning("the server refused a watch as too old", path=self.url.path)
        self.status = HTTPStatus.OK
        self.content = _Expired(self.content)  # type: ignore[assignment]
        return self

    async def json(self, **options: Any) -> Any:  # noqa: ANN401  the signature of aiohttp
        watch = self._watch()
        if watch is None:
            return await super().json(**options)
        page = orjson.loads(await self.read())
        # Kopf does not expect null.
        items = page["items"] = page.get("items") or []
        metadata = page.get("metadata") or {}
        for item in items:
            item["metadata"].pop("managedFields", None)
        watch.page(
            ((item["metadata"]["uid"], version_of(item)) for item in items),
            version_of(page),
            first="continue" not in self.url.query,
            last=not metadata.get("continue"),
        )
        return page

    def _watch(self) -> Watch | None:
        resource: Resource | None = BY_PATH.get(self.url.path)
        if resource is None or self.status != HTTPStatus.OK or self.method != "GET":
            return None
        return self.book[resource.kind]


class _Expired:
    """The body of a watch that cannot go on from its version, whatever the server sends."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has
        return getattr(self._stream, name)

    async def iter_chunked(self, _: int) -> AsyncIterator[bytes]:
        await asyncio.sleep(ERROR_PAUSE)
        yield GONE_LINE


class _Stream:
    """The body of a watch, line by line; everything else is the real stream's business."""

    def __init__(self, stream: aiohttp.StreamReader, watch: Watch) -> None:
        self._stream = stream
        self._observed = watch

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has
        return getattr(self._stream, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        try:
            async for lines in self._lines(size):
                yield lines
        except aiohttp.ClientError:
            if not self._observed.is_mute:
                raise
        if self._observed.is_mute:
            # Broken off here: Kopf would go on watching from the version that it has, and is to list anew.
            yield GONE_LINE

    async def _lines(self, size: int) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._stream.iter_chunked(size):
            self._observed.spoke()
            lines, newline, rest = (rest + chunk).rpartition(b"\n")
            if not newline:
                continue
            kept = [line for line in lines.split(b"\n") if self._goes_on(line)]
            if kept and (failure := _failure(kept[-1])):
                _log.warning("the server ended a watch", kind=self._observed.resource.plural, answer=failure)
                await asyncio.sleep(ERROR_PAUSE)
                raise aiohttp.ClientPayloadError(failure)
            if kept:
                yield b"\n".join(kept) + newline

    def _goes_on(self, line: bytes) -> bool:
        found = None if line.startswith(ERROR) else VERSION.search(line)
        if found is None:
            return True
        if line.startswith(BOOKMARK):
            self._observed.bookmark(int(found[1]))
            return True
        if self._observed.changed(int(found[1])):
            return True
        WATCH_EVENTS.labels(self._observed.resource.plural, "echo").inc()
        return False


def _failure(line: bytes) -> str:
    """Return what a server says that ends a watch, if that is not simply that its version is too old."""
    return line[:500].decode(errors="replace") if line.startswith(ERROR) and GONE not in line else ""


def version_of(raw: Mapping[str, Any]) -> int:
    """Return the resource version of a plain object or list as a number; 0 where it has none."""
    text = (raw.get("metadata") or {}).get("resourceVersion") or "0"
    return int(text) if text.isdecimal() else 0
