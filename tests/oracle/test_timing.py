import pytest

from dra_builders.values import GPU_DRIVER, claim_spec, devices, driver_class, request, resource_slice
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.timing import Timed, timed, world_of
from dra_scheduling.devices import NodePlace
from dra_scheduling.model.claims import DeviceRequestAllocationResult

pytestmark = pytest.mark.timeout(900)

CLASSES = [driver_class(GPU_DRIVER)]
NODES = [NodePlace(name, {}) for name in ("n0", "n1", "n2")]
SLICES = [resource_slice(node.name, devices(3), pool=node.name, node=node.name) for node in NODES]


def measured(kubernetes: Kubernetes, count: int, held: str = "") -> Timed:
    taken = [DeviceRequestAllocationResult(request="r", driver=GPU_DRIVER, pool=held, device=devices(1)[0].name)]
    world = world_of(SLICES, [claim_spec(request(count=count))], CLASSES, taken if held else [])
    return timed(kubernetes, world, NODES, rounds=2)


def test_every_node_is_tried(kubernetes: Kubernetes) -> None:
    assert (measured(kubernetes, 3).able, measured(kubernetes, 4).able, measured(kubernetes, 3, "n1").able) == (3, 0, 2)


def test_steps_are_those_of_one_round(kubernetes: Kubernetes) -> None:
    result = measured(kubernetes, 3)

    assert (result.is_finished, result.steps) == (True, 18)
    assert result.milliseconds > 0


def test_what_takes_too_long_is_given_up(kubernetes: Kubernetes) -> None:
    slices = [resource_slice("n0", devices(31), pool="n0", node="n0")]
    world = world_of(slices, [claim_spec(request(count=32))], CLASSES)

    assert not timed(kubernetes, world, NODES, limit_seconds=0.05).is_finished
