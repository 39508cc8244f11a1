"""Clusters of thousands of nodes, as the API server gives them, in the three ways in which drivers publish devices."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from dra_bench import world
from dra_bench.world import CLASS, DRIVER, Json

GPUS = 8
NODES = 5_000
WIDE_NODES = 1_600
TEMPLATE = "gpus"
MODELS = ("A100", "H100", "H200")
ROOTS = 4
BUSIEST_CPU, BUSIEST_MEMORY = 40_000, 100_000
PARTS = (("whole", 1, 80, 7), ("half", 2, 40, 3), ("quarter", 4, 20, 1))
"""Of each device: kind, how many, memory in Gi, and slices of the processor."""


def nothing(number: int) -> Sequence[Json]:
    """Return what is in use on a node of which all is free."""
    return ()


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with their slices, and what is in use there. `kind` is what a pod's devices have to be, of several kinds.

    Targets are milliseconds for a pod when all is known, and MiB of memory (None: none is set).
    """

    name: str
    nodes: int
    pieces: Callable[[int], Sequence[Json]]
    in_use: Callable[[int], Sequence[Json]] = nothing
    kind: str = ""
    target_ms: float
    target_mib: float | None = None

    def objects(self) -> Iterator[Json]:
        """Yield the class, and then every node with its slices."""
        yield world.device_class()
        for number in range(self.nodes):
            yield world.node(number)
            yield from self.pieces(number)
            yield from self.in_use(number)


def partitions(node: str) -> list[Json]:
    """Return a node's pool of 8 devices as 56 partitions: each whole, in 2 and in 4, with its own counters."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    sets = [{"name": f"gpu-{gpu}", "counters": _amounts(80, 7)} for gpu in range(GPUS)]
    content = [part for gpu in range(GPUS) for part in _partitions_of(node, gpu)]
    return [
        _slice(f"{node}-counters", node, pool, {"sharedCounters": sets}),
        _slice(f"{node}-devices", node, pool, {"devices": content}),
    ]


def _partitions_of(node: str, gpu: int) -> Iterator[Json]:
    for kind, count, memory, slices in PARTS:
        for number in range(count):
            yield {
                "name": f"gpu-{gpu}-{kind}-{number}",
                "attributes": {
                    "kind": {"string": kind},
                    "parent": {"string": f"GPU-{node}-{gpu}"},
                    "model": {"string": "H100"},
                    "driverVersion": {"version": "580.1.0"},
                },
                "capacity": {"memory": {"value": f"{memory}Gi"}},
                "consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": _amounts(memory, slices)}],
            }


def _amounts(memory: int, slices: int) -> Json:
    return {"memory": {"value": f"{memory}Gi"}, "slices": {"value": str(slices)}}


def _slice(name: str, node: str, pool: Json, content: Json) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, **content},
    }


def _plain(number: int) -> list[Json]:
    return [world.resource_slice(number)]


def _varied(number: int) -> list[Json]:
    """Return the slice of a node whose devices are of models and roots by chance."""
    dice, piece = random.Random(number), world.resource_slice(number)
    for one in piece["spec"]["devices"]:
        one["attributes"]["model"] = {"string": dice.choice(MODELS)}
        one["attributes"]["root"] = {"string": f"{world.node_name(number)}-{dice.randrange(ROOTS)}"}
    return [piece]


def _half_taken(number: int) -> list[Json]:
    """Return a pod that has some room of a node, and its claim that has about half of the devices."""
    dice, node, name = random.Random(-number - 1), world.node_name(number), f"busy-{number:05d}"
    devices = [f"gpu-{index}" for index in range(GPUS) if dice.random() < 1 / 2]
    claim, pod = pod_with_claim(number, wish(max(len(devices), 1)))
    claim["metadata"] |= {"name": f"{name}-gpu", "uid": f"uid-{name}-gpu", "ownerReferences": []}
    results = [{"request": "gpu", "driver": DRIVER, "pool": node, "device": device} for device in devices]
    claim["status"] = {"allocation": {"devices": {"results": results}}} if devices else {}
    pod["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    pod["spec"] |= {"nodeName": node, "resourceClaims": []}
    pod["spec"]["containers"][0]["resources"] = {
        "requests": {
            "cpu": f"{dice.randrange(1, BUSIEST_CPU)}m",
            "memory": f"{dice.randrange(1, BUSIEST_MEMORY)}Mi",
        }
    }
    return [claim, pod]


def _partitioned(number: int) -> list[Json]:
    return partitions(world.node_name(number))


def _wide(nodes: int, number: int) -> list[Json]:
    node = world.node_name(number)
    content = [world.device(node, index) | {"name": f"{node}-gpu-{index}"} for index in range(GPUS)]
    pool = {"name": "everywhere", "generation": 1, "resourceSliceCount": nodes}
    return [_slice(f"{node}-gpus", node, pool, {"devices": content})]


def fleets(nodes: int = NODES, wide_nodes: int = WIDE_NODES) -> tuple[Fleet, ...]:
    """Return all of them; the last one has nodes of its own number."""
    return (
        Fleet(name="8 plain devices a node", nodes=nodes, pieces=_plain, target_ms=20.0, target_mib=150.0),
        Fleet(
            name="8 devices a node, half of them taken, no two nodes alike",
            nodes=nodes,
            pieces=_varied,
            in_use=_half_taken,
            target_ms=20.0,
        ),
        Fleet(
            name="56 partitions a node",
            nodes=nodes,
            pieces=_partitioned,
            kind="whole",
            target_ms=100.0,
            target_mib=600.0,
        ),
        Fleet(name="one pool over all nodes", nodes=wide_nodes, pieces=partial(_wide, wide_nodes), target_ms=100.0),
    )


def wish(count: int, kind: str = "", more: str = "") -> Json:
    """Return the spec of a claim for that many devices; `more` is a selector beside that of the kind."""
    expressions = [f'device.attributes["{DRIVER}"].kind == "{kind}"'] if kind else []
    selectors = [{"cel": {"expression": expression}} for expression in (*expressions, *([more] if more else ()))]
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count, "selectors": selectors}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def pod_with_claim(number: int, spec: Json, cpu: str = "100m") -> tuple[Json, Json]:
    """Return a claim made from a template for a pod, and the pod."""
    pod = world.pod(number, "dra-scheduler", "plain")
    name = pod["metadata"]["name"]
    pod["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    resources = pod["spec"]["containers"][0]["resources"]
    resources["claims"] = [{"name": "gpu"}]
    resources["requests"]["cpu"] = cpu
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
    pod["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": f"{name}-gpu",
            "namespace": world.NAMESPACE,
            "uid": f"uid-{name}-gpu",
            "ownerReferences": [owner],
        },
        "spec": spec,
    }
    return claim, pod
