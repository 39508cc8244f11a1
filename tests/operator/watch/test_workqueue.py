import asyncio
import json
import subprocess
import sys

import pytest

from dra_kube.errors import ConflictError, ThrottledError, UnclearError
from dra_operating.loop import running, settle
from dra_operator.watch.workqueue import WorkQueue

FAILING = """
import asyncio
from dra_operator.logs import configure
from dra_operator.settings import Settings
from dra_operator.watch.workqueue import WorkQueue

async def main():
    queue = WorkQueue("kwok")
    async def fail(key):
        raise RuntimeError(key)
    queue.add("a")
    try:
        await asyncio.wait_for(queue.work(fail), 0.1)
    except TimeoutError:
        queue.clear()

configure(Settings.from_environment({"DRA_LOG_FORMAT": "json"}))
asyncio.run(main())
"""


class Looks:
    """Records what is looked at; keys wait for `gate` where that is shut, and fail as they are told."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.errors: dict[str, Exception] = {}

    async def __call__(self, key: str) -> None:
        self.seen.append(key)
        await self.gate.wait()
        if key in self.errors:
            raise self.errors.pop(key)


async def test_a_key_that_waits_is_looked_at_once() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    for key in ("a", "b", "a"):
        queue.add(key)
    async with running(queue.work(looks)):
        await settle()

    assert looks.seen == ["a", "b"]


async def test_what_happens_meanwhile_is_looked_at_afterwards_and_never_twice_at_once() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    looks.gate.clear()
    async with running(queue.work(looks), queue.work(looks)):
        queue.add("a")
        await settle()
        queue.add("a")
        queue.add("a")
        await settle()
        assert looks.seen == ["a"]
        looks.gate.set()
        await settle()

    assert looks.seen == ["a", "a"]


@pytest.mark.parametrize(
    "error",
    [ConflictError("patch", 409), UnclearError("patch", 500), RuntimeError("of our own")],
    ids=["a conflict", "an unclear end", "a bug"],
)
async def test_a_failure_concerns_its_key_alone_and_is_tried_again(error: Exception) -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    looks.errors["a"] = error
    async with running(queue.work(looks)):
        queue.add("a")
        queue.add("b")
        await settle()
        assert looks.seen == ["a", "b"]
        await asyncio.sleep(0.3)

    assert looks.seen == ["a", "b", "a"]


async def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    looks.errors["a"] = error = ThrottledError("patch", 429)
    error.retry_after = 3_600.0
    async with running(queue.work(looks)):
        queue.add("a")
        await settle()
        await asyncio.sleep(0.5)

    assert looks.seen == ["a"]


async def test_the_earliest_time_counts() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    queue.add_in("a", 3_600.0)
    queue.add_in("a", 0.0)
    queue.add_in("a", 1_800.0)
    async with running(queue.work(looks)):
        await asyncio.sleep(0.05)

    assert looks.seen == ["a"]


async def test_what_is_forgotten_or_cleared_is_not_looked_at() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    queue.add_in("a", 0.0)
    queue.forget("a")
    queue.add_in("b", 0.0)
    queue.add("c")
    queue.clear()
    async with running(queue.work(looks)):
        await asyncio.sleep(0.05)

    assert looks.seen == []
    assert len(queue) == 0


async def test_an_end_waits_for_what_is_being_looked_at_and_takes_up_nothing_more() -> None:
    queue, looks = WorkQueue[str]("kwok"), Looks()
    looks.gate.clear()
    async with running(queue.work(looks)):
        queue.add("a")
        await settle()
        ending = asyncio.create_task(queue.finish(5.0))
        await settle()
        queue.add("b")
        assert not ending.done()
        looks.gate.set()
        await ending

    assert looks.seen == ["a"]


def test_a_failure_is_logged_under_the_name_of_the_role_that_looks() -> None:
    shown = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, check=True, timeout=60)
    (line,) = (json.loads(line) for line in shown.stderr.splitlines())

    assert (line["logger"], line["key"]) == ("dra_operator.kwok", "a")
