"""`make bench BENCH="--against COMMIT"`: another commit beside this one, each measured in turn by what it brings along.

A commit's own benchmark measures it, whatever its modules are called; measures are found again by their names.
Kubernetes' allocator, which the usual page shows beside ours, is left out: it is the same for both.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from dra_bench.machine import ROOT
from dra_bench.report import Say, Table
from dra_oracle.answers import unpacked

RUNS = 5
DEARER_BY = 0.10
USUAL = ("decisions", "searches", "one-pod", "memory", "candidates", "planning", "disruption")
"""The sections that need no server: what they give is time of the processor and memory."""
NOT_COMPARED = frozenset({"wall", "target", "theirs", "podsPerSecond", "buildSeconds"})
"""By the clock, or not ours."""
SIZES = frozenset({"nodes", "pods", "world", "fleet", "types", "pod", "kind", "scheduler", "at_once", "atOnce"})
"""What tells rows of a section apart."""
CODE = ("scheduling", "binder", "operator", *(f"tests/{one}" for one in ("controlplane", "cases", "cluster", "bench")))
TOOLS = ("tests/oracle", "tests/operator", "tests/binder", "tests/demo", "tests/support")
WORKER = """
import contextlib, sys
from dra_bench import upstream
upstream.running = lambda say: contextlib.nullcontext(None)
from dra_bench.__main__ import main
sys.exit(main())
"""

Place = tuple[str, str, str]
"""Section, row, measure."""
Figures = Mapping[Place, float]


class Change(msgspec.Struct, frozen=True):
    """The medians of one measure before and after."""

    place: Place
    before: float
    after: float

    @property
    def dearer(self) -> float:
        """By which share the measure became worse; below 0 it became better."""
        is_rate = "Per" in self.place[2]
        old, new = (self.after, self.before) if is_rate else (self.before, self.after)
        return new / old - 1 if old else 0.0


def compare(commit: str, sections: Sequence[str], say: Say) -> list[Change]:
    """Return how each measure of the sections changed since the commit: medians of five runs, in turn with this tree.

    Raises:
        RuntimeError: the commit is not there, or a benchmark failed.
    """
    with tempfile.TemporaryDirectory() as name:
        other = Path(name)
        try:
            unpacked(commit, other)
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"there is no commit {commit}: {error.stderr.decode().strip()}") from error
        return [change for section in sections for change in _section(section, other, say)]


def _section(section: str, other: Path, say: Say) -> Iterator[Change]:
    before: list[Figures] = []
    after: list[Figures] = []
    for number in range(1, RUNS + 1):
        say(f"{section}: run {number} of {RUNS}")
        # Whatever else the machine does in between falls on both alike.
        before.append(figures(section, _measured(section, other)))
        after.append(figures(section, _measured(section, ROOT)))
    yield from changes(before, after)


def changes(before: Sequence[Figures], after: Sequence[Figures]) -> Iterator[Change]:
    """Yield what all runs of both have, in the order of the runs."""
    for place in after[0]:
        if all(place in run for run in (*before, *after)):
            yield Change(place, median(run[place] for run in before), median(run[place] for run in after))


def figures(section: str, rows: Sequence[Mapping[str, Any]]) -> Figures:
    """Return the figures of a section by their names; rows are told apart by sizes and by the names of worlds."""
    found: dict[Place, float] = {}
    for row in rows:
        label = ", ".join(f"{value:,} {key}" if isinstance(value, int) else value for key, value in _sizes(row))
        found.update({(section, label, measure): value for measure, value in _floats(row)})
    return found


def _sizes(row: Mapping[str, Any]) -> Iterator[tuple[str, int | str]]:
    return ((key, value) for key, value in row.items() if key in SIZES and isinstance(value, int | str))


def _floats(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, one in value.items():
        if key in NOT_COMPARED:
            continue
        if isinstance(one, float):
            yield f"{prefix}{key}", one
        elif isinstance(one, dict):
            yield from _floats(one, f"{prefix}{key}.")


def _measured(section: str, tree: Path) -> Sequence[Mapping[str, Any]]:
    path = os.pathsep.join(str(tree / folder) for folder in (*CODE, *TOOLS))
    ended = subprocess.run(
        [sys.executable, "-c", WORKER, "--only", section, "-o", "json", "--no-page"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tree,
        capture_output=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{section} of {tree} failed: {ended.stderr.decode().strip().rpartition(chr(10))[2]}")
    rows: Sequence[Mapping[str, Any]] = msgspec.json.decode(ended.stdout)[section]
    return rows


def table(found: Sequence[Change], commit: str) -> Table:
    """Return the comparison as a table; what is more than 10 % dearer is marked."""
    return Table(
        ("section", "row", "measure", commit, "this tree", "change"),
        tuple((*one.place, _figure(one.before), _figure(one.after), _change(one)) for one in found),
    )


def dearer(found: Sequence[Change]) -> list[Change]:
    """Return what became more than 10 % dearer."""
    return [one for one in found if one.dearer > DEARER_BY]


def _change(one: Change) -> str:
    return f"{one.dearer:+.0%} dearer" if one.dearer > DEARER_BY else f"{one.dearer:+.0%}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
