"""One pod over a NodeClaim of 400 instance types: how long the answer takes, nothing of it known before.

The types are 8 GPUs with 32 or 16 network devices, each under its own names, and plain ones; the pod wants pairs of one
root, or more of one root than there is.
"""

import gc
import time
from collections.abc import Iterator
from statistics import median

import msgspec

from dra_scheduling.candidates import (
    Candidate,
    CandidateAllocator,
    CandidateType,
    PodClaims,
    Published,
    TemplateDevices,
)
from dra_scheduling.ledger import Ledger
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.pools import PoolIndex
from dra_scheduling.requirements import Requirements
from dra_scheduling.testing import (
    GPU_DRIVER,
    NIC_DRIVER,
    claim,
    device,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)

CLASSES = {name: driver_class(name) for name in (GPU_DRIVER, NIC_DRIVER)}
ROOT = "resource.kubernetes.io/pcieRoot"
RUNS = 5
TYPES = 400
GPUS = 8
KINDS = {"8 and 32": (32,), "8 and 16": (16,), "8 and 32, 8 and 16, plain": (32, 16, 0, 0)}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One world: the median of the first call, and of the same pod at a second candidate that looks the same."""

    name: str
    outcome: str
    steps: int
    first_milliseconds: float
    second_milliseconds: float


def measure() -> Iterator[Answer]:
    """Yield what each world took."""
    for kind, network in KINDS.items():
        for name, wanted in (("pairs of one root", _pairs()), ("5 and 5 of one root", _too_many())):
            runs = [_run(network, wanted) for _ in range(RUNS)]
            yield Answer(
                name=f"{kind}: {name}",
                outcome=runs[0][0],
                steps=runs[0][1],
                first_milliseconds=median(run[2] for run in runs),
                second_milliseconds=median(run[3] for run in runs),
            )


def _run(network: tuple[int, ...], wanted: ResourceClaim) -> tuple[str, int, float, float]:
    types = tuple(_type(number, network[number % len(network)]) for number in range(TYPES))
    allocator = CandidateAllocator(Published(PoolIndex()), Ledger())
    pod = PodClaims([wanted], CLASSES)
    first, second = (Candidate.of_node_claim(name, Requirements.of_new_node(), types) for name in ("one", "two"))
    gc.collect()
    started = time.perf_counter()
    answer = allocator.allocate(pod, first)
    between = time.perf_counter()
    allocator.allocate(pod, second)
    ended = time.perf_counter()
    return type(answer).__name__, answer.steps, (between - started) * 1e3, (ended - between) * 1e3


def _type(number: int, network: int) -> CandidateType:
    name = f"type-{number:03}"
    return CandidateType(name=name, devices=TemplateDevices(_slices(name, network) if network else ()))


def _slices(name: str, network: int) -> Iterator[ResourceSlice]:
    for driver, count in ((GPU_DRIVER, GPUS), (NIC_DRIVER, network)):
        content = [
            device(f"{name}-{each}", attributes={ROOT: f"r{each % GPUS}", f"{driver}/type": name})
            for each in range(count)
        ]
        yield resource_slice(driver, content, driver=driver, pool=name)


def _pairs() -> ResourceClaim:
    asked = [
        request(f"{kind}{each}", driver)
        for kind, driver in (("g", GPU_DRIVER), ("n", NIC_DRIVER))
        for each in range(GPUS)
    ]
    rules = [match_attribute(ROOT, f"g{each}", f"n{each}") for each in range(GPUS)]
    return claim("pairs", *asked, constraints=rules)


def _too_many() -> ResourceClaim:
    asked = (request("gpu", count=5), request("nic", NIC_DRIVER, count=5))
    return claim("too-many", *asked, constraints=[match_attribute(ROOT)])


def report() -> None:
    """Print what was measured."""
    for answer in measure():
        print(
            f"{answer.name:50} {answer.outcome:10} {answer.steps:4} steps, first {answer.first_milliseconds:6.1f} ms, "
            f"second candidate {answer.second_milliseconds:6.1f} ms"
        )


if __name__ == "__main__":
    report()
