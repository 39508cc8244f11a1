"""The worlds of plans through `dra simulate`: what the library plans is what the command line prints."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.turns import told
from dra_cases.worlds import manifests, standard_classes
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.wire import read_as

WORLDS = Path(__file__).parent.parent / "scheduling" / "provisioning"


# What the time is nobody says in files: types rest until a moment after the last that was created.
OF_ANOTHER_TIME = {
    "a failure that a type has had its rest for keeps nobody from it",
    "a type that failed long ago is tried again",
    "a type that has had its rest is made again",
    "the end of a rest is a moment wherever it was written",
}


def worlds() -> Iterator[Any]:
    for path in sorted(WORLDS.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            if case["name"] not in OF_ANOTHER_TIME:
                yield pytest.param({"pools": {"default": {}}, **case}, id=f"{path.stem}: {case['name']}")


def _stored(world: Json) -> Iterator[Json]:
    """The objects; NodePools as another release of their definition let them in."""
    for raw in manifests(world):
        yield {**raw, "metadata": {"uid": raw["metadata"]["name"], **raw["metadata"]}} if _is_pool(raw) else raw


def _is_pool(raw: Json) -> bool:
    return bool(raw["kind"] == "NodePool")


def simulated(world: Json, *words: str) -> Json:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*standard_classes(), *_stored(world)]})
    gates = ",".join(f"{name}={value}" for name, value in world.get("features", {}).items())
    ended = dra("simulate", "-", "-o", "json", "--feature-gates", gates, *words, text=text)
    assert ended.code == 0, ended.err
    found: Json = json.loads(ended.out)
    return found


@pytest.mark.parametrize("world", list(worlds()))
def test_what_is_planned_is_printed(world: Json) -> None:
    found = simulated(world)
    known = set(world.get("nodeclaims", {}))
    claims = [
        told(read_as(NodeClaim, claim)) for claim in found["nodeClaims"] if claim["metadata"]["name"] not in known
    ]
    wanted = world.get("makes", [])
    bound = {one["metadata"]["name"]: one["spec"]["selectedNode"] for one in found["bindRequests"]}

    assert bound == world.get("binds", {})
    assert sorted(claim["pods"] for claim in claims) == sorted(sorted(one["pods"]) for one in wanted)
    for one in wanted:
        (claim,) = (claim for claim in claims if claim["pods"] == sorted(one["pods"]))
        assert {key: claim[key] for key in ("types", "drivers") if key in one} == {
            key: one[key] for key in ("types", "drivers") if key in one
        }


@pytest.mark.parametrize("world", list(worlds()))
def test_pods_that_a_node_is_made_for_run_once_it_is_up(world: Json) -> None:
    planned, launched = simulated(world), simulated(world, "--launch")
    names = {claim["metadata"]["name"] for claim in planned["nodeClaims"]}
    waited = {one["pod"] for one in planned["nominations"] if one["nodeClaim"] in names}
    bound = {f"default/{one['metadata']['name']}" for one in launched["bindRequests"]}
    others = [one["pod"] for key in ("nominations", "pending") for one in launched[key]]

    assert waited <= bound
    assert all(claim["status"]["nodeName"] for claim in launched["nodeClaims"])
    assert bound.isdisjoint(others)
    assert len(others) == len(set(others))
