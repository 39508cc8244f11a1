"""The effort of the search in fixed worlds, counted in steps: it may shrink, it must not grow."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claimspecs import ParsedClaim, parse_claim
from dra_scheduling.allocation.outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.ledger import Ledger
from dra_scheduling.model.claims import DeviceRequest, ResourceClaimSpec
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.testing import (
    GPU_DRIVER,
    NIC_DRIVER,
    claim_spec,
    device,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)

Case = dict[str, Any]
CASES: list[Case] = yaml.safe_load(Path(__file__).with_name("search_steps.yaml").read_text())
CLASSES = {driver: driver_class(driver) for driver in (GPU_DRIVER, NIC_DRIVER)}
ROOT = "resource.kubernetes.io/pcieRoot"


def slice_of(group: Case) -> ResourceSlice:
    roots = group.get("roots", " " * group.get("count", 0))
    content = [
        device(f"{group['prefix']}{number}", attributes={ROOT: root} if root != " " else None)
        for number, root in enumerate(roots)
    ]
    return resource_slice(group["prefix"], content, driver=group.get("driver", GPU_DRIVER), node="n1")


def requests_of(asked: Case) -> list[DeviceRequest]:
    wishes = [f'device.attributes["resource.kubernetes.io"].pcieRoot == "{asked["root"]}"'] if "root" in asked else []
    times = asked.get("times", 1)
    names = [asked["name"]] if times == 1 else [f"{asked['name']}{number}" for number in range(times)]
    return [request(name, asked.get("class", GPU_DRIVER), *wishes, count=asked.get("count", 1)) for name in names]


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
        index.apply(slice_of(group))
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(specs_of(case))]
    claims = [claim for claim in parsed if isinstance(claim, ParsedClaim)]
    assert len(claims) == len(parsed)
    return allocate(claims, NodePlace("n1", {}), index, Ledger())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_search_takes_no_more_steps_than_it_is_known_to_need(case: Case) -> None:
    result = solved(case)
    assert type(result).__name__ == case["outcome"]
    assert result.steps <= case["steps"]
