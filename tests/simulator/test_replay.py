"""`dra replay`: the same decisions, or where they part; exit codes as for every command."""

import gzip
import json
from pathlib import Path

import pytest

from dra_cases.command import dra
from dra_operating.recording import Chance, RecordedWorld


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lines() -> list[bytes]:
    world = RecordedWorld()
    Chance(world, 0).run(60)
    return world.sink.files[0]


def recording(lines: list[bytes], name: str = "run.jsonl") -> str:
    content = b"".join(lines)
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_recording_that_replays_ends_with_zero(lines: list[bytes], name: str) -> None:
    ended = dra("replay", recording(lines, name), "-o", "json")

    (found,) = json.loads(ended.out)
    assert (ended.code, found["same"], found["divergence"], found["decisions"]) == (0, True, None, 60)


def test_a_table_says_that_the_decisions_are_the_same(lines: list[bytes]) -> None:
    ended = dra("replay", recording(lines), "-o", "table")

    assert ended.out.startswith("run.jsonl: the same decisions (0 objects, ")


def test_where_decisions_part_is_told_with_both_of_them(lines: list[bytes]) -> None:
    number, line = next(
        (place, one) for place, one in enumerate(lines) if b'"decide"' in one and b'"selectedNode":"n1"' in one
    )
    lines[number] = line.replace(b'"selectedNode":"n1"', b'"selectedNode":"n2"')
    file = recording(lines)

    ended, table = dra("replay", file, "-o", "json"), dra("replay", file, "-o", "table")

    (found,) = json.loads(ended.out)
    assert (ended.code, found["same"], found["divergence"]["line"]) == (1, False, number + 1)
    (difference,) = found["divergence"]["differences"]
    assert (difference["recorded"], difference["replayed"]) == ("n2", "n1")
    assert difference["path"].endswith(".spec.selectedNode")
    assert f"another decision at line {number + 1}" in table.out


def test_of_several_recordings_one_that_parts_is_enough(lines: list[bytes]) -> None:
    good = recording(lines)
    bad = recording([line.replace(b'"selectedNode":"n1"', b'"selectedNode":"n2"') for line in lines], "bad.jsonl")

    ended = dra("replay", good, bad, "-o", "json")

    assert (ended.code, [one["same"] for one in json.loads(ended.out)]) == (1, [True, False])


def test_a_last_line_that_was_cut_off_is_left_out(lines: list[bytes]) -> None:
    lines[-1] = lines[-1][:20]

    ended = dra("replay", recording(lines), "-o", "json")

    assert (ended.code, json.loads(ended.out)[0]["decisions"]) == (0, 59)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "run.jsonl: recording: -: expected at least a header"),
        (b"something else\n", "run.jsonl: recording: -: expected a JSON object"),
        (b'{"kind": "Pod"}\n', "run.jsonl: recording: -: expected a recording with format dra-scheduler/recording/v1"),
    ],
)
def test_what_is_no_recording_ends_with_two_and_one_line(content: bytes, problem: str) -> None:
    ended = dra("replay", recording([content]))

    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(problem)


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.jsonl.gz"])
def test_a_file_that_is_not_there_ends_with_two(name: str) -> None:
    ended = dra("replay", name)

    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(f"{name}: file: -: expected a file that can be read")


def test_a_compressed_file_that_is_none_ends_with_two() -> None:
    Path("run.jsonl.gz").write_bytes(b"not compressed")

    assert dra("replay", "run.jsonl.gz").code == 2
