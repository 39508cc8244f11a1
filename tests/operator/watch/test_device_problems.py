import pytest

from dra_builders.values import GPU_CLASS, device, device_class, devices, resource_slice
from dra_builders.values import pool as pool_of
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operating.objects import at
from dra_operator.api.events import Recorder
from dra_operator.watch.device_problems import INVALID_SELECTOR, DeviceProblems
from dra_scheduling.devices import INVALID, PoolIndex
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import KubernetesObject

PAIR = pool_of("n1", slices=2)


class World:
    """DeviceProblems about the objects that were added."""

    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.pools = PoolIndex()
        self.recorder = Recorder(self.api, "tester", ManualClock())
        self.device_problems = DeviceProblems(self.recorder, self.pools.problem)

    async def add(self, *values: KubernetesObject) -> None:
        for value in values:
            if isinstance(value, ResourceSlice):
                self.pools.apply(value)
            self.device_problems.changed(at(value, 1))
        await run_briefly(self.recorder.run())

    def told(self) -> list[tuple[str, str, str]]:
        """Object, reason and message of each Event."""
        events = [value for path, value in self.api.objects.items() if "/events/" in path]
        return [(event["involvedObject"]["name"], event["reason"], event["message"]) for event in events]


@pytest.fixture
def world() -> World:
    return World()


async def test_the_slice_that_spoils_its_pool_is_told_so(world: World) -> None:
    twice = [resource_slice(name, [device("gpu-0")], node="n1", pool=PAIR) for name in ("a", "b")]
    await world.add(*twice)

    ((name, reason, message),) = world.told()
    assert (name, reason) == ("b", INVALID)
    assert "n1 hands out no devices" in message
    assert "gpu-0" in message


async def test_a_pool_that_is_being_updated_is_left_alone(world: World) -> None:
    await world.add(resource_slice("a", devices(1), node="n1", pool=PAIR))

    assert world.told() == []


async def test_a_class_that_can_match_nothing_is_told_why(world: World) -> None:
    await world.add(device_class(GPU_CLASS, "true", "device.driver =="))

    ((name, reason, message),) = world.told()
    assert (name, reason) == (GPU_CLASS, INVALID_SELECTOR)
    assert message.startswith("spec.selectors[1].cel.expression does not compile: ")
    assert message.endswith("(line 1, column 17)")


async def test_a_problem_is_told_once(world: World) -> None:
    bad = device_class(GPU_CLASS, "device.driver ==")
    await world.add(bad, bad)
    await world.add(bad)

    assert [verb for verb, _, _ in world.api.calls] == ["create"]


async def test_a_class_that_comes_back_is_told_again(world: World) -> None:
    bad = device_class(GPU_CLASS, "device.driver ==")
    await world.add(bad)
    world.device_problems.removed(at(bad, 2))
    await world.add(bad)

    assert [verb for verb, _, _ in world.api.calls] == ["create", "patch"]
