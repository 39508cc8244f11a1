import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from dra_kube.api import STRATEGIC_PATCH
from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError
from dra_operating.clock import ManualClock
from dra_operating.http import access_to, serving
from dra_operator.api.client import HttpApi


class Server:
    """Answers from a list, the last answer for ever; notes requests."""

    def __init__(self) -> None:
        self.answers: list[web.Response | None] = [web.json_response({})]
        self.requests: list[tuple[str, str, str, bytes]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        headers = request.headers
        self.requests.append((request.method, request.path_qs, headers.get("Content-Type", ""), await request.read()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return answer


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def api(server: Server) -> AsyncIterator[HttpApi]:
    async with serving(server.answer) as url:
        api = HttpApi(access_to(url, ManualClock()))
        yield api
        await api.close()


def refusal(code: int, **fields: object) -> web.Response:
    return web.json_response({"kind": "Status", "message": "no", **fields}, status=code)


async def test_an_answer_is_decoded(api: HttpApi, server: Server) -> None:
    server.answers = [web.json_response({"kind": "Pod"})]

    assert await api.request("GET", "/api/v1/namespaces/a/pods/b") == {"kind": "Pod"}


async def test_a_patch_says_of_what_type_it_is(api: HttpApi, server: Server) -> None:
    await api.request("PATCH", "/api/v1/namespaces/a/pods/b/status", {"status": {}}, content_type=STRATEGIC_PATCH)

    assert server.requests == [
        ("PATCH", "/api/v1/namespaces/a/pods/b/status", "application/strategic-merge-patch+json", b'{"status":{}}')
    ]


async def test_an_error_says_what_was_tried(api: HttpApi, server: Server) -> None:
    server.answers = [refusal(409, reason="Because")]

    with pytest.raises(ConflictError) as met:
        await api.request("PUT", "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/b/status", {})

    assert str(met.value) == "could not update resourceclaims/status a/b (409 Because): no"


async def test_the_fields_at_fault_are_named(api: HttpApi, server: Server) -> None:
    server.answers = [refusal(422, details={"causes": [{"field": "spec.a"}, {"field": "spec.b"}]})]

    with pytest.raises(ApiError) as met:
        await api.request("POST", "/api/v1/pods", {})

    assert met.value.causes == ("spec.a", "spec.b")


async def test_the_pause_that_a_busy_server_asks_for_is_told(api: HttpApi, server: Server) -> None:
    server.answers = [web.json_response({}, status=429, headers={"Retry-After": "7"})]

    with pytest.raises(ThrottledError) as met:
        await api.request("POST", "/api/v1/pods", {})

    assert met.value.retry_after == 7


async def test_a_broken_connection_leaves_it_unclear_whether_a_write_was_applied(api: HttpApi, server: Server) -> None:
    server.answers = [None]

    with pytest.raises(UnclearError) as met:
        await api.request("POST", "/api/v1/pods", {})

    assert met.value.code == 0
    assert len(server.requests) == 1


async def test_a_read_over_a_connection_that_has_died_is_made_again(api: HttpApi, server: Server) -> None:
    server.answers = [None, web.json_response({"kind": "Pod"})]

    assert await api.request("GET", "/api/v1/namespaces/a/pods/b") == {"kind": "Pod"}


async def test_an_answer_that_is_not_json_is_quoted(api: HttpApi, server: Server) -> None:
    server.answers = [web.Response(text="upstream is tired\n", status=502)]

    with pytest.raises(UnclearError, match="upstream is tired"):
        await api.request("POST", "/api/v1/pods", {})


async def test_nobody_at_home_is_unclear_too() -> None:
    api = HttpApi(access_to("http://127.0.0.1:1", ManualClock()))

    with pytest.raises(UnclearError):
        await api.request("GET", "/api/v1/nodes")

    await api.close()


async def test_a_token_that_changed_is_used_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    tokens = ["first"]
    async with serving(answer) as url:
        access = access_to(url, ManualClock(), lambda: tokens[-1])
        api = HttpApi(access)
        await api.request("GET", "/api/v1/nodes")
        tokens.append("second")
        await access.refresh()
        await asyncio.gather(*(api.request("GET", "/api/v1/nodes") for _ in range(3)))
        await api.close()

    assert seen == ["Bearer first", *["Bearer second"] * 3]
