"""The command that plays recordings of the operator again (`DRA_RECORD`) and compares every decision."""

import argparse
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dra_scheduling.basics.times import time_of
from dra_scheduling.cycle.record import InvalidRecordingError
from dra_scheduling.cycle.replay import Divergence, Replayed, replay
from dra_simulator.output import emit
from dra_simulator.problems import InputProblem, UnusableInputError
from dra_simulator.tables import Block, Table

DONE, SAYS_NO = 0, 1
GZIP_SUFFIX = ".gz"


class DecisionDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A part of two decisions that differs, by its JSON path."""

    path: str
    recorded: object
    replayed: object


def run_replay(arguments: argparse.Namespace) -> int:
    """Replay recordings and print whether the decisions are the same. Raises `UnusableInputError`."""
    found = [(name, _replayed(name)) for name in arguments.paths]
    blocks: list[Block] = [block for name, result in found for block in _blocks(name, result)]
    emit([_plain(name, result) for name, result in found], blocks, arguments.output, sys.stdout)
    return SAYS_NO if any(result.divergence is not None for _, result in found) else DONE


def _replayed(name: str) -> Replayed:
    try:
        return replay(_lines(Path(name)))
    except InvalidRecordingError as error:
        raise UnusableInputError(InputProblem(name, "recording", "-", str(error))) from error
    except (OSError, EOFError) as error:
        message = f"expected a file that can be read: {error}"
        raise UnusableInputError(InputProblem(name, "file", "-", message)) from error


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the whole lines of a file: the last one may have been cut off when the process ended."""
    with gzip.open(path) if path.suffix == GZIP_SUFFIX else path.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield line


def _plain(name: str, result: Replayed) -> dict[str, object]:
    divergence = result.divergence
    figures = {"objects": result.objects, "events": result.events, "decisions": result.decisions, "late": result.late}
    parted = None
    if divergence is not None:
        parts = [msgspec.to_builtins(part) for part in _differences(divergence)]
        parted = {"line": divergence.line, "time": _time(divergence), "differences": parts}
    return {"file": name, **figures, "same": divergence is None, "divergence": parted}


def _blocks(name: str, result: Replayed) -> list[Block]:
    ended = f", {result.late} searches ended by the clock" if result.late else ""
    figures = f"{result.objects} objects, {result.events} events, {result.decisions} decisions{ended}"
    divergence = result.divergence
    if divergence is None:
        return [f"{name}: the same decisions ({figures})"]
    rows = tuple((part.path, _text(part.recorded), _text(part.replayed)) for part in _differences(divergence))
    place = f"line {divergence.line}, {_time(divergence)}"
    return [
        f"{name}: another decision at {place} (after {figures})",
        Table(headers=("PATH", "RECORDED", "REPLAYED"), rows=rows, style="yellow"),
    ]


def _time(divergence: Divergence) -> str:
    return time_of(divergence.at // 1)


def _differences(divergence: Divergence) -> tuple[DecisionDifference, ...]:
    recorded, replayed = msgspec.json.decode(divergence.recorded), msgspec.json.decode(divergence.replayed)
    return tuple(_parts("$", recorded, replayed))


def _parts(path: str, recorded: object, replayed: object) -> Iterator[DecisionDifference]:
    if isinstance(recorded, dict) and isinstance(replayed, dict):
        for key in sorted({*recorded, *replayed}):
            yield from _parts(f"{path}.{key}", recorded.get(key), replayed.get(key))
    elif isinstance(recorded, list) and isinstance(replayed, list) and len(recorded) == len(replayed):
        for number, (before, after) in enumerate(zip(recorded, replayed, strict=True)):
            yield from _parts(f"{path}[{number}]", before, after)
    elif recorded != replayed:
        yield DecisionDifference(path=path, recorded=recorded, replayed=replayed)


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
