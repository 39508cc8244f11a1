"""Manifests of many projects, where they are at hand: whatever they hold, nothing ends with a traceback."""

import json
import os
from pathlib import Path

import pytest

from dra_cases.command import dra

BESIDE_THE_PROJECT = Path(__file__).parents[3] / "shared" / "corpus" / "manifests"
CORPUS = Path(os.environ.get("DRA_CORPUS", BESIDE_THE_PROJECT))
FILES = sorted(path for path in CORPUS.rglob("*") if path.suffix in {".yaml", ".yml", ".json"})

pytestmark = pytest.mark.skipif(not FILES, reason="no collection of manifests (DRA_CORPUS)")


def lines_are_complete(lines: list[str]) -> bool:
    return all(len(line.split(": ", 3)) == 4 and line.startswith(str(CORPUS)) for line in lines)


@pytest.mark.parametrize("command", ["simulate", "check"])
def test_each_file_is_used_or_refused_in_whole_lines(command: str) -> None:
    codes = set()
    for path in FILES:
        ended = dra(command, str(path), "-o", "json")
        codes.add(ended.code)
        assert ended.code != 2 or (ended.problems and lines_are_complete(ended.problems)), path
        assert ended.code == 2 or json.loads(ended.out) is not None
    assert codes == {"simulate": {0, 2}, "check": {0, 1, 2}}[command]


def test_everything_at_once_is_refused_for_the_files_that_cannot_be_used() -> None:
    ended = dra("simulate", str(CORPUS))
    assert ended.code == 2
    assert lines_are_complete(ended.problems)


def test_everything_that_can_be_used_is_scheduled_together() -> None:
    usable = [str(path) for path in FILES if dra("simulate", str(path)).code == 0]
    clashing = {line.split(": ")[0] for line in dra("simulate", *usable).problems}
    ended = dra("simulate", *(path for path in usable if path not in clashing), "--all-pods", "-o", "json")
    result = json.loads(ended.out)
    assert ended.code == 0
    assert len(result["bindRequests"]) + len(result["pending"]) > 100
