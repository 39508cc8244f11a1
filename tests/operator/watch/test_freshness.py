import asyncio

import pytest

from dra_kube.api import Json
from dra_operating.requests import RequestsInMemory
from dra_operator.kinds import NODES, PODS
from dra_operator.watch.cache import Cache
from dra_operator.watch.freshness import AT_ONCE, Freshness, on_node
from dra_scheduling.model.pods import Node
from dra_scheduling.wire import read_as

NODE = "/api/v1/nodes/n"
ON_NODE = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"


def a_node(*, version: int = 5, uid: str = "u", name: str = "n") -> Json:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}, "spec": {}}


def freshness_of(server: RequestsInMemory, *seen: Json) -> Freshness:
    cache = Cache()
    for one in seen:
        cache.put(read_as(Node, one))
    return Freshness(server, cache)


@pytest.mark.parametrize(
    ("seen", "is_seen"),
    [
        ((), False),
        ((a_node(version=4),), False),
        ((a_node(uid="another"),), False),
        ((a_node(),), True),
        ((a_node(version=6),), True),
    ],
    ids=["absent", "older", "another of its name", "as it is", "newer"],
)
async def test_an_object_is_seen_when_it_is_known_as_it_is_now(seen: tuple[Json, ...], *, is_seen: bool) -> None:
    server = RequestsInMemory(lists={NODES.path: [a_node()]})
    server.put(NODE, a_node())

    assert await freshness_of(server, *seen).has(NODES, "n") is is_seen
    assert await freshness_of(server, *seen).has_all(NODES) is is_seen


async def test_what_is_not_there_need_not_be_seen() -> None:
    known = freshness_of(RequestsInMemory(), a_node())

    assert await known.has(NODES, "n")
    assert await known.has_all(NODES)


async def test_what_cannot_be_read_is_never_in_the_cache_and_need_not_be_seen() -> None:
    unreadable = {**a_node(), "spec": {"taints": "none"}}

    assert await freshness_of(RequestsInMemory(lists={NODES.path: [unreadable]})).has_all(NODES)


async def test_only_what_is_asked_for_need_be_seen() -> None:
    pods: list[Json] = [{"metadata": {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "1"}}]
    server = RequestsInMemory(lists={ON_NODE: pods, NODES.path: [a_node(name="other")]})

    assert not await freshness_of(server).has_all(PODS, on_node("n"))
    assert await freshness_of(server).has_all(PODS, on_node("another"))
    assert await freshness_of(server).has_all(NODES, includes=lambda one: one["metadata"]["name"] == "n")


class Slow(RequestsInMemory):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__(lists={NODES.path: [a_node()]})
        self.asked = 0
        self.is_open = asyncio.Event()

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        self.asked += 1
        await self.is_open.wait()
        return await super().request(method, path, body, content_type=content_type)


async def waiting(known: Freshness, *selectors: str) -> list[asyncio.Task[bool]]:
    questions = []
    for selector in selectors:
        questions.append(asyncio.create_task(known.has_all(NODES, selector)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    return questions


async def test_many_who_wait_for_a_list_share_it_and_none_gets_one_that_is_older_than_the_question() -> None:
    server = Slow()
    questions = await waiting(freshness_of(server, a_node()), *[""] * 20)
    assert server.asked == 1
    server.is_open.set()

    assert all(await asyncio.gather(*questions))
    assert server.asked == 2


async def test_only_so_many_lists_are_under_way() -> None:
    server = Slow()
    questions = await waiting(freshness_of(server), *(on_node(str(number)) for number in range(AT_ONCE + 3)))
    assert server.asked == AT_ONCE
    server.is_open.set()

    assert all(await asyncio.gather(*questions))
    assert server.asked == AT_ONCE + 3
