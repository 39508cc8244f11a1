"""Features switched by the names of Kubernetes' gates, in every command that decides."""

import json
from pathlib import Path

import pytest

from dra_cases import cases
from dra_cases.command import dra
from dra_cases.server import ListServer
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import write
from dra_simulator.complete import complete
from dra_simulator.load import Loaded, Manifest

WORLD = str(Path(__file__).parent.parent / "cases" / "node-of-the-preferred-alternative-wins.yaml")
OFF = "--feature-gates=DRAPrioritizedList=false"
REASON = "needs feature DRAPrioritizedList, which is off"


def test_a_feature_that_is_off_is_refused_by_name() -> None:
    usual, without = (json.loads(dra("simulate", WORLD, *words).out) for words in ((), (OFF,)))

    assert REASON not in str(usual)
    assert [REASON in entry["message"] for entry in without["pending"]] == [True] * len(usual["bindRequests"])


def test_the_story_is_of_the_same_features() -> None:
    pod = json.loads(dra("simulate", WORLD).out)["bindRequests"][0]["spec"]["podName"]

    assert REASON in str(json.loads(dra("simulate", WORLD, OFF, "--explain", pod).out)["explanation"])


def test_claims_are_checked_with_the_same_features() -> None:
    assert REASON not in dra("check", WORLD).out
    assert REASON in dra("check", WORLD, OFF).out


@pytest.mark.parametrize("words", [("simulate", WORLD), ("check", WORLD), ("explain", "pod", "p")], ids=lambda w: w[0])
@pytest.mark.parametrize(
    ("gates", "problem"),
    [("DRAMagic=true", "unknown feature gate DRAMagic"), ("DRAAdminAccess", "expected a comma list of GATE=true")],
)
def test_a_gate_that_cannot_be_switched_is_bad_input(words: tuple[str, ...], gates: str, problem: str) -> None:
    ended = dra(*words, "--feature-gates", gates)

    assert (ended.code, ended.out) == (2, "")
    assert f"argument --feature-gates: {problem}" in ended.err


def test_a_live_cluster_is_explained_with_the_same_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = next(case for case in cases() if str(case.path) == WORLD)
    manifests = tuple(Manifest(file=found.name, raw=raw) for raw in found.objects)
    world = complete(Loaded(manifests=manifests))
    with ListServer([write(value) for value in world.objects]) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        told = [dra("explain", "pod", world.of(Pod)[0].metadata.name, *words).out for words in ((), (OFF,))]

    assert [REASON in text for text in told] == [False, True]
