"""Devices are in cool-down for a while after they became free."""

from dra_scheduling.cycle.timers import CooldownTimers
from dra_scheduling.model.ids import DeviceID

SECONDS = 30.0
FIRST, SECOND = (DeviceID("gpu.example.com", "n1", name) for name in ("gpu-0", "gpu-1"))


def test_a_device_cools_down_until_its_time_is_over() -> None:
    cooldown = CooldownTimers(SECONDS)
    cooldown.start(FIRST)
    cooldown.advance(SECONDS / 2)
    cooldown.start(SECOND)
    assert cooldown
    assert FIRST in cooldown
    cooldown.advance(SECONDS)
    assert cooldown
    assert FIRST not in cooldown
    assert SECOND in cooldown
    cooldown.advance(1.5 * SECONDS)
    assert not cooldown
    assert SECOND not in cooldown


def test_a_device_that_becomes_free_again_cools_down_for_the_whole_time() -> None:
    cooldown = CooldownTimers(SECONDS)
    cooldown.start(FIRST)
    cooldown.advance(SECONDS / 2)
    cooldown.start(SECOND)
    cooldown.start(FIRST)
    cooldown.advance(SECONDS)
    assert cooldown
    assert FIRST in cooldown


def test_without_a_cooldown_every_free_device_is_as_good_as_any_other() -> None:
    cooldown = CooldownTimers(0)
    cooldown.start(FIRST)
    assert not cooldown
