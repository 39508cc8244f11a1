"""Requests to the API server over one session, with every other end than success as a `dra_binder.errors.ApiError`."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import aiohttp
import orjson

from dra_binder.errors import ApiError, ConflictError, MissingError, ThrottledError, UnclearError
from dra_operator.access import Access
from dra_operator.api import Json
from dra_operator.metrics import API_REQUESTS

JSON = "application/json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
CONNECTIONS = 64
REQUEST_SECONDS = 10.0
CONNECT_SECONDS = 3.0

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Target(NamedTuple):
    """What a path names."""

    resource: str
    object: str

    @classmethod
    def of(cls, path: str) -> "Target":
        """Return resource (with subresource) and object (with namespace) of a path such as `/api/v1/nodes/n`."""
        parts = path.strip("/").split("/")
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":  # noqa: PLR2004  namespaces/<namespace>/<resource>
            namespace, rest = rest[1], rest[2:]
        resource, name, subresource = (*rest, "", "", "")[:3]
        shown = "/".join(part for part in (namespace, name) if part)
        return cls("/".join(part for part in (resource, subresource) if part), shown)


class HttpApi:
    """Implements `dra_operator.api.Api`. Reads are tried twice, since a kept connection may have died unnoticed."""

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

    async def get(self, path: str) -> Json:
        """Return the object or list."""
        try:
            return await self.request("GET", path)
        except UnclearError:
            return await self.request("GET", path)

    async def create(self, path: str, body: Json) -> Json:
        """Return the object as created in the collection."""
        return await self.request("POST", path, body)

    async def replace(self, path: str, body: Json) -> Json:
        """Return the object as replaced."""
        return await self.request("PUT", path, body)

    async def patch(self, path: str, body: Json) -> Json:
        """Return the object after a strategic merge patch (kinds of the core only)."""
        return await self.request("PATCH", path, body, content_type=STRATEGIC_PATCH)

    async def delete(self, path: str, options: Json) -> Json:
        """Return the object, or a Status, after it was marked for deletion."""
        return await self.request("DELETE", path, options)

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = JSON, accept: str = JSON
    ) -> Json:
        """Return the decoded answer to one request. Raises `ApiError`."""
        target = Target.of(path.partition("?")[0])
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
            raise _error(action, response.status, answer, response.headers)
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


def _error(action: str, code: int, answer: Json, headers: Mapping[str, str]) -> ApiError:
    details: Mapping[str, Any] = answer.get("details") or {}
    told: dict[str, Any] = {
        "reason": str(answer.get("reason") or ""),
        "message": str(answer.get("message") or ""),
        "causes": tuple(str(cause.get("field") or "") for cause in details.get("causes") or ()),
    }
    if code == HTTPStatus.NOT_FOUND:
        return MissingError(action, code, **told)
    if code == HTTPStatus.CONFLICT:
        return ConflictError(action, code, **told)
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        error = ThrottledError(action, code, **told)
        asked = headers.get("Retry-After") or str(details.get("retryAfterSeconds") or "1")
        error.retry_after = float(asked) if asked.isdecimal() else 1.0
        return error
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UnclearError(action, code, **told)
    return ApiError(action, code, **told)
