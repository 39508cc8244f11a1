"""Nodes that are planned, and nodes that come up: what `dra simulate` says of an empty cluster."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes

Write = Callable[[str, str], str]
SAMPLES = Path(__file__).parents[2] / "manifests" / "samples"
NEW_NODE = [str(SAMPLES / "new-node.yaml"), str(SAMPLES / "instancetypes")]
GPU: Json = {"pools": {"default": {}}, "types": {"gpu": {"devices": {"a": 1}}}}


def text_of(world: Json, *more: Json) -> str:
    items = [*standard_classes(), *manifests(world), *more]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def simulated(world: Json, *words: str, more: tuple[Json, ...] = ()) -> Json:
    ended = dra("simulate", "-", "-o", "json", *words, text=text_of(world, *more))
    assert ended.code == 0, ended.err
    found: Json = json.loads(ended.out)
    return found


def test_an_empty_cluster_gets_one_node_claim_of_the_types_that_serve() -> None:
    found = json.loads(dra("simulate", *NEW_NODE, "-o", "json").out)
    (claim,) = found["nodeClaims"]
    types = {one["key"]: one["values"] for one in claim["spec"]["requirements"]}["node.kubernetes.io/instance-type"]

    assert types == ["p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge"]
    assert claim["metadata"]["annotations"]["karpenter.sh/requested-dra-drivers"] == "dra.net,gpu.nvidia.com"
    assert found["nominations"] == [{"pod": "default/needs-a-node", "nodeClaim": claim["metadata"]["name"]}]
    assert (found["bindRequests"], found["pending"]) == ([], [])


def test_a_node_that_came_up_gives_published_devices_behind_one_root() -> None:
    found = json.loads(dra("simulate", *NEW_NODE, "-o", "json", "--launch").out)
    (claim,), (request,) = found["nodeClaims"], found["bindRequests"]
    (entry,) = request["spec"]["resourceClaimAllocations"]

    assert claim["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "p4d.24xlarge"
    assert {one["type"]: one["status"] for one in claim["status"]["conditions"]}["Initialized"] == "True"
    assert {one["pool"] for one in entry["allocation"]["devices"]["results"]} == {claim["status"]["nodeName"]}
    assert {one["device"] for one in entry["allocation"]["devices"]["results"]} == {"gpu-0", "efa-0"}
    assert found["devices"] == {"total": 15, "allocated": 2}
    assert found["stats"]["nodes"] == 1


@pytest.mark.parametrize("words", [[], ["--launch"]])
def test_a_pair_that_no_machine_has_behind_one_root_makes_no_node(words: list[str]) -> None:
    types = [str(SAMPLES / "instancetypes" / name) for name in ("gb200.yaml", "mi300x.yaml", "nodepools.yaml")]
    found = json.loads(dra("simulate", NEW_NODE[0], *types, "-o", "json", *words).out)
    (pending,) = found["pending"]

    assert (found["nodeClaims"], found["stats"]["nodes"]) == ([], 0)
    assert "resource.kubernetes.io/pcieRoot" in pending["message"]


@pytest.mark.parametrize("words", [[], ["--launch"]])
def test_the_order_of_the_input_changes_no_byte(words: list[str], write: Write) -> None:
    items = json.loads(text_of({**GPU, "pods": {"p": {"wants": ["r"], "count": 3}, "q": {"cpu": 4}}}))["items"]
    files = [
        write(name, json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
        for name, listed in (("a.json", items), ("b.json", items[::-1]))
    ]

    assert len({dra("simulate", file, "-o", "json", *words).out for file in files}) == 1


def test_a_pod_that_no_type_serves_says_what_nodes_and_what_pools_have_against_it() -> None:
    found = simulated({**GPU, "nodes": {"n1": {}}, "pods": {"p": {"wants": [{"name": "r", "class": "b"}]}}})
    (pending,) = found["pending"]

    assert pending["message"].startswith("0/1 nodes fit: on 1: ")
    assert "; no new node: NodePool default: " in pending["message"]
    assert found["nodeClaims"] == []


def test_node_pools_are_told_by_their_weight_those_that_are_not_for_the_pod_last() -> None:
    world: Json = {
        "pools": {
            "a-light": {},
            "heavy": {"weight": 9, "limits": {"cpu": "0"}},
            "not-for-it": {"weight": 20, "taints": ["k=v:NoSchedule"]},
        },
        "types": {"plain": {}},
        "pods": {"p": {"wants": ["r"]}},
    }
    (pending,) = simulated(world)["pending"]
    said = [one["message"].split(":")[0] for one in pending["reasons"]]
    assert said == ["NodePool heavy", "NodePool a-light", "NodePool not-for-it"]


def test_without_node_pools_nothing_is_said_of_new_nodes() -> None:
    (pending,) = simulated({"pods": {"p": {}}})["pending"]
    assert pending["message"] == "0/0 nodes fit: the cluster has no nodes"


def test_a_pod_that_waits_for_its_claim_asks_for_no_node() -> None:
    found = simulated({**GPU, "pods": {"p": {"claims": ["missing"]}}})
    assert (found["nodeClaims"], len(found["pending"])) == ([], 1)


def test_a_pod_that_waits_for_a_node_is_not_pending() -> None:
    world = text_of({**GPU, "pods": {"p": {"wants": ["r"]}}})
    assert dra("simulate", "-", "--fail-on-pending", text=world).code == 0


def test_a_pod_of_an_earlier_plan_keeps_its_node_claim() -> None:
    world = {**GPU, "nodeclaims": {"old": {"types": ["gpu"], "pods": ["p"]}}, "pods": {"p": {"wants": ["r"]}}}
    found = simulated(world)
    assert found["nominations"] == [{"pod": "default/p", "nodeClaim": "old"}]
    assert found["nodeClaims"] == []


def test_a_node_that_is_being_set_up_comes_up_with_what_its_drivers_still_owe() -> None:
    claim = {"node": "n1", "is": {"type": "both"}, "types": ["both"], "pods": ["p"], "drivers": ["a", "b"]}
    world: Json = {
        "pools": {"default": {}},
        "types": {"both": {"devices": {"a": 1, "b": 1}}},
        "nodes": {"n1": {"labels": {"pool": "default", "type": "both"}, "taints": ["late:NoSchedule"]}},
        "nodeclaims": {"old": claim},
        "slices": [{"driver": "a", "node": "n1", "pool": "n1", "owner": ["n1"], "devices": ["own"]}],
        "pods": {"p": {"wants": ["r", {"name": "s", "class": "b"}]}},
    }
    (request,) = simulated(world, "--launch")["bindRequests"]
    (entry,) = request["spec"]["resourceClaimAllocations"]

    assert {one["device"] for one in entry["allocation"]["devices"]["results"]} == {"own", "b-0"}


def test_a_node_that_its_node_claim_does_not_know_yet_is_the_one_that_comes_up() -> None:
    world: Json = {**GPU, "nodes": {"n1": {"labels": {"pool": "default", "type": "gpu"}}}, "pods": {"p": {"cpu": 9}}}
    claim, node = (manifests({**world, "nodeclaims": {"c": {"is": {"type": "gpu"}}}})[place] for place in (3, 2))
    claim["status"]["providerID"] = node["spec"]["providerID"] = "kwok://c"
    found = simulated({"pods": world["pods"], **GPU}, "--launch", more=(claim, node))
    assert [one["status"]["nodeName"] for one in found["nodeClaims"]] == ["n1"]
    assert found["stats"]["nodes"] == 1


def test_an_incomplete_pool_of_a_node_that_comes_up_is_published_anew() -> None:
    claim = {"node": "n1", "is": {"type": "gpu"}, "types": ["gpu"], "pods": ["p"], "drivers": ["a"]}
    world: Json = {
        **GPU,
        "nodes": {"n1": {"labels": {"pool": "default", "type": "gpu"}}},
        "nodeclaims": {"old": claim},
        "slices": [{"node": "n1", "pool": "n1", "owner": ["n1"], "count": 2, "devices": ["half"], "generation": 7}],
        "pods": {"p": {"wants": ["r"]}},
    }
    (request,) = simulated(world, "--launch")["bindRequests"]
    assert request["spec"]["resourceClaimAllocations"][0]["allocation"]["devices"]["results"][0]["device"] == "a-0"


def test_daemons_take_their_room_of_nodes_that_come_up() -> None:
    world: Json = {
        "pools": {"default": {}},
        "types": {"small": {"cpu": 4}},
        "daemons": {"agent": {"cpu": 1}},
        "pods": {"p": {"cpu": 3}, "q": {"cpu": 3}},
    }
    found = simulated(world, "--launch")
    assert len(found["nodeClaims"]) == 2
    assert len({one["spec"]["selectedNode"] for one in found["bindRequests"]}) == 2
    assert found["stats"]["pods"] == 4


def test_a_node_that_turns_out_unlike_its_plan_is_no_reason_to_make_more_and_more() -> None:
    # A selector sees no value that is only bound, and a made-up driver publishes one that it refuses.
    root = {"attribute": "resource.kubernetes.io/pcieRoot", "devices": [{"driver": "a", "name": "a-{index}"}]}
    avoided = "!('pcieRoot' in device.attributes['resource.kubernetes.io'])"
    world: Json = {
        "pools": {"default": {}},
        "types": {"gpu": {"devices": {"a": 2}, "bindings": [root]}},
        "pods": {"p": {"wants": [{"name": "r", "where": [avoided]}]}},
    }
    found = simulated(world, "--launch")
    assert [one["pod"] for one in found["pending"]] == ["default/p"]
    assert len(found["nodeClaims"]) in {1, 2}


def test_pods_that_one_node_was_planned_for_get_it_in_the_order_of_the_plan() -> None:
    # By name "any" comes first, and would take the one device that the pair can use.
    root = {
        "attribute": "example.com/root",
        "devices": [{"driver": "a", "name": "a-0"}, {"driver": "b", "name": "b-0"}],
    }
    pair: Json = {"requests": ["g", {"name": "n", "class": "b"}], "match": [["example.com/root", []]]}
    world: Json = {
        "pools": {"default": {}},
        "types": {"gpu": {"devices": {"a": 2, "b": 1}, "bindings": [root]}},
        "pods": {"any": {"wants": ["g"]}, "pair": {"cpu": 2, "wants": pair}},
    }
    found = simulated(world, "--launch")
    (claim,) = found["nodeClaims"]
    assert {one["spec"]["selectedNode"] for one in found["bindRequests"]} == {claim["status"]["nodeName"]}
    assert len(found["bindRequests"]) == 2


def test_a_trace_tells_which_pods_have_a_node_to_come(write: Write) -> None:
    file = write("world.json", text_of({**GPU, "pods": {"p": {"wants": ["r"]}}}))
    assert dra("simulate", file, "--trace", "trace.jsonl").code == 0
    events = [json.loads(line) for line in (Path.cwd() / "trace.jsonl").read_text().splitlines()]
    assert [(one["pod"], one["node"]) for one in events if one["event"] == "planned"] == [("default/p", None)]


def test_pods_being_deleted_make_room_where_time_goes_on() -> None:
    world: Json = {
        "nodes": {"n1": {"cpu": 2}},
        "pods": {"old": {"cpu": 2, "runs": "n1", "phase": "Running", "deleting": True}, "p": {"cpu": 2}},
        "pools": {"default": {}},
    }
    assert simulated(world)["nominations"] == [{"pod": "default/p", "nodeClaim": "", "node": "n1"}]
    assert [one["spec"]["selectedNode"] for one in simulated(world, "--launch")["bindRequests"]] == ["n1"]
