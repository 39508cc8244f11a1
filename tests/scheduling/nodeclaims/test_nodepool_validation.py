from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from dra_builders.values import node, quantities
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.nodeclaims import pool_faults, pool_status
from dra_scheduling.wire import read_as

CASES = yaml.safe_load((Path(__file__).parent / "pools.yaml").read_text())
REFERENCE = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def pool(case: dict[str, Any]) -> NodePool:
    template = {"nodeClassRef": REFERENCE, "requirements": case.get("requirements", []), **case.get("template", {})}
    spec = {
        "template": {"metadata": {"labels": case.get("labels", {})}, "spec": template},
        "disruption": case.get("disruption", {}),
        "limits": case.get("limits", {}),
    }
    return read_as(NodePool, {"metadata": {"name": "general", "generation": 3}, "spec": spec})


def claim(name: str, *, of: str = "general", node_name: str = "", cpu: str = "4") -> NodeClaim:
    return NodeClaim(
        metadata=ObjectMeta(name=name, labels={NODE_POOL_LABEL: of}),
        spec=NodeClaimSpec(
            node_class_ref=NodeClassRef("dra-scheduler.dev", "InstanceType", "default"), requirements=()
        ),
        status=NodeClaimStatus(node_name=node_name, capacity=quantities({"cpu": cpu})),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_wrong_with_a_pool_is_named_by_its_path(case: dict[str, Any]) -> None:
    found = pool_faults(pool(case))

    assert [one.path for one in found] == [path for path, _ in case["faults"]]
    assert [text for one, (_, text) in zip(found, case["faults"], strict=True) if text not in one.message] == []


def test_a_pool_whose_name_can_be_no_label_is_not_valid() -> None:
    whole = pool({})
    named = replace(whole, metadata=replace(whole.metadata, name=63 * "n"))
    too_long = replace(whole, metadata=replace(whole.metadata, name=64 * "n"))

    assert pool_faults(named) == ()
    assert [one.path for one in pool_faults(too_long)] == ["metadata.name"]


def test_a_pool_shows_what_its_nodes_have() -> None:
    here = node("n1")
    here = replace(here, status=replace(here.status, capacity=quantities({"cpu": "8", "nvidia.com/gpu": "2"})))
    claims = (claim("a", node_name="n1"), claim("b"), claim("c", of="other"))

    status = pool_status(pool({}), claims, {"n1": here}, has_types=True, now=NOW)

    assert status.nodes == 1
    assert {name: str(one) for name, one in status.resources.items()} == {
        "cpu": "12",
        "nodes": "1",
        "nvidia.com/gpu": "2",
    }
    assert {one.type: one.status for one in status.conditions} == dict.fromkeys(
        ("ValidationSucceeded", "NodeClassReady", "Ready"), "True"
    )


@pytest.mark.parametrize("has_types", [True, False])
def test_a_status_that_says_it_all_is_not_written_again(has_types: bool) -> None:  # noqa: FBT001
    first = pool_status(pool({}), (), {}, has_types=has_types, now=NOW)
    again = pool_status(replace(pool({}), status=first), (), {}, has_types=has_types, now=LATER)

    assert again == first


def test_a_pool_without_machines_is_not_ready() -> None:
    status = pool_status(pool({}), (), {}, has_types=False, now=NOW)

    assert [one.type for one in status.conditions if one.status == "False"] == ["NodeClassReady", "Ready"]
    assert "node class default" in status.conditions[1].message
