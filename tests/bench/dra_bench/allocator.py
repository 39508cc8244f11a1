"""The allocator alone: searches that have no solution, one pod over thousands of nodes, and what a change costs.

The worlds are those that Kubernetes' own allocator is slow in: many equal requests, groups of one value, partitions
before whole devices, alternatives; 8 plain devices or 56 partitions a node, and one pool over all nodes.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import median

import msgspec
from msgspec.structs import replace

from dra_scheduling.allocation.allocator import allocate, survey
from dra_scheduling.allocation.claimspecs import ParsedClaim, parse_claim
from dra_scheduling.allocation.query import Query
from dra_scheduling.ledger import Ledger, Source
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest, ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
)
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.quantity import Quantity
from dra_scheduling.testing import (
    GPU_DRIVER,
    NIC_DRIVER,
    claim_spec,
    device,
    devices,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)

CLASSES = {name: driver_class(name) for name in (GPU_DRIVER, NIC_DRIVER)}
ROOT = "resource.kubernetes.io/pcieRoot"
RUNS = 5
GPUS = 8
NODES = 5_000
WIDE_NODES = 1_600


class Search(msgspec.Struct, frozen=True):
    """One world of one node: median time of the first call, its selectors compiled before."""

    name: str
    outcome: str
    steps: int
    milliseconds: float


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """One pod over all nodes: the first one, one of another shape when all is warm, one after a slice changed.

    `event_milliseconds` is what the slice's change and the pod after it cost beyond a pod without a change.
    """

    name: str
    nodes: int
    first_milliseconds: float
    warm_milliseconds: float
    taken_milliseconds: float
    event_milliseconds: float
    megabytes: float


def measure() -> tuple[list[Search], list[Sweep]]:
    """Measure everything."""
    searches = [_search(name, slices, specs) for name, slices, specs in worlds()]
    sweeps = [
        _sweep("8 plain devices a node", [slice_ for number in range(NODES) for slice_ in plain(number)], NODES),
        _sweep(
            "56 partitions a node", [slice_ for number in range(NODES) for slice_ in partitioned(f"n{number}")], NODES
        ),
        _sweep("one pool over all nodes", [wide(number) for number in range(WIDE_NODES)], WIDE_NODES),
    ]
    return searches, sweeps


World = tuple[str, list[ResourceSlice], list[ResourceClaimSpec]]


def worlds() -> Iterator[World]:
    """Yield the worlds of one node by name."""
    for count in (11, 16, 32):
        yield f"{count} requests, {count - 1} devices", gpus(count - 1), [_many(count)]
    for count in (22, 32):
        yield f"count {count}, {count - 1} devices", gpus(count - 1), [claim_spec(request(count=count))]
    for size in (18, 36):
        roots = [device(f"g{number}", attributes={ROOT: f"r{number % 2}"}) for number in range(size * 2)]
        spec = claim_spec(request(count=19), constraints=[match_attribute(ROOT)])
        yield f"19 of one root, two roots of {size}", [resource_slice("s", roots, node="n")], [spec]
    yield (
        "8 of 32, then a request that nothing fits",
        gpus(32),
        [claim_spec(request(count=8), request("nic", NIC_DRIVER))],
    )
    yield "16 pairs of one root, 15 partners", *_pairs(16)
    yield "7 requests of 8 alternatives, then one that nothing fits", gpus(32), [_alternatives(7)]
    for count in (5, 8):
        yield f"{count} partitions, then 8 whole devices", partitioned("n"), [_parts_and_whole(count)]
    yield "32 of 128", gpus(128), [claim_spec(request(count=32))]


def gpus(count: int) -> list[ResourceSlice]:
    """Return plain devices of one node."""
    return [resource_slice("s", devices(count), node="n")]


def plain(number: int) -> list[ResourceSlice]:
    """Return a node's pool of plain devices with identities of their own."""
    node = f"n{number}"
    content = [device(f"gpu-{each}", attributes={"uuid": f"{node}-{each}", "index": each}) for each in range(GPUS)]
    return [resource_slice(node, content, node=node)]


def partitioned(node: str) -> list[ResourceSlice]:
    """Return a node's pool of 8 devices as 56 partitions: each whole, in 2 and in 4, with its own counters."""
    pool = ResourcePool(name=node, generation=1, resource_slice_count=2)
    content = [part for gpu in range(GPUS) for part in _partitions(node, gpu)]
    counters = resource_slice(f"{node}-counters", (), node=node, pool=pool)
    sets = tuple(
        CounterSet(name=f"gpu-{gpu}", counters={"memory": _amount(80), "slices": _amount(7)}) for gpu in range(GPUS)
    )
    counters = replace(counters, spec=replace(counters.spec, shared_counters=sets))
    return [counters, resource_slice(f"{node}-devices", content, node=node, pool=pool)]


def wide(number: int) -> ResourceSlice:
    """Return one node's slice of a pool that spans all nodes."""
    content = [device(f"n{number}-gpu-{each}", attributes={"index": each}) for each in range(GPUS)]
    pool = ResourcePool(name="everywhere", generation=1, resource_slice_count=WIDE_NODES)
    return resource_slice(f"n{number}", content, node=f"n{number}", pool=pool)


