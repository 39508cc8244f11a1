"""Start-up: how long after its start the operator works on a big cluster, and how much memory that takes."""

import asyncio
import time
from collections.abc import Sequence

import msgspec

from dra_bench import world
from dra_bench.binds import operator
from dra_bench.load import Load
from dra_bench.processes import cost
from dra_bench.report import Say, Table
from dra_cluster.operators import RunningOperator
from dra_controlplane.installation import DEVELOPMENT, install
from dra_controlplane.server import ControlPlane

NODES = 5_000
PODS = 20_000
LOOK_SECONDS = 0.1
WITHIN_SECONDS = 300.0


class StartUp(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Seconds after the start of the process: /readyz says yes, and a pod that was waiting is bound."""

    nodes: int
    pods: int
    ready_seconds: float
    first_bound_seconds: float
    cpu_seconds: float
    peak_mib: float


def measure(say: Say) -> list[StartUp]:
    """Measure a start beside many nodes and pods, one of which waits for a device."""
    with ControlPlane() as plane:
        install(plane.client(), DEVELOPMENT)
        with operator(plane, "dra-operator", account="dra-scheduler") as running:
            return [asyncio.run(_measure(plane, running, say))]


async def _measure(plane: ControlPlane, running: RunningOperator, say: Say) -> StartUp:
    async with Load(plane) as load:
        say(f"creating {NODES:,} nodes and slices and {PODS:,} pods (a minute or two)")
        await load.create([world.namespace()])
        await load.create(world.cluster(NODES))
        await load.create(world.running_pod(number, world.node_name(number % NODES)) for number in range(PODS))
        await load.create([world.pod(0, "dra-scheduler", "extended")])
        async with load.bound_pods() as bound:
            await bound.until(PODS, WITHIN_SECONDS)
            started = time.monotonic()
            running.start()
            first_bound = asyncio.create_task(bound.until(PODS + 1, WITHIN_SECONDS))
            ready = await _until_ready(running)
            say(f"ready after {ready - started:.1f} s")
            last = await first_bound
        own = cost(running.pid)
    return StartUp(
        nodes=NODES,
        pods=PODS + 1,
        ready_seconds=ready - started,
        first_bound_seconds=last - started,
        cpu_seconds=own.cpu,
        peak_mib=own.peak_mib,
    )


async def _until_ready(running: RunningOperator) -> float:
    async with asyncio.timeout(WITHIN_SECONDS):
        while (await asyncio.to_thread(running.ask, "/readyz"))[0] != 200:
            if not running.is_running:
                raise RuntimeError(f"the operator ended:\n{running.log_tail()}")
            await asyncio.sleep(LOOK_SECONDS)
    return time.monotonic()


def table(results: Sequence[StartUp]) -> Table:
    """Return the one row."""
    columns = ("nodes", "pods", "seconds to /readyz", "seconds to the first bind", "CPU seconds", "peak MiB")
    return Table(columns, tuple(map(_row, results)))


def _row(one: StartUp) -> tuple[str, ...]:
    return (
        f"{one.nodes:,}",
        f"{one.pods:,}",
        f"{one.ready_seconds:.1f}",
        f"{one.first_bound_seconds:.1f}",
        f"{one.cpu_seconds:.1f}",
        f"{one.peak_mib:.0f}",
    )
