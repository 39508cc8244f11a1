"""What can go wrong with one request between a client and the API server."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from dra_controlplane.waiting import PATIENCE

HOLD_SECONDS = 120.0
BESIDES = frozenset({"events", "leases", "selfsubjectaccessreviews"})
REASONS = {401: "Unauthorized", 409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}


class Exchange(Protocol):
    """One request on its way."""

    async def forward(self) -> web.StreamResponse:
        """Let the server have the request, and return its answer."""
        ...

    def reset(self) -> web.StreamResponse:
        """Break the connection to the client."""
        ...

    async def hold(self) -> web.StreamResponse:
        """Accept the request and answer nothing for as long as the client waits."""
        ...


Action = Callable[[Exchange], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which requests are meant: an empty text means any; `path` includes the query, both are regular expressions."""

    method: str = ""
    path: str = ""
    body: str = ""

    def fits(self, method: str, path: str, body: bytes) -> bool:
        """Whether a request is meant."""
        return (
            self.method in {"", method}
            and re.search(self.path, path) is not None
            and re.search(self.body.encode(), body) is not None
        )


class Decisive(Match):
    """Any write but those that nothing depends on afterwards: events, leases, and questions about rights."""

    def fits(self, method: str, path: str, body: bytes) -> bool:
        """Whether a request is meant."""
        return method != "GET" and not BESIDES & set(path.partition("?")[0].split("/"))


@dataclass(kw_only=True)
class Rule:
    """What happens to the requests that match: the first `skip` pass, the next `times` are hit, all if that is 0."""

    match: Match
    action: Action
    skip: int = 0
    times: int = 1
    seen: int = 0
    hits: int = 0
    _hit: threading.Event = field(default_factory=threading.Event)

    def takes(self, method: str, path: str, body: bytes) -> bool:
        """Whether this request is one to be hit; counts it."""
        if (self.times and self.hits >= self.times) or not self.match.fits(method, path, body):
            return False
        self.seen += 1
        if self.seen <= self.skip:
            return False
        self.hits += 1
        self._hit.set()
        return True

    def wait(self, seconds: float = PATIENCE) -> None:
        """Waits for the first hit.

        Raises:
            TimeoutError: nothing was hit in time.
        """
        if not self._hit.wait(seconds):
            raise TimeoutError(f"no request matched {self.match} within {seconds:g} s")


def answer(code: int, *, retry_after: int = 0) -> Action:
    """Refuses: the server never sees the request."""

    async def act(_: Exchange) -> web.StreamResponse:
        return refusal(code, retry_after=retry_after)

    return act


def answer_after_applying(code: int) -> Action:
    """Lets the server do it and says that it failed."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        await exchange.forward()
        return refusal(code)

    return act


def passing() -> Action:
    """Lets the request pass: its rule only tells that it was made."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        return await exchange.forward()

    return act


def accept_and_mute() -> Action:
    """Accepts a watch and says nothing on it ever, not even a bookmark, until the client gives up."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        return await exchange.hold()

    return act


def reset() -> Action:
    """Breaks the connection; the server never sees the request."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        return exchange.reset()

    return act


def reset_after_applying() -> Action:
    """Lets the server do it and breaks the connection instead of saying so."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        await exchange.forward()
        return exchange.reset()

    return act


class Hold:
    """Stops a request before or after the server has seen it, until the test decides what becomes of it."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._decided = threading.Event()
        self._is_dropped = False

    def before(self) -> Action:
        """Stops it on the way there; a dropped one never arrives."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            await self._wait()
            return exchange.reset() if self._is_dropped else await exchange.forward()

        return act

    def after(self) -> Action:
        """Stops the answer on the way back; a dropped one is lost."""

        async def act(exchange: Exchange) -> web.StreamResponse:
            response = await exchange.forward()
            await self._wait()
            return exchange.reset() if self._is_dropped else response

        return act

    def reached(self, seconds: float = PATIENCE) -> None:
        """Waits until a request is held.

        Raises:
            TimeoutError: none came in time.
        """
        if not self._reached.wait(seconds):
            raise TimeoutError(f"no request to hold came within {seconds:g} s")

    def release(self) -> None:
        """Lets the request go on."""
        self._decided.set()

    def drop(self) -> None:
        """Breaks its connection."""
        self._is_dropped = True
        self._decided.set()

    async def _wait(self) -> None:
        self._reached.set()
        await asyncio.to_thread(self._decided.wait, HOLD_SECONDS)


def refusal(code: int, *, retry_after: int = 0) -> web.Response:
    """An answer as an API server words it."""
    status = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": REASONS.get(code, ""),
        "message": f"injected {code}",
        "code": code,
    }
    headers = {"Retry-After": str(retry_after)} if retry_after else {}
    return web.json_response(status, status=code, headers=headers)
