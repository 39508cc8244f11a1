"""Decisions only: how many pods a second the library places, and how that grows with the cluster."""

import gc
import time

import msgspec

from dra_bench import world
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle import schedule
from dra_scheduling.model.outcomes import Assignment
from dra_scheduling.wire import read

SIZES = (100, 500, 1_000, 5_000)
PODS = 4_000
RUNS = 3


class Decisions(msgspec.Struct, frozen=True):
    """One size of cluster: median over several runs."""

    nodes: int
    placed: int
    pods_per_second: float
    search_steps: int
    build_seconds: float


def measure() -> list[Decisions]:
    """Measure every size."""
    return [_measure(nodes) for nodes in SIZES]


def _measure(nodes: int) -> Decisions:
    runs = sorted((_run(nodes) for _ in range(RUNS)), key=lambda run: run.pods_per_second)
    return runs[len(runs) // 2]


def _run(nodes: int) -> Decisions:
    objects = [read(item) for item in world.cluster(nodes)]
    pods = [read(_with_identity(world.pod(number, "dra-scheduler", "extended"))) for number in range(PODS)]
    cluster = Cluster()
    gc.collect()
    started = time.perf_counter()
    for item in (*objects, *pods):
        cluster.apply(item)
    built = time.perf_counter()
    result = schedule(cluster, cluster.pending())
    ended = time.perf_counter()
    placed = sum(isinstance(outcome, Assignment) for outcome in result.outcomes)
    return Decisions(nodes, placed, PODS / (ended - built), result.search_steps, built - started)


def _with_identity(pod: world.Json) -> world.Json:
    name = pod["metadata"]["name"]
    pod["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return pod
