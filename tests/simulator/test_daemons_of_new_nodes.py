"""Pods of DaemonSets on nodes that come up: they have their devices before the pods that the nodes were made for."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes


def simulated(world: Json) -> Json:
    items = [*standard_classes(), *manifests({"pools": {"default": {}}, **world})]
    ended = dra("simulate", "-", "-o", "json", "--launch", text=json.dumps({"kind": "List", "items": items}))
    assert ended.code == 0, ended.err
    found: Json = json.loads(ended.out)
    return found


def devices_of(found: Json) -> list[str]:
    return sorted(
        result["device"]
        for one in found["bindRequests"]
        for entry in one["spec"]["resourceClaimAllocations"]
        for result in entry["allocation"]["devices"]["results"]
    )


@pytest.mark.parametrize("scheduler", ["default-scheduler", "dra-scheduler"])
def test_daemons_have_their_devices_whoever_schedules_them(scheduler: str) -> None:
    daemons = {"agent": {"wants": ["r"], "scheduler": scheduler}}
    pods = {"p": {"wants": ["r"]}, "q": {"wants": ["r"]}}
    found = simulated({"types": {"gpu": {"devices": {"a": 2}}}, "daemons": daemons, "pods": pods})

    assert len({one["spec"]["selectedNode"] for one in found["bindRequests"]}) == 2
    assert devices_of(found) == ["a-1", "a-1"]


@pytest.mark.parametrize("scheduler", ["default-scheduler", "dra-scheduler"])
def test_a_daemon_without_a_device_of_its_own_holds_nobody_up(scheduler: str) -> None:
    daemons = {"agent": {"wants": [{"name": "r", "class": "b"}], "scheduler": scheduler}}
    found = simulated({"types": {"gpu": {"devices": {"a": 1}}}, "daemons": daemons, "pods": {"p": {"wants": ["r"]}}})

    assert devices_of(found) == ["a-0"]
    assert [one["pod"].partition("/")[0] for one in found["pending"]] == ["kube-system"] * (
        scheduler == "dra-scheduler"
    )


def test_a_daemon_on_a_new_node_is_as_large_as_its_living_pods() -> None:
    running = {"daemon": "agent", "cpu": 3, "runs": "n1", "phase": "Running"}
    found = simulated(
        {
            "pools": {"default": {"limits": {"cpu": 8}}},
            "types": {"t": {"cpu": 8}},
            "daemons": {"agent": {"cpu": 1}},
            "nodes": {"n1": {"taints": ["full:NoExecute"]}},
            "pods": {"agent-1": running, "p": {"cpu": 4}, "q": {"cpu": 2}},
        }
    )

    assert [one["pod"] for one in found["pending"]] == ["default/q"]
