"""Nodes that come up for NodeClaims: two drivers publish four slices each, with the devices of the InstanceType."""

from collections.abc import Iterator, Sequence

import orjson

from dra_bench.world import DEVICES, Json, device
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.provisioning.nodeclaim_builder import CURRENT_HASH_VERSION, HASH, HASH_VERSION, pool_hash
from dra_scheduling.wire import read_as

DRIVERS = {"gpu.example.com": "gpu", "nic.example.com": "nic"}
SLICES = 4
"""Of each driver."""
SLICES_A_NODE = SLICES * len(DRIVERS)
TYPE = "accelerated-8"
POOL = "general"
SINCE = "2026-01-01T00:00:00Z"
CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
CLASS = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
LABELS = {
    "karpenter.sh/capacity-type": "on-demand",
    "karpenter.sh/nodepool": POOL,
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
    "node.kubernetes.io/instance-type": TYPE,
    "topology.kubernetes.io/zone": "a",
}
INITIALIZED = b'"type":"Initialized"'


def supply() -> list[Json]:
    """The pool, and the type that all its nodes are of."""
    return [_instance_type(), _node_pool()]


def node_claim(name: str) -> Json:
    """A NodeClaim as it is planned, with the labels that its launch gives it, and the status of that launch."""
    launched = {"type": "Launched", "status": "True", "reason": "Launched", "message": "", "lastTransitionTime": SINCE}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": LABELS,
            "annotations": {
                "karpenter.sh/requested-dra-drivers": ",".join(DRIVERS),
                HASH: pool_hash(read_as(NodePool, _node_pool())),
                HASH_VERSION: CURRENT_HASH_VERSION,
            },
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {
            "nodeClassRef": CLASS,
            "requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in LABELS.items()],
            "resources": {"requests": {"cpu": "8", "memory": "32Gi", "pods": "8"}},
        },
        "status": {
            "providerID": _machine(name),
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "conditions": [launched],
        },
    }


def node(name: str) -> Json:
    """The node of a NodeClaim, ready, and not registered yet."""
    taints = [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": SINCE}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**LABELS, "kubernetes.io/hostname": name}},
        "spec": {"providerID": _machine(name), "taints": taints},
        "status": {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [ready]},
    }


def slices(names: Sequence[str]) -> Iterator[Json]:
    """All slices of some nodes: the first one of every node, then the second ones, one driver after the other."""
    for driver, stem in DRIVERS.items():
        for number in range(SLICES):
            for name in names:
                yield _slice(name, driver, stem, number)


def opened(line: bytes) -> bytes | None:
    """Return the name of the NodeClaim that a line of a watch is about where it is initialized."""
    if INITIALIZED not in line:
        return None
    claim = orjson.loads(line)["object"]
    is_open = any(one["type"] == "Initialized" and one["status"] == "True" for one in claim["status"]["conditions"])
    return claim["metadata"]["name"].encode() if is_open else None


def _instance_type() -> Json:
    groups = [{"driver": driver, "name": f"{stem}-{{index}}", "count": DEVICES} for driver, stem in DRIVERS.items()]
    return {
        "apiVersion": "dra-scheduler.dev/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": TYPE},
        "spec": {
            "offerings": [{"zone": "a", "price": 1}],
            "capacity": CAPACITY,
            "devices": {"groups": groups},
        },
    }


def _node_pool() -> Json:
    template = {"spec": {"nodeClassRef": CLASS, "requirements": []}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": POOL},
        "spec": {"template": template, "disruption": {"consolidateAfter": "Never"}},
    }


def _slice(node_: str, driver: str, stem: str, number: int) -> Json:
    each = DEVICES // SLICES
    devices = [
        {**device(node_, index), "name": f"{stem}-{index}"} for index in range(number * each, number * each + each)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_}-{stem}-{number}"},
        "spec": {
            "driver": driver,
            "nodeName": node_,
            "pool": {"name": node_, "generation": 1, "resourceSliceCount": SLICES},
            "devices": devices,
        },
    }


def _machine(name: str) -> str:
    return f"bench://{name}"
