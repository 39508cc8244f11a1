"""The effort of the search in fixed worlds, counted in steps: it may shrink, it must not grow."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    cel,
    claim_spec,
    device,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest, ResourceClaimSpec
from dra_scheduling.model.slices import (
    Counter,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
)
from kube_cel.quantity import Quantity

Case = dict[str, Any]
CASES: list[Case] = yaml.safe_load(Path(__file__).with_name("search_steps.yaml").read_text())
PARTS = {"whole": (1, 80, 7), "half": (2, 40, 3), "quarter": (4, 20, 1)}
"""How many of each, and what one draws of memory and compute."""
CLASSES = {driver: driver_class(driver) for driver in (GPU_DRIVER, NIC_DRIVER)}
ROOT = "resource.kubernetes.io/pcieRoot"


def partitions(gpus: int) -> list[ResourceSlice]:
    """GPUs that are published whole, in halves and in quarters, each with counters of its own."""
    home = ResourcePool(name="parts", generation=1, resource_slice_count=2)
    content = [part(gpu, kind, number) for gpu in range(gpus) for kind in PARTS for number in range(PARTS[kind][0])]
    counters = resource_slice("counters", node="n1", pool=home)
    sets = tuple(CounterSet(name=f"gpu-{gpu}", counters=amounts(80, 7)) for gpu in range(gpus))
    return [
        replace(counters, spec=replace(counters.spec, shared_counters=sets)),
        resource_slice("parts", content, node="n1", pool=home),
    ]


def part(gpu: int, kind: str, number: int) -> Device:
    _, memory, compute = PARTS[kind]
    drawn = DeviceCounterConsumption(counter_set=f"gpu-{gpu}", counters=amounts(memory, compute))
    return replace(device(f"gpu-{gpu}-{kind}-{number}", attributes={"kind": kind}), consumes_counters=(drawn,))


def amounts(memory: int, compute: int) -> dict[str, Counter]:
    return {"memory": Counter(Quantity.from_int(memory)), "compute": Counter(Quantity.from_int(compute))}


def slice_of(group: Case) -> ResourceSlice:
    roots = group.get("roots", " " * group.get("count", 0))
    content = [
        device(f"{group['prefix']}{number}", attributes={ROOT: root} if root != " " else None)
        for number, root in enumerate(roots)
    ]
    return resource_slice(group["prefix"], content, driver=group.get("driver", GPU_DRIVER), node="n1")


def requests_of(asked: Case) -> list[DeviceRequest]:
    if "alternatives" in asked:
        return [listed(f"{asked['name']}{number}", asked["alternatives"]) for number in range(asked.get("times", 1))]
    wishes = [of_root(asked["root"])] if "root" in asked else []
    wishes += [f'device.attributes["{GPU_DRIVER}"].kind == "{asked["kind"]}"'] if "kind" in asked else []
    times = asked.get("times", 1)
    names = [asked["name"]] if times == 1 else [f"{asked['name']}{number}" for number in range(times)]
    return [request(name, asked.get("class", GPU_DRIVER), *wishes, count=asked.get("count", 1)) for name in names]


def listed(name: str, alternatives: list[int | str]) -> DeviceRequest:
    return DeviceRequest(name=name, first_available=tuple(alternative(wanted) for wanted in alternatives))


def alternative(wanted: int | str) -> DeviceSubRequest:
    """So many devices, or one of a root."""
    is_count = isinstance(wanted, int)
    return DeviceSubRequest(
        name=f"of-{wanted}",
        device_class_name=GPU_DRIVER,
        selectors=() if is_count else cel(of_root(str(wanted))),
        allocation_mode="ExactCount",
        count=int(wanted) if is_count else 1,
    )


def of_root(root: str) -> str:
    return f'device.attributes["resource.kubernetes.io"].pcieRoot == "{root}"'


def specs_of(case: Case) -> list[ResourceClaimSpec]:
    return [
        claim_spec(
            *(each for asked in claim["requests"] for each in requests_of(asked)),
            constraints=[match_attribute(ROOT, *names) for names in claim.get("match", [])],
        )
        for claim in case["claims"]
        for _ in range(claim.get("times", 1))
    ]


def solved(case: Case) -> Allocated | Impossible | Exhausted:
    index = PoolIndex()
    for group in case["devices"]:
        for piece in partitions(group["gpus"]) if "gpus" in group else [slice_of(group)]:
            index.apply(piece)
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(specs_of(case))]
    claims = [claim for claim in parsed if isinstance(claim, ParsedClaim)]
    assert len(claims) == len(parsed)
    return allocate(claims, NodePlace("n1", {}), index, Ledger())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_search_takes_no_more_steps_than_it_is_known_to_need(case: Case) -> None:
    result = solved(case)
    assert type(result).__name__ == case["outcome"]
    assert result.steps <= case["steps"]
