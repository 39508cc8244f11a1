from collections.abc import Awaitable, Callable
from typing import cast

import kopf
import pytest

from dra_operating.clock import ManualClock
from dra_operator.kinds import WATCHED
from dra_operator.runtime import Runtime
from dra_operator.settings import Settings
from dra_operator.watch.handlers import stop
from dra_operator.watch.tuning import WATCH_SECONDS, Forever, NoDiff, NoProgress, tune


class Process:
    """A runtime whose end is counted instead of happening."""

    def __init__(self, **environment: str) -> None:
        self.clock = ManualClock()
        self.stops = 0
        self.runtime = Runtime(Settings.from_environment(environment), stop_process=self._stop, clock=self.clock)

    def _stop(self) -> None:
        self.stops += 1


@pytest.fixture
def process() -> Process:
    return Process()


async def clean_up(process: Process) -> None:
    """As Kopf does in the end."""
    handler = cast("Callable[..., Awaitable[None]]", stop)
    await handler(memo=kopf.Memo(runtime=process.runtime))


def test_silence_alone_does_not_end_the_process(process: Process) -> None:
    process.clock.advance(3_600)
    for resource in WATCHED:
        process.runtime.watches[resource.kind].attempted()

    process.runtime.look_at_watches()

    assert process.stops == 0


def test_a_short_time_of_silence_ends_no_process_whose_watches_are_in_order() -> None:
    process = Process(DRA_WATCH_SILENCE_SECONDS="5")
    process.clock.advance(WATCH_SECONDS)

    process.runtime.look_at_watches()

    assert process.stops == 0


def test_a_kind_that_nobody_watches_any_more_ends_the_process(process: Process) -> None:
    process.clock.advance(3_600)
    for resource in WATCHED[1:]:
        process.runtime.watches[resource.kind].attempted()

    process.runtime.look_at_watches()
    process.runtime.look_at_watches()

    assert process.stops == 1
    assert process.runtime.failure == f"nobody watches {WATCHED[0].plural} any more"


async def test_a_process_that_failed_does_not_end_as_if_it_had_not(process: Process) -> None:
    process.runtime.fail("for a reason")

    with pytest.raises(kopf.PermanentError, match="for a reason"):
        await clean_up(process)


async def test_a_process_that_was_told_to_stop_ends_well(process: Process) -> None:
    await clean_up(process)

    assert process.runtime.problems() == ("stopping",)


def test_kopf_keeps_nothing_on_watched_objects() -> None:
    settings = kopf.OperatorSettings()
    settings.peering.clusterwide = True

    tune(settings)

    body = kopf.Body({"metadata": {"name": "p"}, "spec": {"a": 1}})
    assert isinstance(settings.persistence.diffbase_storage, NoDiff)
    assert isinstance(settings.persistence.progress_storage, NoProgress)
    assert settings.persistence.diffbase_storage.build(body=body) == {}
    assert settings.persistence.diffbase_storage.fetch(body=body) is None
    assert not settings.posting.enabled


def test_an_api_server_that_is_away_is_waited_for_without_end() -> None:
    pauses = iter(Forever())

    assert sum(next(pauses) for _ in range(1_000)) > 3_600
