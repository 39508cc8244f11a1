"""Asks the command line of another commit and of this tree the same: ``python -m dra_oracle.answers COMMIT``.

Exit status 0 if all answers are the same, 1 if some differ.
"""

import argparse
import difflib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from dra_oracle.clusters import ONE_IN, random_cluster, written

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "manifests" / "samples"
KINDS = {".yaml", ".yml", ".json"}
CODE_OF_A_TREE = ("scheduling", "binder", "operator")
# Whatever the modules of a commit are called, its command line is there: one process of it answers all questions.
WORKER = """
import gc, io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from dra_simulator.__main__ import main

def ask(words):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code = repr(error)
    gc.collect()
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}

def pending(answer):
    try:
        return [one["pod"] for one in json.loads(answer["out"])["pending"]][:3]
    except (ValueError, KeyError, TypeError):
        return []

for line in sys.stdin:
    words = json.loads(line)
    answer = ask(words)
    print(json.dumps([words, answer]), flush=True)
    if words[0] == "simulate" and "--launch" not in words:
        for pod in pending(answer):
            asked = [*words, "--explain", pod]
            print(json.dumps([asked, ask(asked)]), flush=True)
"""


class Answer(msgspec.Struct, frozen=True):
    """What a command ended with; `code` is the exception where it ended by one."""

    code: int | str
    out: str
    err: str

    def lines(self) -> list[str]:
        """The answer as text."""
        return [f"exit code {self.code}", *self.out.splitlines(), *self.err.splitlines()]


def questions(folders: Iterable[Path]) -> Iterator[list[str]]:
    """Commands for the cases, the samples, and all files of these folders."""
    for folder in (ROOT / "tests" / "cases", *folders):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in KINDS):
            yield from asked_of(path)
        yield from (words for path in sorted(folder.iterdir()) if path.is_dir() for words in asked_of(path))
    for path in (SAMPLES, *sorted(SAMPLES.glob("*.yaml"))):
        yield from asked_of(path)
        yield from asked_of(path, SAMPLES / "instancetypes")
        yield ["simulate", "-o", "json", "--launch", str(path), str(SAMPLES / "instancetypes")]


def random_questions(folder: Path, count: int) -> Iterator[list[str]]:
    """Commands for random clusters, which are written to this folder."""
    for seed in range(count):
        cluster = random_cluster(seed)
        path = written(folder, cluster, seed)
        gates = ["--feature-gates", cluster.gates]
        yield from ([*words, *gates] for words in asked_of(path))
        if seed % ONE_IN == 0:
            yield ["simulate", "-o", "json", "--launch", str(path), *gates]


def asked_of(*paths: Path) -> Iterator[list[str]]:
    """The commands that any file or folder is asked with."""
    yield ["simulate", "-o", "json", *map(str, paths)]
    yield ["check", "-o", "json", *map(str, paths)]


def answers(tree: Path, asked: Sequence[list[str]]) -> dict[str, Answer]:
    """What the command line in a tree answers, by the command; it tells the story of pending pods, too."""
    path = os.pathsep.join(str(tree / folder) for folder in CODE_OF_A_TREE)
    ended = subprocess.run(
        [sys.executable, "-c", WORKER],
        input="".join(f"{json.dumps(words)}\n" for words in asked),
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        cwd=tree,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = msgspec.json.decode(f"[{','.join(ended.stdout.splitlines())}]", type=list[tuple[list[str], Answer]])
    return {" ".join(words): answer for words, answer in found}


def differences(before: dict[str, Answer], after: dict[str, Answer]) -> dict[str, list[str]]:
    """A unified diff for each command that is not answered as before."""
    nothing = Answer("not asked", "", "")
    found = {}
    for words in before | after:
        old, new = before.get(words, nothing), after.get(words, nothing)
        if old != new:
            found[words] = list(difflib.unified_diff(old.lines(), new.lines(), "before", "after", lineterm="", n=2))
    return found


def unpacked(commit: str, folder: Path) -> None:
    """Puts the files of a commit into a folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def main(argv: Sequence[str] | None = None) -> int:
    """Compares and prints what differs; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m dra_oracle.answers", description=__doc__.partition("\n")[0])
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("folders", nargs="*", type=Path, help="more manifests to ask about")
    parser.add_argument("--worlds", type=int, default=500, help="how many random clusters (default 500)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        before, made = Path(name, "before"), Path(name, "clusters")
        made.mkdir()
        unpacked(options.commit, before)
        asked = [*questions(options.folders), *random_questions(made, options.worlds)]
        known = answers(before, asked)
        found = differences(known, answers(ROOT, asked))
    for words, lines in found.items():
        print(f"dra {words}", *lines, "", sep="\n")
    print(f"{len(known)} answers, {len(found)} of them differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
