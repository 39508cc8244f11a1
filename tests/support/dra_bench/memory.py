"""How much memory a cluster takes: each in a process of its own, held against an interpreter that does nothing.

Run as ``python -m dra_bench.memory NUMBER`` this is such a process: it reads every object from its JSON text as the
operator does, decides on two pods, and prints what it had at most.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

import msgspec
import orjson

from dra_bench.fleets import Fleet, fleets, pod_with_claim, wish
from dra_bench.processes import cost
from dra_bench.report import Say, Table
from dra_bench.sweeps import TOO_MANY
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, read

EMPTY = "from pathlib import Path; print(Path('/proc/self/status').read_text())"
LIMIT_SECONDS = 300


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The most memory a process had, in MiB: when the library was there, the cluster, and two pods were decided on."""

    library: float
    cluster: float
    pods: float


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One fleet; `empty` is the peak of an interpreter that does nothing."""

    fleet: str
    nodes: int
    target: float | None
    empty: float
    peak: Peak


def measure(say: Say) -> list[Memory]:
    """Measure every fleet."""
    empty = _empty()
    return [_measure(number, fleet, empty, say) for number, fleet in enumerate(fleets())]


def _measure(number: int, fleet: Fleet, empty: float, say: Say) -> Memory:
    answer = _output(["-m", "dra_bench.memory", str(number)])
    peak = msgspec.json.decode(answer, type=Peak)
    say(f"{fleet.name}: {peak.pods - empty:.0f} MiB")
    return Memory(fleet=fleet.name, nodes=fleet.nodes, target=fleet.target_mib, empty=empty, peak=peak)


def _empty() -> float:
    status = _output(["-c", EMPTY]).decode()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def _output(arguments: list[str]) -> bytes:
    return subprocess.run(
        [sys.executable, *arguments], stdout=subprocess.PIPE, timeout=LIMIT_SECONDS, check=True
    ).stdout


def table(results: Sequence[Memory]) -> Table:
    """Return one row a fleet."""
    columns = ("cluster", "nodes", "target MiB", "MiB in all", "of that the library", "decided on two pods")
    return Table(columns, tuple(map(_row, results)))


def _row(one: Memory) -> tuple[str, ...]:
    peak = one.peak
    return (
        one.fleet,
        f"{one.nodes:,}",
        "" if one.target is None else f"{one.target:.0f}",
        f"{peak.pods - one.empty:.0f}",
        f"{peak.library - one.empty:.0f}",
        f"+{peak.pods - peak.cluster:.0f}",
    )


def main(number: int) -> None:
    """Print the peaks of this process for one fleet."""
    fleet, library = fleets()[number], _peak()
    cluster = Cluster()
    for item in fleet.objects():
        cluster.apply(_read(orjson.dumps(item)))
    built = _peak()
    for place, many in enumerate((1, TOO_MANY)):
        claim, pod = (_read(orjson.dumps(item)) for item in pod_with_claim(place, wish(many, fleet.kind)))
        cluster.apply(claim)
        cluster.apply(pod)
        assert isinstance(pod, Pod)
        schedule(cluster, (pod,))
    sys.stdout.buffer.write(msgspec.json.encode(Peak(library=library, cluster=built, pods=_peak())))


def _read(text: bytes) -> KubernetesObject:
    return read(orjson.loads(text))


def _peak() -> float:
    return cost(os.getpid()).peak_mib


if __name__ == "__main__":
    main(int(sys.argv[1]))
