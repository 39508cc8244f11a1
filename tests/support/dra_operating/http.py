"""A plain HTTP server that answers as a test says."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import kopf
from aiohttp import web

from dra_kube.resources import Resource
from dra_operator.api.credentials import Access
from dra_operator.watch.session import open_session
from dra_operator.watch.watches import Watches

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    """The URL of a server that gives this answer to every request."""
    runner = web.ServerRunner(web.Server(answer), handle_signals=False, shutdown_timeout=0.1)  # type: ignore[arg-type]
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def ignore_lists(_: Resource, __: frozenset[str]) -> None:
    """Nobody has to know."""


def access_to(url: str, clock: Callable[[], float], tokens: Callable[[], str] = lambda: "secret") -> Access:
    """Access with a token that is asked for whenever the credentials are read."""

    def read() -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=url, token=tokens())

    access = Access(partial(open_session, Watches(clock, ignore_lists)), clock=clock, read=read)
    access.load()
    return access


def no_tls() -> ssl.SSLContext:
    """A context for sessions that speak plain HTTP."""
    return ssl.create_default_context()
