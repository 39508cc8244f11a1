"""One pod over a NodeClaim of 400 instance types: the first answer, nothing of it known before.

The types have 8 GPUs with 32 or 16 network devices, each under its own names, or none. Kubernetes knows no instance
types; its allocator is asked about 400 nodes that look like them.
"""

from collections.abc import Iterator, Sequence

import msgspec

from dra_bench import upstream
from dra_bench.clock import Took, middle, milliseconds, timed
from dra_bench.report import Say, Table
from dra_bench.upstream import Theirs
from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    claim,
    device,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_oracle.kubernetes import Kubernetes
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import DeviceConstraint, DeviceRequest, DeviceSubRequest, ResourceClaim
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.template_devices import (
    DeviceHost,
    DeviceHostType,
    PodClaims,
    Published,
    TemplateAllocator,
    TemplateDevices,
)
from dra_scheduling.template_devices.template_outcomes import Allotment

ABSENT = "tpu.example.com"
CLASSES = {name: driver_class(name) for name in (GPU_DRIVER, NIC_DRIVER, ABSENT)}
ROOT = "resource.kubernetes.io/pcieRoot"
RUNS = 5
TYPES = 400
GPUS = 8
TARGET = 100.0
KINDS = {"8 and 32": (32,), "8 and 32, 8 and 16, none": (32, 16, 32, 16, 0)}
"""Network devices of the types beside 8 GPUs, in turn."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One pod: the medians of the first call, and of the same pod at a second candidate that looks the same."""

    types: str
    pod: str
    is_solvable: bool
    steps: int
    first: Took
    second: Took
    theirs: Theirs | None


class Once(msgspec.Struct, frozen=True):
    """One run."""

    is_solvable: bool
    steps: int
    first: Took
    second: Took


def measure(say: Say) -> list[Answer]:
    """Measure every pod at every set of types."""
    with upstream.running(say) as program:
        return [_measure(kind, wanted, program, say) for kind in KINDS for wanted in _pods()]


def _measure(kind: str, wanted: ResourceClaim, program: Kubernetes | None, say: Say) -> Answer:
    runs = [_run(KINDS[kind], wanted) for _ in range(RUNS)]
    first = middle(run.first for run in runs)
    say(f"{kind}: {wanted.metadata.name}: {milliseconds(first.wall)} ms")
    return Answer(
        types=kind,
        pod=wanted.metadata.name,
        is_solvable=runs[0].is_solvable,
        steps=runs[0].steps,
        first=first,
        second=middle(run.second for run in runs),
        theirs=_theirs(KINDS[kind], wanted, program),
    )


def _run(network: Sequence[int], wanted: ResourceClaim) -> Once:
    types = tuple(_type(number, network[number % len(network)]) for number in range(TYPES))
    allocator, pod = TemplateAllocator(Published(PoolIndex()), Ledger()), PodClaims([wanted], CLASSES)
    one, two = (DeviceHost.of_node_claim(name, Requirements.of_new_node(), types) for name in ("one", "two"))
    answers = []
    first = timed(lambda: answers.append(allocator.allocate(pod, one)))
    second = timed(lambda: answers.append(allocator.allocate(pod, two)))
    return Once(isinstance(answers[0], Allotment), answers[0].steps, first, second)


def _theirs(network: Sequence[int], wanted: ResourceClaim, program: Kubernetes | None) -> Theirs | None:
    places = [NodePlace(_type_name(number), {}) for number in range(TYPES)]
    slices = [
        piece
        for number, place in enumerate(places)
        for piece in slices_of(place.name, network[number % len(network)], node=place.name)
    ]
    return upstream.ask_about(program, slices, [wanted.spec], CLASSES.values(), places)


def _type(number: int, network: int) -> DeviceHostType:
    name = _type_name(number)
    return DeviceHostType(name=name, devices=TemplateDevices(slices_of(name, network)))


def _type_name(number: int) -> str:
    return f"type-{number:03}"


def slices_of(name: str, network: int, node: str = "") -> list[ResourceSlice]:
    """Return what a type with so many network devices publishes, none for one without devices."""
    return [
        resource_slice(
            f"{name}-{driver}",
            [
                device(f"{name}-{each}", attributes={ROOT: f"r{each % GPUS}", f"{driver}/type": name})
                for each in range(many)
            ],
            driver=driver,
            pool=name,
            node=node,
        )
        for driver, many in (((GPU_DRIVER, GPUS), (NIC_DRIVER, network)) if network else ())
    ]


def _pods() -> Iterator[ResourceClaim]:
    """Yield a claim for each pod, called like the pod: those of the searches on one node, as far as they differ."""
    yield claim("11 requests", *_singles(11))
    yield claim("count 9", request("gpu", count=9))
    yield claim(
        "5 and 5 of one root",
        request("gpu", count=5),
        request("nic", NIC_DRIVER, count=5),
        constraints=[match_attribute(ROOT)],
    )
    yield claim("8 of 16 or 32, then one that nothing fits", request("nic", NIC_DRIVER, count=8), request("x", ABSENT))
    yield claim("8 pairs of one root", *_singles(8), *_singles(8, NIC_DRIVER), constraints=_by_pairs(8))
    wishes = tuple(DeviceSubRequest(name=f"a{number}", device_class_name=GPU_DRIVER) for number in range(8))
    listed = (DeviceRequest(name=f"r{number}", first_available=wishes) for number in range(7))
    yield claim("7 requests of 8 alternatives, then one that nothing fits", *listed, request("x", ABSENT))
    yield claim("16 network devices", request("nic", NIC_DRIVER, count=16))


def _singles(many: int, driver: str = GPU_DRIVER) -> Iterator[DeviceRequest]:
    return (request(f"{driver[0]}{number}", driver) for number in range(many))


def _by_pairs(many: int) -> list[DeviceConstraint]:
    return [match_attribute(ROOT, f"g{number}", f"n{number}") for number in range(many)]


def table(results: Sequence[Answer]) -> Table:
    """Return one row a pod and set of types."""
    columns = (
        "types",
        "pod",
        "solvable",
        "target ms",
        "ours ms",
        "CPU ms",
        "second candidate ms",
        "steps",
        *upstream.COLUMNS,
    )
    return Table(columns, tuple(map(_row, results)))


def _row(one: Answer) -> tuple[str, ...]:
    return (
        one.types,
        one.pod,
        "yes" if one.is_solvable else "no",
        f"{TARGET:.0f}",
        milliseconds(one.first.wall),
        milliseconds(one.first.cpu),
        milliseconds(one.second.wall),
        str(one.steps),
        *upstream.cells(one.theirs, one.first),
    )
