"""The devices of an input, asked by selectors."""

from dra_builders.values import device, resource_slice
from dra_simulator.check.offer import Failures, OfferedDevices
from kube_cel import compile_selector

SLICES = [resource_slice(f"s{i}", [device("gpu", attributes={"numa": i})], node=f"n{i}") for i in range(3)]
ON_NUMA_1 = compile_selector('device.attributes["gpu.example.com"].numa == 1')
FAILING = compile_selector('device.attributes["gpu.example.com"].nothing == 1')


def test_a_choice_is_narrowed_once_however_often_it_is_asked_for() -> None:
    offer = OfferedDevices(SLICES)
    chosen = offer.narrowed(offer.everything, ON_NUMA_1)
    assert (offer.everything.count, chosen.count) == (3, 1)
    assert offer.narrowed(offer.everything, ON_NUMA_1) is chosen


def test_failures_are_counted_once_and_the_first_is_told() -> None:
    offer = OfferedDevices(SLICES)
    failures = offer.failures(offer.everything, FAILING)
    assert failures == Failures(3, "no such key: nothing (there is numa)")
    assert offer.failures(offer.everything, FAILING) is failures
