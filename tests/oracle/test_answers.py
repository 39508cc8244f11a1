import json
import shutil
from pathlib import Path

import pytest

from dra_oracle.answers import CODE_OF_A_TREE, ROOT, Answer, answers, asked_of, differences, random_questions
from dra_oracle.clusters import ONE_IN, random_cluster

PENDING = ROOT / "tests" / "cases" / "every-node-says-why-not.yaml"


@pytest.fixture
def other_tree(tmp_path: Path) -> Path:
    for folder in CODE_OF_A_TREE:
        shutil.copytree(ROOT / folder, tmp_path / "tree" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "tree"


def test_a_tree_with_the_same_code_answers_the_same(other_tree: Path) -> None:
    asked = list(asked_of(PENDING))
    here = answers(ROOT, asked)

    assert {tuple(words.split()[:3]) for words in here} == {("simulate", "-o", "json"), ("check", "-o", "json")}
    assert all(answer.code == 0 for answer in here.values())
    assert differences(here, answers(other_tree, asked)) == {}


def test_the_story_of_a_pending_pod_is_asked_for_too() -> None:
    found = answers(ROOT, list(asked_of(PENDING)))
    pending = [one["pod"] for one in json.loads(found[f"simulate -o json {PENDING}"].out)["pending"]]

    assert pending
    assert all(f"simulate -o json {PENDING} --explain {pod}" in found for pod in pending)


def test_a_tree_whose_command_line_ends_otherwise_is_told_by_a_diff(other_tree: Path) -> None:
    program = other_tree / "scheduling" / "dra_simulator" / "__main__.py"
    program.write_text(f"{program.read_text()}\n\ndef main(words: list[str]) -> int:\n    raise ValueError(words[0])\n")
    asked = [["check", str(PENDING)]]
    ((words, lines),) = differences(answers(ROOT, asked), answers(other_tree, asked)).items()

    assert words == f"check {PENDING}"
    assert "-exit code 0" in lines
    assert "+exit code ValueError('check')" in lines


def test_a_question_that_only_one_tree_was_asked_differs() -> None:
    found = differences({}, {"check x": Answer(0, "fine\n", "")})

    assert found["check x"][-3:] == ["-exit code not asked", "+exit code 0", "+fine"]


def test_every_random_cluster_can_be_used_and_pods_are_placed_or_have_nodes_planned(tmp_path: Path) -> None:
    asked = [words for words in random_questions(tmp_path, 30) if words[0] == "simulate"]
    found = answers(ROOT, asked)
    results = [json.loads(found[" ".join(words)].out) for words in asked]

    assert {answer.code for answer in found.values()} == {0}
    assert len(asked) == 30 + 30 // ONE_IN
    assert any(result["bindRequests"] for result in results)
    assert any(result["nodeClaims"] for result in results)


def test_a_seed_makes_the_same_cluster_again() -> None:
    assert random_cluster(9) == random_cluster(9)
    assert random_cluster(9) != random_cluster(12)
