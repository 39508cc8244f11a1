"""To `Bound` on a real server: kube-scheduler and our operator with the same pods, each on a server of its own."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

import msgspec

from dra_bench import world
from dra_bench.load import LOOK_SECONDS, Load, Seen
from dra_bench.processes import Cost, costs, spent
from dra_bench.report import Say, Table
from dra_cluster.operators import RunningOperator
from dra_controlplane.installation import BASE, DEVELOPMENT, OPERATOR_NAMESPACE, apply_rights, install
from dra_controlplane.server import ControlPlane

NODES = 500
WITHIN_SECONDS = 600.0
# Long enough for what a scheduler still has to tell about the last pods.
SETTLE_SECONDS = 3.0
SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager")
PEER = "kube-scheduler"


class Workload(msgspec.Struct, frozen=True):
    """So many pods of one kind, created at once."""

    kind: str
    pods: int


class Binds(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one scheduler made of one workload: CPU and memory by process, writes without the creation of the pods."""

    scheduler: str
    kind: str
    pods: int
    pods_per_second: float
    cpu_ms_per_pod: float
    writes_per_pod: float
    writes: dict[str, float]
    costs: dict[str, Cost]


WORKLOADS = (Workload("plain", 2_000), Workload("extended", 4_000), Workload("template", 4_000))
Scheduler = Callable[[ControlPlane], AbstractContextManager[Mapping[str, int]]]
"""Starts a scheduler beside a control plane; yields the process ids by name."""


class Contestant(msgspec.Struct, frozen=True):
    """A scheduler, and the name by which pods ask for it."""

    scheduler_name: str
    start: Scheduler


@contextmanager
def kube_scheduler(plane: ControlPlane) -> Iterator[Mapping[str, int]]:
    """The real kube-scheduler with its default profile and a client that does not hold it back."""
    yield {PEER: plane.start_scheduler().pid}


@contextmanager
def one_process(plane: ControlPlane) -> Iterator[Mapping[str, int]]:
    """All roles in one process, with the shipped rights."""
    apply_rights(plane.client(), DEVELOPMENT)
    with operator(plane, "dra-operator", account="dra-scheduler") as running:
        running.run()
        yield {"dra-operator": running.pid}


@contextmanager
def two_processes(plane: ControlPlane) -> Iterator[Mapping[str, int]]:
    """Each role in a process of its own, with the shipped rights."""
    with ExitStack() as stack:
        roles = ("scheduler", "binder")
        accounts = {role: f"dra-{role}" for role in roles}
        running = [stack.enter_context(operator(plane, name, name, DRA_ROLES=role)) for role, name in accounts.items()]
        for one in running:
            one.run()
        yield {one.name: one.pid for one in running}


@contextmanager
def operator(plane: ControlPlane, name: str, account: str, **settings: str) -> Iterator[RunningOperator]:
    """An operator with its default settings, not started yet."""
    login = plane.kubeconfig_for_service_account(OPERATOR_NAMESPACE, account)
    defaults = {"DRA_LOG_LEVEL": "info", "DRA_LEADER_ELECT": "false"}
    running = RunningOperator(name, kubeconfig=login, folder=plane.folder, settings=defaults | settings)
    try:
        yield running
    finally:
        running.kill()


CONTESTANTS: Mapping[str, Contestant] = {
    PEER: Contestant("default-scheduler", kube_scheduler),
    "dra-scheduler": Contestant("dra-scheduler", one_process),
    "dra-scheduler, a process a role": Contestant("dra-scheduler", two_processes),
}


def measure(say: Say, workloads: Sequence[Workload] = WORKLOADS) -> list[Binds]:
    """Measure every workload with every scheduler, one after the other."""
    return [measure_one(workload, name, say) for workload in workloads for name in CONTESTANTS]


def measure_one(workload: Workload, name: str, say: Say) -> Binds:
    """Measure one workload on a fresh control plane."""
    with ControlPlane() as plane:
        install(plane.client(), BASE)
        with CONTESTANTS[name].start(plane) as own:
            pids = {server: plane.component(server).pid for server in SERVERS} | dict(own)
            return asyncio.run(_measure(plane, workload, name, pids, say))


async def _measure(plane: ControlPlane, workload: Workload, name: str, pids: Mapping[str, int], say: Say) -> Binds:
    async with Load(plane) as load:
        await load.create([world.namespace()])
        await load.create([*world.cluster(NODES), world.claim_template()])
        await asyncio.sleep(SETTLE_SECONDS)
        pods = [world.pod(number, CONTESTANTS[name].scheduler_name, workload.kind) for number in range(workload.pods)]
        before, writes_before = costs(pids), await load.writes()
        async with load.bound_pods() as bound:
            telling = asyncio.create_task(_tell(f"{name}, {workload.kind}", bound, workload.pods, say))
            started = time.monotonic()
            await load.create(pods)
            ended = await bound.until(workload.pods, WITHIN_SECONDS)
            telling.cancel()
        await asyncio.sleep(SETTLE_SECONDS)
        own = spent(before, costs(pids))
        writes = await load.writes() - writes_before
    writes["POST pods"] -= workload.pods
    say(f"{name}, {workload.kind}: {workload.pods} pods in {ended - started:.1f} s")
    return Binds(
        scheduler=name,
        kind=workload.kind,
        pods=workload.pods,
        pods_per_second=workload.pods / (ended - started),
        cpu_ms_per_pod=sum(cost.cpu for cost in own.values()) / workload.pods * 1_000,
        writes_per_pod=writes.total() / workload.pods,
        writes={name: count / workload.pods for name, count in sorted(writes.items()) if count > 0},
        costs=own,
    )


async def _tell(what: str, bound: Seen, pods: int, say: Say) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        say(f"{what}: {bound.count} of {pods} bound")


def table(results: Sequence[Binds]) -> Table:
    """Return one row a measurement; the rate is compared with that of kube-scheduler for the same workload."""
    peers = {one.kind: one.pods_per_second for one in results if one.scheduler == PEER}
    columns = (
        "pods",
        "scheduler",
        "pods/s",
        "ratio",
        "writes a pod",
        "CPU ms a pod",
        "by process (CPU s, peak MiB)",
    )
    return Table(columns, tuple(_row(one, peers.get(one.kind)) for one in results))


def _row(one: Binds, peer: float | None) -> tuple[str, ...]:
    processes = ", ".join(f"{name} {cost.cpu:.1f} s {cost.peak_mib:.0f}" for name, cost in one.costs.items())
    return (
        f"{one.pods:,} {one.kind}",
        one.scheduler,
        f"{one.pods_per_second:.0f}",
        f"{one.pods_per_second / peer:.2f}" if peer else "",
        f"{one.writes_per_pod:.2f}",
        f"{one.cpu_ms_per_pod:.1f}",
        processes,
    )
