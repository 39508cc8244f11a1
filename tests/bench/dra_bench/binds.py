"""To `Bound` on a real server: our operator and kube-scheduler with the same pods, each on a server of its own."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from dra_bench import world
from dra_bench.load import Load
from dra_bench.processes import Cost, costs, spent
from dra_cluster.installation import ALL_ROLES, documents, install
from dra_cluster.installation import NAMESPACE as OPERATOR_NAMESPACE
from dra_cluster.operators import RunningOperator
from dra_controlplane.server import ControlPlane

NODES = 500
WITHIN_SECONDS = 300.0
SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager")


class Workload(msgspec.Struct, frozen=True):
    """So many pods of one kind, created at once."""

    kind: str
    pods: int


class Binds(msgspec.Struct, frozen=True):
    """What one scheduler made of one workload; costs by process, writes without the creation of the pods."""

    scheduler: str
    workload: Workload
    pods_per_second: float
    writes_per_pod: float
    costs: dict[str, Cost]


WORKLOADS = (Workload("plain", 2_000), Workload("extended", 4_000), Workload("template", 4_000))
Scheduler = Callable[[ControlPlane], AbstractContextManager[Mapping[str, int]]]
"""Starts a scheduler beside a control plane; yields the process ids by name."""


def measure(workload: Workload, name: str, scheduler: Scheduler) -> Binds:
    """Measure one workload on a fresh control plane."""
    with ControlPlane() as plane, scheduler(plane) as own:
        pids = {server: plane.component(server).pid for server in SERVERS} | dict(own)
        return asyncio.run(_measure(plane, workload, name, pids))


@contextmanager
def kube_scheduler(plane: ControlPlane) -> Iterator[Mapping[str, int]]:
    """The real kube-scheduler with its default profile and a client that does not hold it back."""
    install(plane.client())
    yield {"kube-scheduler": plane.start_scheduler().pid}


@contextmanager
def our_operator(plane: ControlPlane) -> Iterator[Mapping[str, int]]:
    """All roles in one process, with the shipped rights."""
    install(plane.client())
    for rights in documents(ALL_ROLES):
        plane.client().apply(rights)
    account = plane.kubeconfig_for_service_account(OPERATOR_NAMESPACE, "dra-scheduler")
    settings = {"DRA_LOG_LEVEL": "warning", "DRA_LEADER_ELECT": "false"}
    operator = RunningOperator("dra-operator", kubeconfig=account, folder=Path(plane.folder), settings=settings)
    operator.run()
    try:
        yield {"dra-operator": operator.pid}
    finally:
        operator.terminate()


SCHEDULERS: Mapping[str, tuple[str, Scheduler]] = {
    "kube-scheduler": ("default-scheduler", kube_scheduler),
    "dra-scheduler": ("dra-scheduler", our_operator),
}


async def _measure(plane: ControlPlane, workload: Workload, name: str, pids: Mapping[str, int]) -> Binds:
    async with Load(plane) as load:
        await load.create([world.namespace()])
        await load.create([*world.cluster(NODES), world.claim_template()])
        await asyncio.sleep(3)
        pods = [world.pod(number, SCHEDULERS[name][0], workload.kind) for number in range(workload.pods)]
        before, writes_before = costs(pids), await load.writes()
        started = time.monotonic()
        await load.create(pods)
        ended = await load.until_bound(within=WITHIN_SECONDS)
        after, writes = costs(pids), await load.writes() - writes_before - workload.pods
    rate = workload.pods / (ended - started)
    return Binds(name, workload, rate, writes / workload.pods, spent(before, after))
