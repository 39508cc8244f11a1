"""Small worlds of one node, each with what its claims must get: see `catalogue/README.md` for how they are written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_scheduling.allocation.allocation_outcomes import Allocated, Impossible
from dra_scheduling.allocation.allocation_results import with_share_ids
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.features import Features
from dra_scheduling.basics.reasons import Refusal, fold
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.devices.ledger_entries import held_by
from dra_scheduling.model.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaimSpec
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire.objects import read_as, write_value

Json = dict[str, Any]
Written = str | Json
Where = str | Json | list[Json]
FOLDER = Path(__file__).with_name("catalogue")
CLASSES: Mapping[str, Json] = {
    "a": {"selectors": [{"cel": {"expression": 'device.driver == "a"'}}]},
    "b": {"selectors": [{"cel": {"expression": 'device.driver == "b"'}}]},
    "any": {},
}
LISTS = {bool: "bools", int: "ints", str: "strings"}
SCALARS = {bool: "bool", int: "int", str: "string"}


CASES: dict[str, Json] = {
    f"{path.stem}: {case['name']}": case
    for path in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
}


def attribute(value: object) -> Json:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {LISTS[type(value[0])]: value}
    return {SCALARS[type(value)]: value}


def reach(where: Where) -> Json:
    if where == "all":
        return {"allNodes": True}
    if where == "each":
        return {"perDeviceNodeSelection": True}
    if isinstance(where, str):
        return {"nodeName": where}
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in term.items()]}
        for term in (where if isinstance(where, list) else [where])
    ]
    return {"nodeSelector": {"nodeSelectorTerms": terms}}


def taint(text: str) -> Json:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


def toleration(text: str) -> Json:
    rest, _, effect = text.rpartition(":")
    key, is_equal, value = rest.partition("=")
    return {
        "key": key,
        "effect": effect,
        **({"operator": "Equal", "value": value} if is_equal else {"operator": "Exists"}),
    }


def device(written: Written) -> Json:
    given: Json = {"name": written} if isinstance(written, str) else written
    policies = given.get("policy", {})
    return {
        "name": given["name"],
        "attributes": {key: attribute(value) for key, value in given.get("is", {}).items()},
        "capacity": {
            key: {"value": str(value), **({"requestPolicy": policies[key]} if key in policies else {})}
            for key, value in given.get("has", {}).items()
        },
        "consumesCounters": [
            {
                "counterSet": name,
                "counters": {key: {"value": str(amount)} for key, amount in counters.items()},
                "compatibilityGroups": given.get("groups", {}).get(name, []),
            }
            for name, counters in given.get("draws", {}).items()
        ],
        "taints": [taint(text) for text in given.get("taints", [])],
        "allowMultipleAllocations": given.get("shared", False),
        "bindsToNode": given.get("binds", False),
        "bindingConditions": given.get("conditions", []),
        "bindingFailureConditions": given.get("failures", []),
        **(reach(given["node"]) if "node" in given else {}),
    }


def slice_of(number: int, written: Json) -> ResourceSlice:
    name = written.get("name", f"s{number}")
    node = written.get("node", "n1")
    pool = written.get("pool", node if isinstance(node, str) else name)
    return read_as(
        ResourceSlice,
        {
            "metadata": {"name": name},
            "spec": {
                "driver": written.get("driver", "a"),
                "pool": {
                    "name": pool,
                    "generation": written.get("generation", 1),
                    "resourceSliceCount": written.get("count", 1),
                },
                **reach(node),
                "devices": [device(each) for each in written.get("devices", [])],
                "sharedCounters": [
                    {"name": key, "counters": {name: {"value": str(value)} for name, value in counters.items()}}
                    for key, counters in written.get("counters", [])
                ],
            },
        },
    )


def wish(written: Json) -> Json:
    count = written.get("count", 1)
    return {
        "deviceClassName": written.get("class", "a"),
        "selectors": [{"cel": {"expression": text}} for text in written.get("where", [])],
        "tolerations": [toleration(text) for text in written.get("tolerates", [])],
        **({"allocationMode": "All"} if count == "all" else {"count": count}),
        "derivedAttributes": [{"name": name, "expression": text} for name, text in written.get("derives", {}).items()],
        **({"adminAccess": True} if written.get("admin") else {}),
        **({"allocationMode": written["mode"]} if "mode" in written else {}),
        **({"capacity": {"requests": {k: str(v) for k, v in written["takes"].items()}}} if "takes" in written else {}),
    }


def request(written: Written) -> Json:
    given: Json = {"name": written} if isinstance(written, str) else written
    if "first" in given:
        return {"name": given["name"], "firstAvailable": [{"name": sub["name"], **wish(sub)} for sub in given["first"]]}
    return {"name": given["name"], "exactly": wish(given)}


def spec_of(written: list[Written] | Json) -> ResourceClaimSpec:
    given: Json = {"requests": written} if isinstance(written, list) else written
    constraints = [
        {f"{kind}Attribute": name, "requests": requests}
        for kind in ("match", "distinct")
        for name, requests in given.get(kind, [])
    ]
    config = [
        {"requests": requests, "opaque": {"driver": "a", "parameters": {"is": name}}}
        for name, requests in given.get("config", [])
    ]
    asked = {"requests": [request(each) for each in given["requests"]], "constraints": constraints, "config": config}
    return read_as(ResourceClaimSpec, {"devices": asked})


def classes_of(case: Json) -> dict[str, DeviceClass]:
    specs = {**CLASSES, **case.get("classes", {})}
    return {name: read_as(DeviceClass, {"metadata": {"name": name}, "spec": spec}) for name, spec in specs.items()}


def pools_of(case: Json, features: Features) -> PoolIndex:
    pools = PoolIndex(features)
    for number, written in enumerate(case.get("slices", [])):
        pools.apply(slice_of(number, written))
    for number, (text, selector) in enumerate(case.get("rules", [])):
        raw = {"metadata": {"name": f"rule-{number}"}, "spec": {"taint": taint(text), "deviceSelector": selector}}
        pools.apply_rule(read_as(DeviceTaintRule, raw))
    return pools


def ledger_of(case: Json) -> Ledger:
    ledger = Ledger()
    for number, written in enumerate(case.get("taken", [])):
        text, amounts = (written, None) if isinstance(written, str) else (written["device"], written["takes"])
        driver, pool, name = text.split("/")
        raw: Json = {"request": "r", "driver": driver, "pool": pool, "device": name}
        if amounts is not None:
            raw |= {"shareID": f"share-{number}", "consumedCapacity": {k: str(v) for k, v in amounts.items()}}
        holder = f"holder-{number}"
        held = held_by(holder, read_as(AllocationResult, {"devices": {"results": [raw]}}))
        ledger.hold(Source("claim", holder), holder, held.devices, held.shares)
    return ledger


def solve(case: Json) -> Allocated | str:
    features = Features.of(case.get("features", {}))
    claims = []
    for number, written in enumerate(case.get("claims", [["r0"]])):
        parsed = parse_claim(f"c{number}", spec_of(written), classes_of(case), features)
        if isinstance(parsed, Refusal):
            return f"refused: {parsed.message}"
        assert isinstance(parsed, ParsedClaim)
        claims.append(parsed)
    node = NodePlace(case.get("node", "n1"), {"zone": case.get("zone", "z1")})
    found = allocate(claims, node, pools_of(case, features), ledger_of(case))
    if isinstance(found, Allocated):
        return found
    assert isinstance(found, Impossible)
    return fold([found.refusal])[0].message


def result_text(result: DeviceRequestAllocationResult) -> str:
    words = [result.request, result.device]
    words += ["admin"] if result.admin_access else []
    words += ["shared"] if result.share_id is not None else []
    words += [f"{name}={amount}" for name, amount in result.consumed_capacity.items()]
    words += [f"tolerates:{one.key}" for one in result.tolerations]
    return " ".join([*words, *result.binding_conditions, *result.binding_failure_conditions])


def config_text(allocation: AllocationResult) -> list[str]:
    return [
        " ".join([entry.source, str(write_value(entry)["opaque"]["parameters"]["is"]), *entry.requests])  # type: ignore[index]
        for entry in allocation.devices.config
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_claims_get_what_they_must(case: Json) -> None:
    found = solve(case)
    if isinstance(found, str):
        assert "gives" not in case, found
        assert case["says"] in found
        return
    assert "says" not in case, found
    allocations = [with_share_ids(value, f"uid-{number}") for number, value in enumerate(found.allocations)]
    assert [[result_text(result) for result in value.devices.results] for value in allocations] == case["gives"]
    if "config" in case:
        assert [config_text(value) for value in allocations] == case["config"]
    if "reach" in case:
        expected = [None if each is None else read_as(NodeSelector, each) for each in case["reach"]]
        assert [value.node_selector for value in allocations] == expected
    assert found.steps <= case.get("steps", 100)


def test_shuffled_slices_and_claims_of_other_pods_change_nothing() -> None:
    for case in CASES.values():
        mirrored = {**case, "taken": case.get("taken", [])[::-1]}
        named = [{"name": f"s{number}", **each} for number, each in enumerate(case.get("slices", []))]
        mirrored["slices"] = named[::-1]
        assert solve(mirrored) == solve({**case, "slices": named}), case["name"]
