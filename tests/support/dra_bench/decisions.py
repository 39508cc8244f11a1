"""Decisions only: how many pods a second the library places, and how that grows with the cluster."""

import gc
import time
from collections.abc import Sequence

import msgspec

from dra_bench import world
from dra_bench.report import Say, Table
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import read

SIZES = (100, 500, 1_000, 5_000)
PODS = 4_000
RUNS = 3


class Decisions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One size of cluster: the median of several runs. By the clock, and by the CPU time that the process got."""

    nodes: int
    placed: int
    pods_per_second: float
    pods_per_cpu_second: float
    search_steps: int
    build_seconds: float


def measure(say: Say) -> list[Decisions]:
    """Measure every size."""
    return [_measure(nodes, say) for nodes in SIZES]


def _measure(nodes: int, say: Say) -> Decisions:
    runs = sorted((_run(nodes) for _ in range(RUNS)), key=lambda run: run.pods_per_second)
    median = runs[len(runs) // 2]
    say(f"{nodes} nodes: {median.pods_per_second:,.0f} pods/s")
    return median


def _run(nodes: int) -> Decisions:
    objects = [read(item) for item in world.cluster(nodes)]
    pods = [read(_with_identity(world.pod(number, "dra-scheduler", "extended"))) for number in range(PODS)]
    cluster = Cluster()
    gc.collect()
    started = time.perf_counter()
    for item in (*objects, *pods):
        cluster.apply(item)
    taken_in = time.perf_counter() - started
    # What the operator does after it has listed everything.
    gc.collect()
    gc.freeze()
    started, used = time.perf_counter(), time.process_time()
    result = schedule(cluster, cluster.pending())
    elapsed, used = time.perf_counter() - started, time.process_time() - used
    gc.unfreeze()
    return Decisions(
        nodes=nodes,
        placed=sum(isinstance(outcome, Assignment) for outcome in result.outcomes),
        pods_per_second=PODS / elapsed,
        pods_per_cpu_second=PODS / used,
        search_steps=result.search_steps,
        build_seconds=taken_in,
    )


def _with_identity(pod: world.Json) -> world.Json:
    name = pod["metadata"]["name"]
    pod["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return pod


def table(results: Sequence[Decisions]) -> Table:
    """Return one row a size."""
    columns = ("nodes", "placed", "pods/s", "pods per CPU second", "search steps", "seconds to take the cluster in")
    return Table(columns, tuple(map(_row, results)))


def _row(one: Decisions) -> tuple[str, ...]:
    return (
        f"{one.nodes:,}",
        f"{one.placed:,} of {PODS:,}",
        f"{one.pods_per_second:,.0f}",
        f"{one.pods_per_cpu_second:,.0f}",
        f"{one.search_steps:,}",
        f"{one.build_seconds:.2f}",
    )
