"""Requests to the API server over one session, with every other end than success as a `dra_kube.errors.ApiError`."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

import aiohttp
import orjson

from dra_kube.api import JSON, Json
from dra_kube.errors import UnclearError, error_of
from dra_kube.resources import Target
from dra_kube.retry import Backoff, RetryPolicy, retry
from dra_operator.api.credentials import Access
from dra_operator.metrics import API_REQUESTS

CONNECTIONS = 64
REQUEST_SECONDS = 10.0
CONNECT_SECONDS = 3.0
READS = RetryPolicy(attempts=2, backoff=Backoff(0.0, 0.0), repeated=(UnclearError,))
"""A kept connection may have died unnoticed."""

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class HttpApi:
    """`dra_kube.api.Api` over HTTP."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls()),
            headers={"User-Agent": "dra-operator", **access.headers()},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=CONNECT_SECONDS),
        )
        access.adopt(self._session)
        self.learn: Callable[[Json], None] = _ignore
        """Called with the answer to every write."""

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = JSON, accept: str = JSON
    ) -> Json:
        """Return the decoded answer. Raises `ApiError`."""

        async def send() -> Json:
            return await self._send(method, path, body, content_type=content_type, accept=accept)

        return await retry(send, READS, asyncio.sleep) if method == "GET" else await send()

    async def _send(self, method: str, path: str, body: Json | None, *, content_type: str, accept: str) -> Json:
        target = Target.of(path)
        action = f"{VERBS[method]} {target.resource} {target.object}".strip()
        payload = None if body is None else orjson.dumps(body)
        try:
            async with self._session.request(
                method,
                self._access.server + path,
                data=payload,
                headers={"Content-Type": content_type, "Accept": accept},
            ) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            API_REQUESTS.labels(VERBS[method], target.resource, "none").inc()
            raise UnclearError(action, 0, reason=type(error).__name__, message=str(error)) from error
        API_REQUESTS.labels(VERBS[method], target.resource, response.status).inc()
        answer = _decoded(content)
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise error_of(action, response.status, answer, response.headers)
        if method not in {"GET", "DELETE"}:
            self.learn(answer)
        return answer


def _ignore(_: Json) -> None:
    """Learn nothing."""


def _decoded(content: bytes) -> Json:
    try:
        answer = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError:
        answer = {"message": content[:200].decode(errors="replace").strip()}
    return answer if isinstance(answer, dict) else {"value": answer}
