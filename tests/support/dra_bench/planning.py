"""Pods that no node takes, over 400 instance types: how many a second are planned for, and in how much memory.

Half of the pods have claims, of one or two devices, some with network devices beside. Every size runs in a process of
its own; run as ``python -m dra_bench.planning PODS`` this is such a process.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec

from dra_bench.report import Say, Table
from dra_scheduling.cluster import Cluster
from dra_scheduling.provisioning import provision
from dra_scheduling.wire import read

Json = dict[str, object]
SIZES = (1_000, 5_000, 20_000)
TYPES = 400
RUNS = 3
LIMIT_SECONDS = 300
TARGET = 1_000.0
GPU = "gpu.example.com"
NIC = "nic.example.com"
DEVICES: tuple[tuple[tuple[str, int], ...], ...] = ((), ((GPU, 8),), ((GPU, 8), (NIC, 16)), ((GPU, 4),))
"""What the types have, in turn."""


class Planned(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan for so many pods; CPU time, since a plan waits for nothing."""

    pods: int
    nominated: int
    node_claims: int
    pods_per_cpu_second: float
    peak_mib: float


def measure(say: Say) -> list[Planned]:
    """Measure every size, the median of several runs."""
    return [_measure(pods, say) for pods in SIZES]


def _measure(pods: int, say: Say) -> Planned:
    command = [sys.executable, "-m", "dra_bench.planning", str(pods)]
    outputs = (
        subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS, check=True).stdout for _ in range(RUNS)
    )
    runs = sorted(
        (msgspec.json.decode(text, type=Planned) for text in outputs), key=lambda run: run.pods_per_cpu_second
    )
    median = runs[RUNS // 2]
    say(f"plan for {pods:,} pods: {median.pods_per_cpu_second:,.0f} pods a CPU second")
    return median


def plan(pods: int) -> Planned:
    """Return one run in this process."""
    cluster = Cluster()
    for item in (*_supply(), *_demand(pods)):
        cluster.apply(read(item))
    pending = cluster.pending()
    started = time.process_time()
    result = provision(cluster, pending)
    used = time.process_time() - started
    return Planned(
        pods=pods,
        nominated=len(result.nominations),
        node_claims=len(result.created),
        pods_per_cpu_second=pods / used,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _supply() -> Iterator[Json]:
    for name in (GPU, NIC):
        expression = f"device.driver == '{name}'"
        spec = {"selectors": [{"cel": {"expression": expression}}]}
        yield {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}
    node_class = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
    template = {"spec": {"nodeClassRef": node_class, "requirements": []}}
    yield {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default", "uid": "pool"},
        "spec": {"template": template},
    }
    yield from map(_instance_type, range(TYPES))


def _instance_type(number: int) -> Json:
    size = 1 + number % 12
    groups = [
        {
            "driver": driver,
            "name": "dev-{index}",
            "count": count,
            "attributes": {"model": {"string": f"model-{number % 3}"}},
        }
        for driver, count in DEVICES[number % len(DEVICES)]
    ]
    return {
        "apiVersion": "dra-scheduler.dev/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": f"type-{number:03}"},
        "spec": {
            "offerings": [{"zone": zone, "price": str(1 + number)} for zone in ("a", "b", "c")],
            "capacity": {"cpu": str(8 * size), "memory": f"{32 * size}Gi"},
            "devices": {"groups": groups},
        },
    }


def _demand(pods: int) -> Iterator[Json]:
    for number in range(pods):
        name = f"pod-{number}"
        meta = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
        requests = {"cpu": str(1 + number // 2 % 4), "memory": "1Gi"}
        spec: Json = {
            "schedulerName": "dra-scheduler",
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        }
        pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        if number % 2:
            spec["resourceClaims"] = [{"name": "devices", "resourceClaimTemplateName": "devices"}]
            pod["status"] = {"resourceClaimStatuses": [{"name": "devices", "resourceClaimName": name}]}
            yield _claim(name, number)
        yield pod


def _claim(pod: str, number: int) -> Json:
    wanted = [(GPU, 1 + number // 2 % 2), *([(NIC, 2)] if number % 8 == 1 else [])]
    requests = [
        {"name": f"r{place}", "exactly": {"deviceClassName": driver, "allocationMode": "ExactCount", "count": count}}
        for place, (driver, count) in enumerate(wanted)
    ]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod, "controller": True}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": pod, "namespace": "default", "uid": f"claim-{pod}", "ownerReferences": [owner]},
        "spec": {"devices": {"requests": requests}},
    }


def table(results: Sequence[Planned]) -> Table:
    """Return one row a size."""
    columns = ("pods", "nominated", "NodeClaims", "pods per CPU second", "target", "peak MiB")
    return Table(columns, tuple(map(_row, results)))


def _row(one: Planned) -> tuple[str, ...]:
    return (
        f"{one.pods:,}",
        f"{one.nominated:,}",
        f"{one.node_claims:,}",
        f"{one.pods_per_cpu_second:,.0f}",
        f"{TARGET:,.0f}",
        f"{one.peak_mib:,.0f}",
    )


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(plan(int(sys.argv[1]))).decode())
