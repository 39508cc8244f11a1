import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_controlplane.client import Json
from dra_scheduling.wire import read
from dra_simulator.__main__ import main

SAMPLES = Path(__file__).parents[2] / "manifests/samples"
DOCUMENTS = [
    (f"{path.name}-{number}", document)
    for path in sorted(SAMPLES.rglob("*.yaml"))
    for number, document in enumerate(yaml.safe_load_all(path.read_text()))
]
NAMES = [name for name, _ in DOCUMENTS]


def of_kind(kind: str) -> dict[str, Json]:
    return {document["metadata"]["name"]: document for _, document in DOCUMENTS if document["kind"] == kind}


def values(node: Any, key: str) -> set[str]:  # noqa: ANN401  any part of a document
    if isinstance(node, dict):
        own = {node[key]} if isinstance(node.get(key), str) else set()
        return own.union(*(values(part, key) for part in node.values()))
    return set().union(*(values(part, key) for part in node)) if isinstance(node, list) else set()


@pytest.mark.parametrize("document", [document for _, document in DOCUMENTS], ids=NAMES)
def test_a_sample_can_be_read(document: Json) -> None:
    assert read(document).metadata.name == document["metadata"]["name"]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("deviceClassName", "DeviceClass"),
        ("resourceClaimName", "ResourceClaim"),
        ("resourceClaimTemplateName", "ResourceClaimTemplate"),
    ],
)
def test_what_samples_refer_to_is_among_them(key: str, kind: str) -> None:
    named = values([document for _, document in DOCUMENTS], key)

    assert named
    assert named <= set(of_kind(kind))


def test_every_pod_is_for_this_scheduler() -> None:
    assert {pod["spec"].get("schedulerName") for pod in of_kind("Pod").values()} == {"dra-scheduler"}


def test_no_two_samples_have_one_name() -> None:
    counted = Counter((document["kind"], document["metadata"]["name"]) for _, document in DOCUMENTS)

    assert [key for key, number in counted.items() if number > 1] == []


def test_the_samples_do_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["simulate", str(SAMPLES), "-o", "json"])

    result = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [entry["pod"] for entry in result["pending"]] == ["default/never-fits"]
    assert [entry["pod"] for entry in result["nominations"]] == ["default/needs-a-node"]
    others = {"never-fits", "needs-a-node"}
    assert {request["spec"]["podName"] for request in result["bindRequests"]} == set(of_kind("Pod")) - others
