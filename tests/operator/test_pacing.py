import asyncio

from dra_operating.clock import ManualClock
from dra_operator.pacing import LEVEL_SECONDS, LevelGate, TokenBucket


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    clock = ManualClock()
    bucket = TokenBucket(rate=2, burst=3, clock=clock)

    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    clock.advance(0.5)
    assert [bucket.take() for _ in range(2)] == [True, False]


def test_rest_does_not_add_up_beyond_the_burst() -> None:
    clock = ManualClock()
    bucket = TokenBucket(rate=2, burst=3, clock=clock)
    clock.advance(3_600)

    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_the_wait_is_until_the_next_may_go() -> None:
    clock = ManualClock()
    bucket = TokenBucket(rate=2, burst=1, clock=clock)
    assert bucket.wait() == 0
    bucket.take()

    assert bucket.wait() == 0.5


async def test_news_is_waited_for_until_it_is_read() -> None:
    answers = [False, False, True]

    await LevelGate(lambda: answers.pop(0)).wait()

    assert answers == []


async def test_all_who_wait_look_together() -> None:
    looks = 0

    def is_level() -> bool:
        nonlocal looks
        looks += 1
        return looks > 110

    gate = LevelGate(is_level)
    await asyncio.gather(*(gate.wait() for _ in range(100)))

    assert looks < 120


async def test_news_without_end_is_not_waited_for() -> None:
    async with asyncio.timeout(600 * LEVEL_SECONDS):
        await LevelGate(lambda: False).wait()
