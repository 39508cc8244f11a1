"""What would become of the pods of 100 nodes, one node after the other, out of 2,000 nodes with 8 devices each.

The worlds run in processes of their own; run as ``python -m dra_bench.disruption WORLD`` this is such a process.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec

from dra_bench.report import Say, Table
from dra_cases.fleet import DRIVER, NOW, Fleet, claim, pod
from dra_scheduling.disruption import DisruptionView, WhatIfOptions, next_decision
from dra_scheduling.disruption.simulate_scheduling import WhatIf, simulation
from dra_scheduling.model.ids import DeviceID

Json = dict[str, object]
NODES = 2_000
CANDIDATES = 100
GPUS = 8
SIZES = (1, 2, 4, 8)
VARIANTS = 100
RUNS = 3
LIMIT_SECONDS = 120
TARGET_SECONDS = 2.0
WORLDS = ("room elsewhere", "no room elsewhere")
"""Whether pods of a candidate find free devices on other nodes, or need a new node out of 400 instance types."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All candidates of one world; CPU seconds. `decision` is one whole look for a node to take away."""

    world: str
    pods: int
    possible: int
    created: int
    seconds: float
    again: float
    decision: float
    peak_mib: float


def measure(say: Say) -> list[Asked]:
    """Measure every world, the median of several runs."""
    return [_measure(world, say) for world in WORLDS]


def _measure(world: str, say: Say) -> Asked:
    command = [sys.executable, "-m", "dra_bench.disruption", world]
    outputs = (
        subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS, check=True).stdout for _ in range(RUNS)
    )
    runs = sorted((msgspec.json.decode(text, type=Asked) for text in outputs), key=lambda run: run.seconds)
    median = runs[RUNS // 2]
    say(f"{world}: {CANDIDATES} nodes in {median.seconds:.2f} CPU seconds")
    return median


def ask(world: str) -> Asked:
    """Return one run in this process."""
    fleet = fleet_of(is_full=world == WORLDS[1])
    started = time.process_time()
    possible, created = _ask_all(fleet)
    seconds = time.process_time() - started
    _ask_all(fleet)
    again = time.process_time() - started - seconds
    next_decision(DisruptionView(fleet.cluster), WhatIfOptions(now=NOW))
    decision = time.process_time() - started - seconds - again
    return Asked(
        world=world,
        pods=len(fleet.cluster.placements.pods),
        possible=possible,
        created=created,
        seconds=seconds,
        again=again,
        decision=decision,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def fleet_of(*, is_full: bool, nodes: int = NODES) -> Fleet:
    """Return nodes with pods of two devices each: all devices taken, or two left on every third node."""
    kinds: dict[str, dict[str, object]] = {
        f"gpu-{gpus}-{variant:03}": {"price": f"{gpus}.{variant:03}", "gpus": gpus, "cpu": str(8 * gpus)}
        for gpus in SIZES
        for variant in range(VARIANTS)
    }
    fleet = Fleet(kinds)
    fleet.pool("pool", spec={"limits": {"cpu": "1000000"}})
    for number in range(nodes):
        name = f"node-{number:04}"
        fleet.node(name, "gpu-8-000")
        for place in range(GPUS // 2 - (0 if is_full or number % 3 else 1)):
            mine = [DeviceID(DRIVER, name, f"gpu-{2 * place + each}") for each in range(2)]
            _pod(fleet, f"pod-{number}-{place}", name, mine)
    return fleet


def _pod(fleet: Fleet, name: str, node: str, devices: Sequence[DeviceID]) -> None:
    fleet.show(claim(f"{name}-gpus", devices, users=[name], owner=name))
    fleet.show(pod(name, node, {"gpus": f"{name}-gpus"}, cpu="4"))


def _ask_all(fleet: Fleet) -> tuple[int, int]:
    outlook = DisruptionView(fleet.cluster)
    names = sorted(fleet.cluster.nodes)[:CANDIDATES]
    results = [_without(outlook, name) for name in names]
    return sum(result.is_possible for result in results), sum(len(result.created) for result in results)


def _without(outlook: DisruptionView, name: str) -> WhatIf:
    with simulation(outlook, [name]) as scenario:
        return scenario.result()


def table(results: Sequence[Asked]) -> Table:
    """Return one row a world."""
    columns = (
        "world",
        "pods",
        "nodes that could go",
        "new nodes for that",
        "target s",
        "s",
        "s, asked again",
        "s, a decision",
        "peak MiB",
    )
    return Table(columns, tuple(map(_row, results)))


def _row(one: Asked) -> tuple[str, ...]:
    return (
        one.world,
        f"{one.pods:,}",
        f"{one.possible} of {CANDIDATES}",
        f"{one.created:,}",
        f"{TARGET_SECONDS:.0f}",
        f"{one.seconds:.2f}",
        f"{one.again:.2f}",
        f"{one.decision:.2f}",
        f"{one.peak_mib:,.0f}",
    )


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(ask(sys.argv[1])).decode())
