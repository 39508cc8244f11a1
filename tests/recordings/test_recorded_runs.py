"""Runs of the operator at a real control plane, recorded with `DRA_RECORD`, decide today what they decided then.

`demo` is `make demo`, the others are the runs with faults of `tests/cluster/test_recorded_runs.py`. After a change of
decisions that is meant, `python -m tests.recordings.update` writes today's decisions into the recordings; what it
changes is to be read before it is committed.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dra_scheduling.cycle.replay import replay

FOLDER = Path(__file__).parent
NAMES = [path.name for path in sorted(FOLDER.glob("*.jsonl.gz"))]


def lines_of(name: str) -> list[bytes]:
    return gzip.decompress((FOLDER / name).read_bytes()).splitlines(keepends=True)


def parsed(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(name)]


def decided(name: str, kind: str) -> list[Any]:
    return [one for line in parsed(name) if "decide" in line for one in line["decide"]["decisions"][kind]]


def results(name: str) -> list[str]:
    return [line["result"] for line in parsed(name) if "result" in line]


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_is_decided_again_to_the_byte(name: str) -> None:
    found = replay(lines_of(name))

    assert found.divergence is None
    assert found.decisions == sum("decide" in line for line in parsed(name)) > 0


def test_the_demo_makes_a_node_binds_pods_and_removes_the_node() -> None:
    assert len(decided("demo.jsonl.gz", "nodeClaims")) == 1
    assert len(decided("demo.jsonl.gz", "bindRequests")) > 1
    assert [step["step"] for step in decided("demo.jsonl.gz", "disruption")][-1] == "Remove"


@pytest.mark.parametrize(
    ("name", "result"),
    [("decision-throttled", "Throttled"), ("decision-lost", "Lost"), ("nodeclaim-refused", "Refused")],
)
def test_a_run_with_faults_has_a_write_that_failed_and_the_same_one_that_did_not(name: str, result: str) -> None:
    found = results(f"{name}.jsonl.gz")

    assert found[0] == result
    assert found[-1] == "Done"


def test_a_process_that_was_killed_leaves_a_decision_that_the_next_one_does_not_make_again() -> None:
    (request,) = decided("killed-while-writing.jsonl.gz", "bindRequests")
    again = decided("started-again.jsonl.gz", "bindRequests")

    assert results("killed-while-writing.jsonl.gz") == []
    assert request[0]["spec"]["podUID"] not in {one[0]["spec"]["podUID"] for one in again}


@pytest.mark.parametrize("name", NAMES)
def test_no_recording_holds_what_containers_run(name: str) -> None:
    text = gzip.decompress((FOLDER / name).read_bytes()).decode()

    assert not any(f'"{field}"' in text for field in ("command", "args", "env", "envFrom", "volumeMounts", "image"))
