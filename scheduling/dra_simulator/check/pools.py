"""Whole pools: slices that are missing, that disagree, that repeat names, or that draw from what is not there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from dra_scheduling.basics.features import PARTITIONABLE_DEVICES, Features
from dra_scheduling.devices import INCOMPLETE, PoolIndex
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_simulator.check.findings import Remark, Remarks, error, warning

Found = Mapping[str, tuple[Remark, ...]]


class At(NamedTuple):
    """A remark about the slice of that name."""

    name: str
    remark: Remark


def pool_remarks(slices: Iterable[ResourceSlice], features: Features) -> Found:
    """Return what is wrong with pools in their newest generation, by the name of the slice that shows it."""
    index = PoolIndex(features)
    newest: defaultdict[PoolKey, list[ResourceSlice]] = defaultdict(list)
    for value in sorted(slices, key=lambda value: (-value.spec.pool.generation, value.metadata.name)):
        index.apply(value)
        mates = newest[PoolKey(value.spec.driver, value.spec.pool.name)]
        if not mates or mates[0].spec.pool.generation == value.spec.pool.generation:
            mates.append(value)
    problems = dict(index.problems())
    found: defaultdict[str, list[Remark]] = defaultdict(list)
    for key, mates in newest.items():
        shown = [*_disagreements(mates), *_repetitions(mates), *_emptiness(mates)]
        if features.has(PARTITIONABLE_DEVICES):
            shown += _undefined_counters(mates)
        problem = problems.get(key)
        if problem is not None and not any(at.remark.path != "$.spec.devices" for at in shown):
            grade = warning if problem.reason == INCOMPLETE else error
            shown = [At(mates[0].metadata.name, grade("$.spec.pool", _closed(key, problem.text)))]
        for at in shown:
            found[at.name].append(at.remark)
    return {name: tuple(remarks) for name, remarks in found.items()}


def _disagreements(mates: list[ResourceSlice]) -> Iterator[At]:
    first, *others = mates
    wanted = first.spec.pool.resource_slice_count
    for other in others:
        count = other.spec.pool.resource_slice_count
        if count != wanted:
            problem = f"its slices disagree, {count} here and {wanted} in ResourceSlice {first.metadata.name}"
            yield At(other.metadata.name, error("$.spec.pool.resourceSliceCount", _closed(_key(other), problem)))


def _repetitions(mates: list[ResourceSlice]) -> Iterator[At]:
    devices: dict[str, str] = {}
    sets: dict[str, str] = {}
    for mate in mates:
        spec, name = mate.spec, mate.metadata.name
        for what, path, items, seen in (
            ("devices", "devices", [device.name for device in spec.devices], devices),
            ("counter sets", "sharedCounters", [defined.name for defined in spec.shared_counters], sets),
        ):
            for number, item in enumerate(items):
                home = seen.setdefault(item, name)
                if home != name or item in items[:number]:
                    problem = f"it has two {what} called {item}, the first in ResourceSlice {home}"
                    yield At(name, error(f"$.spec.{path}[{number}].name", _closed(_key(mate), problem)))


def _undefined_counters(mates: list[ResourceSlice]) -> Iterator[At]:
    if len(mates) != mates[0].spec.pool.resource_slice_count:
        # The slice that defines them may not be there yet.
        return
    defined = {each.name: frozenset(each.counters) for mate in mates for each in mate.spec.shared_counters}
    for mate in mates:
        for number, device in enumerate(mate.spec.devices):
            for remark in _undefined_in(device, defined, f"$.spec.devices[{number}].consumesCounters", _key(mate)):
                yield At(mate.metadata.name, remark)


def _undefined_in(device: Device, defined: Mapping[str, frozenset[str]], path: str, key: PoolKey) -> Remarks:
    for number, consumption in enumerate(device.consumes_counters):
        name, here = consumption.counter_set, f"{path}[{number}]"
        counters = defined.get(name)
        if counters is None:
            yield error(f"{here}.counterSet", _closed(key, f"it has no counter set {name}"))
            continue
        for counter in sorted(set(consumption.counters) - counters):
            problem = f"its counter set {name} has no counter {counter}"
            yield error(f'{here}.counters["{counter}"]', _closed(key, problem))


def _emptiness(mates: list[ResourceSlice]) -> Iterator[At]:
    spec = mates[0].spec
    if not any(mate.spec.devices for mate in mates):
        message = f"pool {spec.driver}/{spec.pool.name} has no devices in its newest generation"
        yield At(mates[0].metadata.name, warning("$.spec.devices", message))


def _key(value: ResourceSlice) -> PoolKey:
    return PoolKey(value.spec.driver, value.spec.pool.name)


def _closed(key: PoolKey, problem: str) -> str:
    return f"pool {key} hands out no devices: {problem}"
