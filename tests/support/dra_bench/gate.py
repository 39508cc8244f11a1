"""The initialization gate: many nodes whose drivers publish at once, and one node beside the slices of all those."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from dra_bench import newnodes
from dra_bench.binds import SETTLE_SECONDS, operator
from dra_bench.load import LABEL, Load, Seen
from dra_bench.processes import Cost, cost
from dra_bench.report import Say, Table
from dra_bench.world import Json
from dra_cluster.operators import RunningOperator
from dra_controlplane.installation import BASE, install
from dra_controlplane.server import ControlPlane

SIZES = (250, 500, 1_000)
SINGLE = 10
"""So many nodes come up one after another beside the most that came up at once."""
WITHIN_SECONDS = 300.0
REQUESTS = "dra_scheduler_api_requests_total{"
SLICE_EVENTS = 'dra_scheduler_watch_events_total{novelty="news",resource="resourceslices"}'
SHOWN = 0.05
"""Of fewer requests a node nothing is said."""
TARGET_CPU = 30.0
TARGET_SECONDS = 1.0


class Gate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What it took to open nodes: seconds from a node's last slice to `Initialized`; the role's requests a node."""

    nodes: int
    at_once: int
    slices_before: int
    seconds: tuple[float, ...]
    slice_events: int
    cpu_seconds: float
    requests: dict[str, float]
    peak_mib: float


class Scene(msgspec.Struct, frozen=True):
    """The role under measurement, and the NodeClaims that it has opened so far."""

    load: Load
    role: RunningOperator
    opened: Seen

    def so_far(self) -> tuple[Cost, Counter[str], int]:
        """Return what the role has cost, asked for, and heard of slices."""
        said = self.role.ask("/metrics")[1]
        return cost(self.role.pid), requests_in(said), int(self.role.metric(SLICE_EVENTS))


def measure(say: Say, sizes: Sequence[int] = SIZES) -> list[Gate]:
    """Measure each size on a control plane of its own, and single nodes beside the last one."""
    return [one for nodes in sizes for one in _on_a_server(nodes, is_last=nodes == sizes[-1], say=say)]


def _on_a_server(nodes: int, *, is_last: bool, say: Say) -> list[Gate]:
    with ControlPlane() as plane:
        install(plane.client(), BASE)
        with operator(plane, "dra-nodeclaims", "dra-nodeclaims", DRA_ROLES="nodeclaims") as role:
            role.run()
            return asyncio.run(_measure(plane, role, nodes, is_last=is_last, say=say))


async def _measure(plane: ControlPlane, role: RunningOperator, nodes: int, *, is_last: bool, say: Say) -> list[Gate]:
    async with Load(plane) as load, load.seen("NodeClaim", newnodes.opened) as opened:
        await load.create(newnodes.supply())
        await asyncio.sleep(SETTLE_SECONDS)
        scene = Scene(load, role, opened)
        results = [await _open(scene, [[f"node-{number:05d}" for number in range(nodes)]])]
        say(f"{nodes} nodes: open {max(results[0].seconds):.2f} s after their last slice at most")
        if is_last:
            results.append(await _open(scene, [[f"single-{number}"] for number in range(SINGLE)]))
        return results


async def _open(scene: Scene, groups: Sequence[Sequence[str]]) -> Gate:
    """Let groups of nodes come up, one group after the other, and all nodes of a group at once."""
    slices_before = scene.opened.count * newnodes.SLICES_A_NODE
    published: dict[str, float] = {}
    before, asked_before, heard_before = scene.so_far()
    for names in groups:
        await _come_up(scene, names, published)
    await asyncio.sleep(SETTLE_SECONDS)
    after, asked, heard = scene.so_far()
    return Gate(
        nodes=len(published),
        at_once=len(groups[0]),
        slices_before=slices_before,
        seconds=tuple(scene.opened.times[name.encode()] - since for name, since in published.items()),
        slice_events=heard - heard_before,
        cpu_seconds=after.cpu - before.cpu,
        requests={what: count / len(published) for what, count in sorted((asked - asked_before).items())},
        peak_mib=after.peak_mib,
    )


async def _come_up(scene: Scene, names: Sequence[str], published: dict[str, float]) -> None:
    def note(piece: Json) -> None:
        published[piece["spec"]["nodeName"]] = time.monotonic()

    count = scene.opened.count + len(names)
    claims = [newnodes.node_claim(name) for name in names]
    await scene.load.create(claims)
    await scene.load.show(claims)
    await scene.load.create(map(newnodes.node, names))
    await scene.load.create(newnodes.slices(names), note)
    await scene.opened.until(count, WITHIN_SECONDS)


def requests_in(metrics: str) -> Counter[str]:
    """Return how many requests an operator's metrics tell, by verb and resource; without discovery, which has none."""
    counted: Counter[str] = Counter()
    for line in metrics.splitlines():
        if line.startswith(REQUESTS):
            labels = dict(LABEL.findall(line))
            if not labels["resource"]:
                continue
            counted[f"{labels['verb']} {labels['resource']}"] += int(float(line.rpartition(" ")[2]))
    return counted


def table(results: Sequence[Gate]) -> Table:
    """Return one row a measurement."""
    columns = (
        "nodes",
        "slices before",
        "s from last slice to Initialized: median",
        "worst",
        "target s",
        "CPU s",
        "target s",
        "CPU ms a slice event",
        "requests a node",
        "peak MiB",
    )
    return Table(columns, tuple(map(_row, results)))


def _row(one: Gate) -> tuple[str, ...]:
    is_single = one.at_once == 1
    return (
        f"{one.nodes} one by one" if is_single else f"{one.nodes:,} at once",
        f"{one.slices_before:,}",
        f"{median(one.seconds):.2f}",
        f"{max(one.seconds):.2f}",
        f"{TARGET_SECONDS:g}" if is_single else "",
        f"{one.cpu_seconds:.1f}",
        "" if is_single else f"{TARGET_CPU:g}",
        f"{one.cpu_seconds / one.slice_events * 1_000:.2f}",
        ", ".join(f"{count:.1f} {what}" for what, count in one.requests.items() if count >= SHOWN),
        f"{one.peak_mib:.0f}",
    )
