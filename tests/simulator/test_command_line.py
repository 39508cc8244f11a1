"""`dra` as scripts use it: formats, exit codes, what goes where."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from dra_cases.command import dra

Write = Callable[[str, str], str]
CASES = Path(__file__).parent.parent / "cases"
GOLDEN = Path(__file__).parent / "golden"
PLACED = str(CASES / "shared-claim-takes-its-device-once.yaml")
PENDING = str(CASES / "every-node-says-why-not.yaml")
SAMPLES = CASES.parent.parent / "manifests" / "samples"
NEW_NODE = (str(SAMPLES / "new-node.yaml"), str(SAMPLES / "instancetypes"))
PAIRS = str(CASES / "gpu-and-nic-share-a-pcie-root.yaml")
KEYS = [
    "apiVersion",
    "kind",
    "bindRequests",
    "nodeClaims",
    "nominations",
    "evictions",
    "pending",
    "queues",
    "devices",
    "stats",
]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("placed.txt", ["simulate", PLACED, "-o", "table"]),
        ("pending.txt", ["simulate", PENDING, "-o", "table"]),
        ("explained.txt", ["simulate", PENDING, "-o", "table", "--explain", "picky"]),
        ("explained-devices.txt", ["simulate", PAIRS, "-o", "table", "--explain", "c"]),
        ("placed.json", ["simulate", PLACED, "-o", "json"]),
        ("placed.yaml", ["simulate", PLACED, "-o", "yaml"]),
        ("planned.txt", ["simulate", *NEW_NODE, "-o", "table"]),
        ("planned.json", ["simulate", *NEW_NODE, "-o", "json"]),
        ("launched.txt", ["simulate", *NEW_NODE, "-o", "table", "--launch"]),
        ("explained-supply.txt", ["simulate", *NEW_NODE, "-o", "table", "--explain", "needs-a-node"]),
    ],
)
def test_output_is_as_kept(name: str, words: list[str]) -> None:
    assert dra(*words).out == (GOLDEN / name).read_text()


def test_a_claim_without_requests_is_shown_as_such_among_what_is_placed(write: Write) -> None:
    pod_spec = "schedulerName: dra-scheduler, resourceClaims: [{name: gpu, resourceClaimName: none}], containers: []"
    documents = (
        "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {pods: 5}}}",
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: none}, spec: {devices: {}}}",
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{pod_spec}}}}}",
    )
    ended = dra("simulate", write("none.yaml", "\n---\n".join(documents)), "-o", "table")
    assert ended.out.splitlines()[1].split(maxsplit=2) == ["default/p", "n1", "gpu=(no requests)"]


def test_all_keys_are_there_even_if_nothing_is(write: Write) -> None:
    result = json.loads(dra("simulate", write("empty.yaml", "{apiVersion: v1, kind: List, items: []}")).out)
    assert list(result) == KEYS
    assert (result["apiVersion"], result["kind"]) == ("dra-scheduler.dev/v1alpha1", "SimulationResult")
    assert result["devices"] == {"total": 0, "allocated": 0}
    assert result["stats"] == {"pods": 0, "nodes": 0, "searchSteps": 0}


def test_the_order_of_documents_changes_no_byte(write: Write) -> None:
    documents = (CASES / "gpu-and-nic-share-a-pcie-root.yaml").read_text().split("---\n")
    forward = dra("simulate", write("a.yaml", "---\n".join(documents))).out
    assert dra("simulate", write("b.yaml", "---\n".join(reversed(documents)))).out == forward


def test_json_and_yaml_say_the_same() -> None:
    assert yaml.safe_load(dra("simulate", PLACED, "-o", "yaml").out) == json.loads(dra("simulate", PLACED).out)


def test_standard_input_is_read_for_a_dash() -> None:
    assert dra("simulate", "-", text=Path(PLACED).read_text()).out == dra("simulate", PLACED).out


def test_a_pending_pod_is_no_failure_unless_asked_for() -> None:
    assert dra("simulate", PENDING).code == 0
    assert dra("simulate", PENDING, "--fail-on-pending").code == 1
    assert dra("simulate", PLACED, "--fail-on-pending").code == 0


def test_input_that_cannot_be_used_ends_with_2_and_one_line_a_problem(write: Write) -> None:
    write("a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: no}")
    write("b.yaml", 'apiVersion: v1\nkind: Node\nmetadata: {name: "two\\nlines"}\nstatus: {allocatable: {cpu: no}}')
    ended = dra("simulate", "a.yaml", "b.yaml", "c.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert [line.split(": ")[0] for line in ended.problems] == ["a.yaml", "b.yaml", "c.yaml"]
    assert ended.problems[0] == "a.yaml: Pod default/a: $.spec.containers: expected a list, got a boolean"


def test_what_can_be_used_is_scheduled_as_if_the_rest_were_not_there(write: Write) -> None:
    broken = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: 1}"
    ended = dra("simulate", write("broken.yaml", broken), PLACED)
    assert (ended.code, ended.out) == (2, dra("simulate", PLACED).out)
    assert ended.problems == [
        "broken.yaml: ResourceSlice s: $.spec: missing required field pool",
        "broken.yaml: ResourceSlice s: $.spec.driver: expected a string, got a whole number",
    ]


def test_a_pod_that_cannot_be_read_is_told_apart_from_one_that_is_not_there(write: Write) -> None:
    broken = "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec: {containers: no}"
    ended = dra("simulate", write("broken.yaml", broken), PLACED, "--explain", "broken")
    assert (ended.code, ended.out) == (2, "")
    assert [line.split(": ")[0] for line in ended.problems] == ["broken.yaml", "--explain"]


def test_objects_of_unknown_kinds_are_mentioned() -> None:
    assert dra("simulate", PLACED).err == "ignored 1 object of unknown kinds: 1 cases.dra-scheduler.dev/v1 Case\n"


def test_documents_of_a_folder_that_are_no_objects_are_mentioned(write: Write) -> None:
    write("chart/values.yaml", "replicas: 3")
    assert dra("simulate", "chart").err == "ignored 1 object of unknown kinds: 1 documents that are no objects\n"


@pytest.mark.parametrize(
    "words",
    [["simulate", PLACED, "--evict"], ["queues"]],
)
def test_what_comes_with_a_later_release_says_so(words: list[str]) -> None:
    ended = dra(*words)
    assert ended.code == 2
    assert len(ended.problems) == 1
    assert "not in this release" in ended.err


def test_without_eviction_is_how_it_is_anyway() -> None:
    assert dra("simulate", PLACED, "--no-evict").code == 0


def test_help_has_examples_and_exit_codes() -> None:
    for command in ("simulate", "check"):
        ended = dra(command, "--help")
        assert ended.code == 0
        assert f"examples:\n  dra {command} manifests/" in ended.out
        assert "exit codes: 0 " in ended.out


def test_the_version_is_that_of_the_distribution() -> None:
    assert dra("--version").out == f"dra {version('dra-scheduler')}\n"


@pytest.mark.parametrize("words", [[], ["simulate"], ["simulate", PLACED, "-o", "xml"], ["undo"]])
def test_mistyped_words_end_with_2(words: list[str]) -> None:
    assert dra(*words).code == 2


def test_pods_of_other_schedulers_are_scheduled_on_demand() -> None:
    case = str(CASES / "pods-of-other-schedulers-are-left-alone.yaml")
    assert len(json.loads(dra("simulate", case).out)["bindRequests"]) == 1
    assert len(json.loads(dra("simulate", case, "--all-pods").out)["bindRequests"]) == 2


def test_the_namespace_of_objects_that_name_none_can_be_chosen() -> None:
    result = json.loads(dra("simulate", PLACED, "-n", "team").out)
    assert {request["metadata"]["namespace"] for request in result["bindRequests"]} == {"team"}


def test_names_that_a_stream_cannot_express_come_out_escaped(write: Write) -> None:
    file = write(
        "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: '\u4e2d'}\nspec: {schedulerName: dra-scheduler}"
    )
    program = [sys.executable, "-m", "dra_simulator", "simulate", file, "-o", "table"]
    ended = subprocess.run(
        program, capture_output=True, check=True, timeout=60, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert b"default/\\u4e2d" in ended.stdout


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    program = f"{sys.executable} -m dra_simulator simulate {PLACED} | head -1"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {program}"], capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, b"{\n")
    assert b"Traceback" not in ended.stderr


def test_parameters_nested_too_deep_to_be_written_are_a_problem_of_the_input(write: Write) -> None:
    parameters = "config: [{opaque: {driver: d, parameters: " + "{a: " * 900 + "1" + "}" * 900 + "}}]"
    world = Path(PLACED).read_text() + "\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n"
    requests = "requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]"
    world += f"metadata: {{name: deep}}\nspec: {{devices: {{{requests}, {parameters}}}}}\n"
    world += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: deep}\nspec: {schedulerName: dra-scheduler, "
    world += "containers: [{name: c}], resourceClaims: [{name: c, resourceClaimName: deep}]}\n"
    ended = dra("simulate", write("deep.yaml", world), "-o", "yaml")
    assert ended.code == 2
    assert ended.err == "input: object: $: expected less deep nesting\n"


def test_an_output_that_cannot_be_written_is_told_apart_from_a_pending_pod() -> None:
    program = [sys.executable, "-m", "dra_simulator", "simulate", PENDING, "--fail-on-pending"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert ended.returncode == 2
    assert (
        ended.stderr == b"standard output: file: -: expected an output that can be written: No space left on device\n"
    )
