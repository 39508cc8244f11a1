"""ResourceSlices: pools that are not complete, not valid, or empty, and names that the API server refuses."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.pools import INCOMPLETE, PoolIndex
from dra_simulator.checks.findings import Remark, Remarks, error, warning

MOST_DEVICES = 128
MOST_DEMANDING_DEVICES = 64
NAME = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,61}[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]{0,31}")


def pool_remarks(slices: Iterable[ResourceSlice]) -> Mapping[str, Remark]:
    """Return what is wrong with whole pools, by the name of the first slice of their newest generation."""
    index = PoolIndex()
    newest: defaultdict[PoolKey, list[ResourceSlice]] = defaultdict(list)
    for value in sorted(slices, key=lambda value: (-value.spec.pool.generation, value.metadata.name)):
        index.apply(value)
        mates = newest[PoolKey(value.spec.driver, value.spec.pool.name)]
        if not mates or mates[0].spec.pool.generation == value.spec.pool.generation:
            mates.append(value)
    found = {mates[0].metadata.name: remark for mates in newest.values() if (remark := _emptiness(mates)) is not None}
    for key, problem in index.problems():
        grade = warning if problem.reason == INCOMPLETE else error
        message = f"pool {key} hands out no devices: {problem.text}"
        found[newest[key][0].metadata.name] = grade("$.spec.pool", message)
    return found


def slice_remarks(value: ResourceSlice) -> Remarks:
    """Yield what is wrong in one slice."""
    spec = value.spec
    is_demanding = any(device.taints or device.consumes_counters for device in spec.devices)
    most = MOST_DEMANDING_DEVICES if is_demanding else MOST_DEVICES
    if len(spec.devices) > most:
        yield error("$.spec.devices", f"expected at most {most} devices in a slice, got {len(spec.devices)}")
    if spec.devices and spec.shared_counters:
        yield error("$.spec.sharedCounters", "expected devices or shared counters in a slice, got both")
    for number, device in enumerate(spec.devices):
        yield from _device_remarks(device, f"$.spec.devices[{number}]")


def _device_remarks(device: Device, path: str) -> Remarks:
    for field, names in (("attributes", device.attributes), ("capacity", device.capacity)):
        for name in names:
            if not NAME.fullmatch(name):
                yield error(f"{path}.{field}", f"expected a C identifier, with or without a domain, got {name}")


def _emptiness(mates: list[ResourceSlice]) -> Remark | None:
    spec = mates[0].spec
    if any(mate.spec.devices for mate in mates):
        return None
    return warning("$.spec.devices", f"pool {spec.driver}/{spec.pool.name} has no devices in its newest generation")