def _search(name: str, slices: Sequence[ResourceSlice], specs: Sequence[ResourceClaimSpec]) -> Search:
    claims, node = _parsed(specs), NodePlace("n", {})
    indexes = [_index(slices) for _ in range(RUNS)]
    milliseconds = median(_time(partial(allocate, claims, node, index, Ledger())) for index in indexes)
    result = allocate(claims, node, indexes[0], Ledger())
    return Search(name, type(result).__name__, result.steps, milliseconds)


def _sweep(name: str, slices: list[ResourceSlice], nodes: int) -> Sweep:
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    index, ledger = _index(slices), Ledger()
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    places = [NodePlace(f"n{number}", {}) for number in range(nodes)]

    def ask(count: int) -> float:
        query = Query(_parsed([claim_spec(request(count=count))]))
        gc.collect()
        return _time(lambda: _survey(query, places, index, ledger))

    first = ask(1)
    warm = median(ask(count) for count in (2, 3, 4, 7, 8))
    driver, pool = index.on_node(places[7])[0].key
    taken = index.on_node(places[7])[0].device(0).name
    ledger.hold(Source("claim", "c"), "c", [DeviceID(driver, pool, taken)])
    index.teach(index.on_node(places[7])[0].key, ledger)
    after_take = ask(5)
    changed = next(piece for piece in slices if piece.spec.devices and piece.spec.node_name == places[9].name)
    newer = replace(changed, spec=replace(changed.spec, devices=changed.spec.devices[:-1]))
    query = Query(_parsed([claim_spec(request(count=6))]))
    before_event = min(_time(lambda: _survey(query, places, index, ledger)) for _ in range(RUNS))
    event = _time(lambda: index.apply(newer)) + _time(lambda: _survey(query, places, index, ledger)) - before_event
    return Sweep(
        name=name,
        nodes=nodes,
        first_milliseconds=first,
        warm_milliseconds=warm,
        taken_milliseconds=after_take,
        event_milliseconds=event,
        megabytes=size / 2**20,
    )


def _survey(query: Query, places: Sequence[NodePlace], index: PoolIndex, ledger: Ledger) -> None:
    for place in places:
        survey(query, place, index, ledger)


def _time(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1e3


def _index(slices: Iterable[ResourceSlice]) -> PoolIndex:
    index = PoolIndex()
    for piece in slices:
        index.apply(piece)
    return index


def _parsed(specs: Sequence[ResourceClaimSpec]) -> list[ParsedClaim]:
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(specs)]
    return [claim for claim in parsed if isinstance(claim, ParsedClaim)]


def _many(count: int) -> ResourceClaimSpec:
    return claim_spec(*(request(f"r{number}") for number in range(count)))


def _pairs(count: int) -> tuple[list[ResourceSlice], list[ResourceClaimSpec]]:
    roots = [{ROOT: f"r{number}"} for number in range(count)]
    sides = [
        resource_slice("g", [device(f"g{n}", attributes=root) for n, root in enumerate(roots)], node="n"),
        resource_slice(
            "n", [device(f"n{n}", attributes=root) for n, root in enumerate(roots[1:])], driver=NIC_DRIVER, node="n"
        ),
    ]
    pair = claim_spec(request("gpu"), request("nic", NIC_DRIVER), constraints=[match_attribute(ROOT)])
    return sides, [pair] * count


def _alternatives(count: int) -> ResourceClaimSpec:
    wishes = tuple(DeviceSubRequest(name=f"a{number}", device_class_name=GPU_DRIVER) for number in range(8))
    listed = (DeviceRequest(name=f"r{number}", first_available=wishes) for number in range(count))
    return claim_spec(*listed, request("nic", NIC_DRIVER))


def _parts_and_whole(count: int) -> ResourceClaimSpec:
    kind = f'device.attributes["{GPU_DRIVER}"].kind == "{{}}"'
    parts = (request(f"r{number}", GPU_DRIVER, kind.format("quarter")) for number in range(count))
    return claim_spec(*parts, request("whole", GPU_DRIVER, kind.format("whole"), count=GPUS))


def _partitions(node: str, gpu: int) -> Iterator[Device]:
    for kind, count, memory, slices in (("whole", 1, 80, 7), ("half", 2, 40, 3), ("quarter", 4, 20, 1)):
        for number in range(count):
            plain_ = device(f"gpu-{gpu}-{kind}-{number}", attributes={"kind": kind, "parent": f"{node}-{gpu}"})
            drawn = DeviceCounterConsumption(
                counter_set=f"gpu-{gpu}", counters={"memory": _amount(memory), "slices": _amount(slices)}
            )
            yield replace(plain_, consumes_counters=(drawn,))


def _amount(value: int) -> Counter:
    return Counter(Quantity.from_int(value))


def report() -> None:
    """Print what was measured."""
    searches, sweeps = measure()
    for search in searches:
        print(f"{search.name:60} {search.outcome:10} {search.steps:6} {search.milliseconds:8.2f} ms")
    for sweep in sweeps:
        print(
            f"{sweep.name:28} {sweep.nodes:5} nodes: first {sweep.first_milliseconds:7.1f} ms, "
            f"warm {sweep.warm_milliseconds:6.1f}, one device taken {sweep.taken_milliseconds:6.1f}, "
            f"slice event {sweep.event_milliseconds:+6.1f}, {sweep.megabytes:5.0f} MiB"
        )


if __name__ == "__main__":
    report()
