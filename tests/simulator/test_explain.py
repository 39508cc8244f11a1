"""The story of one pod, and the trace of the search."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dra_cases.command import dra

Write = Callable[[str, str], str]
CASES = Path(__file__).parent.parent / "cases"


def case(name: str) -> str:
    return str(CASES / f"{name}.yaml")


def story(name: str, pod: str) -> dict[str, object]:
    ended = dra("simulate", case(name), "-o", "json", "--explain", pod)
    assert ended.code == 0, ended.err
    found: dict[str, object] = json.loads(ended.out)["explanation"]
    return found


def test_every_node_gives_every_reason() -> None:
    told = story("every-node-says-why-not", "picky")
    nodes = {node["node"]: [reason["reason"] for reason in node["reasons"]] for node in told["nodes"]}  # type: ignore[attr-defined]
    assert nodes == {
        "n1": ["NodeUnschedulable"],
        "n2": ["UntoleratedTaint"],
        "n3": ["NodeSelectorMismatch"],
        "n5": ["InsufficientResource"],
    }


def test_nodes_that_look_the_same_are_told_of_once() -> None:
    told = story("every-node-says-why-not", "picky")["nodes"]
    assert [(node["node"], node["count"], node["names"]) for node in told] == [  # type: ignore[attr-defined]
        ("n5", 1, ["n5"]),
        ("n1", 1, ["n1"]),
        ("n2", 1, ["n2"]),
        ("n3", 2, ["n3", "n4"]),
    ]


def test_the_nearest_miss_is_the_node_with_the_fewest_reasons() -> None:
    told = story("cpu-still-counts-on-a-dra-node", "second")
    assert told["outcome"] == "pending"
    assert told["nearestMiss"]["node"] == "n1"  # type: ignore[index]


def test_nodes_speak_at_the_moment_when_the_pod_is_decided() -> None:
    told = story("pods-are-packed", "d")
    assert told["outcome"] == "goes to node n1"
    assert [(node["node"], node["fits"]) for node in told["nodes"]] == [("n1", True), ("n2", True)]  # type: ignore[attr-defined]
    assert told["nearestMiss"] is None


def test_who_serves_an_extended_resource_is_told_node_by_node() -> None:
    nodes = story("device-plugin-here-dra-there", "six")["nodes"]
    served = {node["node"]: node["extendedResources"] for node in nodes}  # type: ignore[attr-defined]
    resource = {"resource": "example.com/gpu", "wanted": 6}
    assert served == {
        "plugin": [{**resource, "servedBy": "node", "deviceClass": None, "free": 0}],
        "dra": [{**resource, "servedBy": "DRA", "deviceClass": "gpu.example.com", "free": None}],
    }


def test_a_resource_that_nobody_serves_is_told() -> None:
    nodes = story("name-without-class-is-plainly-insufficient", "trainer")["nodes"]
    served = [item["servedBy"] for node in nodes for item in node["extendedResources"]]  # type: ignore[attr-defined]
    assert served == ["nobody"]


def test_room_that_devices_take_of_a_node_is_told() -> None:
    words = "--explain", "second", "--feature-gates", "DRANodeAllocatableResources=true"
    told = json.loads(dra("simulate", case("devices-take-cpu-and-memory-of-their-node"), *words).out)["explanation"]
    assert [reason["reason"] for reason in told["nearestMiss"]["reasons"]] == ["InsufficientResource"]
    assert len(told["nearestMiss"]["changes"]) == 1


def test_to_explain_changes_neither_decisions_nor_figures() -> None:
    for name, pod in (("gpu-and-nic-share-a-pcie-root", "a"), ("pods-are-packed", "a")):
        result = json.loads(dra("simulate", case(name), "--explain", pod).out)
        del result["explanation"]
        assert result == json.loads(dra("simulate", case(name)).out)


def test_what_stands_against_the_pod_as_such_needs_no_node() -> None:
    told = story("pod-waits-for-a-claim-that-does-not-exist", "default/trainer")
    assert told["nodes"] == []
    assert [reason["reason"] for reason in told["reasons"]] == ["ClaimMissing"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "pod", "outcome"),
    [
        ("running-pods-take-their-room", "big", "is bound to node n1"),
        ("running-pods-take-their-room", "done", "has finished (Succeeded)"),
        ("pods-of-other-schedulers-are-left-alone", "theirs", "is left to its scheduler default-scheduler"),
        ("living-bind-request-holds-room-and-devices", "first", "has a BindRequest that is being carried out"),
        (
            "bind-that-waits-holds-its-device",
            "first",
            "has a BindRequest that is being carried out: waiting for its device",
        ),
    ],
)
def test_a_pod_that_is_not_decided_has_a_story_too(name: str, pod: str, outcome: str) -> None:
    assert story(name, pod)["outcome"] == outcome


def test_an_unknown_pod_is_an_error_of_input() -> None:
    ended = dra("simulate", case("pods-are-packed"), "--explain", "nobody")
    assert (ended.code, ended.out) == (2, "")
    assert ended.problems == [
        "--explain: Pod default/nobody: -: expected a pod that is there, as NAME or NAMESPACE/NAME"
    ]


def test_a_pod_of_another_namespace_is_pointed_at() -> None:
    ended = dra("simulate", case("pods-are-packed"), "--explain", "elsewhere/a")
    assert ended.problems == [
        "--explain: Pod elsewhere/a: -: expected a pod that is there, as NAME or NAMESPACE/NAME, such as default/a"
    ]


def trace(name: str, file: str = "trace.jsonl") -> list[dict[str, object]]:
    ended = dra("simulate", case(name), "--trace", file)
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def test_a_trace_tells_each_step_in_order(tmp_path: Path) -> None:
    events = trace("gpu-and-nic-share-a-pcie-root", str(tmp_path / "t"))
    first = [event for event in events if event["pod"] == "default/a"]
    assert [event["event"] for event in first] == ["pod", "take", "take", "node", "decided"]
    assert first[1] == {
        "event": "take",
        "pod": "default/a",
        "node": "n1",
        "claim": "pair",
        "request": "gpu",
        "device": "gpu.example.com/n1/gpu-0",
    }
    assert first[-1] == {"event": "decided", "pod": "default/a", "node": "n1"}


def test_a_trace_tells_what_was_given_back(write: Write) -> None:
    world = write("world.yaml", Path(case("first-choice-is-given-back")).read_text())
    assert dra("simulate", world, "--trace", "t").code == 0
    steps = [json.loads(line) for line in Path("t").read_text().splitlines()]
    told = [(step["event"], step["device"].rpartition("/")[2]) for step in steps if "device" in step]
    in_vain = [(event, f"gpu-{number}") for number in range(4) for event in ("take", "giveBack")]
    assert told == [*in_vain, ("take", "gpu-4"), ("take", "gpu-5")]


def test_a_trace_tells_why_a_node_refuses(tmp_path: Path) -> None:
    events = trace("every-node-says-why-not", str(tmp_path / "t"))
    assert [(event["node"], event["verdict"]) for event in events if event["event"] == "node"] == [
        (f"n{number}", "refuses") for number in range(1, 6)
    ]
    assert events[-1] == {"event": "decided", "pod": "default/picky", "node": None}


def test_a_trace_changes_no_decision(tmp_path: Path) -> None:
    for name in ("gpu-and-nic-share-a-pcie-root", "pods-are-packed", "thirty-two-devices-a-claim-and-not-one-more"):
        ended = dra("simulate", case(name), "--trace", str(tmp_path / "t"))
        assert ended.out == dra("simulate", case(name)).out


def test_a_trace_that_cannot_be_written_is_an_error_of_input() -> None:
    ended = dra("simulate", case("pods-are-packed"), "--trace", "absent/folder/t")
    assert (ended.code, ended.out) == (2, "")
    assert ended.problems == [
        "--trace: absent/folder/t: -: expected a file that can be written: No such file or directory"
    ]
