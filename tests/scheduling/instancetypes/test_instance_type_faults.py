from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_scheduling.instancetypes import Expanded, InstanceTypeFault, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.wire import read_as

CASES = yaml.safe_load((Path(__file__).parent / "faulty.yaml").read_text())
SOUND: dict[str, Any] = {
    "offerings": [{"zone": "a", "price": 1}, {"zone": "b", "price": 1}],
    "capacity": {"cpu": 4, "memory": "16Gi"},
    "overhead": {"memory": "1Gi"},
}
GROUPS = [
    {"driver": "gpu.io", "name": "gpu-{index}", "count": 2, "attributes": {"model": {"string": "x"}}},
    {"driver": "nic.io", "name": "nic-{index}", "count": 2},
]
COUNTERS = [{"driver": "gpu.io", "name": "set-{index}", "count": 2, "counters": {"memory": {"value": 10}}}]


def instance_type(case: dict[str, Any]) -> InstanceType:
    spec = dict(SOUND)
    for name, value in case.get("spec", {}).items():
        spec[name] = {**SOUND[name], **value} if isinstance(value, dict) else value
    devices = {"groups": case.get("groups", GROUPS), "sharedCounters": COUNTERS, "bindings": case.get("bindings", [])}
    return read_as(
        InstanceType, {"metadata": {"name": case.get("type", "sound")}, "spec": {**spec, "devices": devices}}
    )


def are_as_told(found: tuple[InstanceTypeFault, ...], told: list[list[str]]) -> bool:
    return len(found) == len(told) and all(
        path in fault.path and message in fault.message for fault, (path, message) in zip(found, told, strict=True)
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_wrong_is_found_and_named_by_its_path(case: dict[str, Any]) -> None:
    result = expand(instance_type(case))

    faults = () if isinstance(result, Expanded) else result
    assert are_as_told(faults, case["faults"]), faults
    if isinstance(result, Expanded):
        assert are_as_told(result.warnings, case.get("warnings", [])), result.warnings
