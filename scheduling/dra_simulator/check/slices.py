"""One ResourceSlice: limits of the API, names that the API server refuses, amounts that make no sense."""

import re

from dra_scheduling.devices.consumable_capacity import portion
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.slices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity, ResourceSlice
from dra_simulator.check.findings import Remarks, error
from kube_cel.quantity import Quantity

MOST_DEVICES = 128
MOST_DEMANDING_DEVICES = 64
NAME = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,61}[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]{0,31}")


def slice_remarks(value: ResourceSlice) -> Remarks:
    """Yield what is wrong in one slice, whatever else its pool has."""
    spec = value.spec
    is_demanding = any(device.taints or device.consumes_counters for device in spec.devices)
    most = MOST_DEMANDING_DEVICES if is_demanding else MOST_DEVICES
    if len(spec.devices) > most:
        yield error("$.spec.devices", f"expected at most {most} devices in a slice, got {len(spec.devices)}")
    if spec.devices and spec.shared_counters:
        yield error("$.spec.sharedCounters", "expected devices or shared counters in a slice, got both")
    yield from _one_term(spec.node_selector, "$.spec")
    for number, defined in enumerate(spec.shared_counters):
        for name, counter in defined.counters.items():
            yield from _negative(counter.value, f'$.spec.sharedCounters[{number}].counters["{name}"].value')
    for number, device in enumerate(spec.devices):
        yield from _device_remarks(device, spec.driver, f"$.spec.devices[{number}]")


def _device_remarks(device: Device, driver: str, path: str) -> Remarks:
    yield from _one_term(device.node_selector, path)
    for field, names in (("attributes", device.attributes), ("capacity", device.capacity)):
        for name in names:
            if not NAME.fullmatch(name):
                yield error(f"{path}.{field}", f"expected a C identifier, with or without a domain, got {name}")
    for name, capacity in device.capacity.items():
        here = f'{path}.capacity["{name}"]'
        yield from _negative(capacity.value, f"{here}.value")
        if capacity.request_policy is not None:
            yield from _policy_remarks(capacity, capacity.request_policy, f"{here}.requestPolicy")
    for number, consumption in enumerate(device.consumes_counters):
        for name, counter in consumption.counters.items():
            yield from _negative(counter.value, f'{path}.consumesCounters[{number}].counters["{name}"].value')
    if device.allow_multiple_allocations and portion(device, driver, ()) is None:
        yield error(f"{path}.capacity", "expected room for a request that names no amounts, and there is none")


def _one_term(selector: NodeSelector | None, path: str) -> Remarks:
    if selector is not None and len(selector.node_selector_terms) != 1:
        terms = len(selector.node_selector_terms)
        yield error(f"{path}.nodeSelector.nodeSelectorTerms", f"expected exactly one term, got {terms}")


def _policy_remarks(capacity: DeviceCapacity, policy: CapacityRequestPolicy, path: str) -> Remarks:
    span = policy.valid_range
    if policy.valid_values and span is not None:
        yield error(path, "expected validValues or validRange, got both")
    for number, value in enumerate(policy.valid_values):
        if not 0 <= value.nano <= capacity.value.nano:
            yield error(f"{path}.validValues[{number}]", _outside(value, capacity.value))
    if span is not None:
        yield from _range_remarks(span, capacity.value, f"{path}.validRange")


def _range_remarks(span: CapacityRange, whole: Quantity, path: str) -> Remarks:
    if not 0 <= span.min.nano <= whole.nano:
        yield error(f"{path}.min", _outside(span.min, whole))
    if span.max is not None and span.max < span.min:
        yield error(f"{path}.max", f"expected at least min, which is {span.min}, got {span.max}")
    if span.step is not None and span.step.nano <= 0:
        yield error(f"{path}.step", f"expected more than 0, got {span.step}")


def _outside(value: Quantity, whole: Quantity) -> str:
    return f"expected an amount from 0 to the capacity of {whole}, got {value}"


def _negative(value: Quantity, path: str) -> Remarks:
    if value.nano < 0:
        yield error(path, f"expected no negative amount, got {value}")
