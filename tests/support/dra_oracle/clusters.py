"""Random clusters as manifests: a random world, with pods for its claims, on nodes or with nodes to be planned."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from dra_oracle.parts import Part
from dra_oracle.publishing import LABELS
from dra_oracle.world import GATES, Json, World
from dra_oracle.worlds import random_world

ONE_IN = 3
"""One cluster in so many has NodePools and InstanceTypes."""
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
OF_GROUPS = (
    "attributes",
    "capacity",
    "consumesCounters",
    "allowMultipleAllocations",
    "taints",
    "bindsToNode",
    "bindingConditions",
    "bindingFailureConditions",
)
"""What the devices of an InstanceType may say."""


class Cluster(msgspec.Struct, frozen=True):
    """The objects of a cluster, and the words that switch features on and off for it."""

    objects: tuple[Json, ...]
    gates: str


def random_cluster(seed: int) -> Cluster:
    """The cluster of this seed."""
    world = random_world(seed, frozenset(Part))
    gates = ",".join(f"{gate}={str(name in world.features).lower()}" for name, gate in GATES.items())
    return Cluster((*_supply(world, seed), *_demand(world)), gates)


def written(folder: Path, cluster: Cluster, seed: int) -> Path:
    """The file that now holds the cluster."""
    path = folder / f"cluster-{seed:04}.json"
    path.write_bytes(
        msgspec.json.format(msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": cluster.objects}))
    )
    return path


def _supply(world: World, seed: int) -> Iterator[Json]:
    planned = seed % ONE_IN == 0
    trusted = {"resource.kubernetes.io/admin-access": "true"} if seed % 2 else {}
    yield _made("v1", "Namespace", "default", labels=trusted)
    yield from world.classes
    yield _made("v1", "Node", "node-2", labels={"zone": "b"}, status={"allocatable": ROOM})
    if not planned:
        yield {**world.node, "status": {"allocatable": ROOM}}
        yield _made("v1", "Node", "node-3", labels=dict(LABELS), status={"allocatable": ROOM})
        yield from world.slices
    else:
        yield from (piece for piece in world.slices if "nodeName" not in piece["spec"])
        yield _node_pool()
        yield _instance_type("small", "1", [piece for piece in world.slices if "nodeName" in piece["spec"]][:1])
        yield _instance_type("large", "3", [piece for piece in world.slices if "nodeName" in piece["spec"]])
    for rule in world.rules:
        yield {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", **rule}


def _demand(world: World) -> Iterator[Json]:
    for number, result in enumerate(world.held):
        request = {"name": "held", "exactly": {"deviceClassName": "any"}}
        yield _claim(f"held-{number}", {"devices": {"requests": [request]}}) | {
            "status": {"allocation": {"devices": {"results": [result]}}}
        }
    yield from world.claims
    if world.claims:
        yield _made(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            "t",
            namespace="default",
            spec={"spec": world.claims[0]["spec"]},
        )
    names = [claim["metadata"]["name"] for claim in world.claims]
    yield _pod("all", [{"name": name, "resourceClaimName": name} for name in names])
    for name in names:
        yield _pod(f"shares-{name}", [{"name": "c", "resourceClaimName": name}])
    for number in range(2):
        yield _pod(f"own-{number}", [{"name": "c", "resourceClaimTemplateName": "t"}])


def _instance_type(name: str, price: str, pieces: list[Json]) -> Json:
    groups, counters = [], {}
    for number, piece in enumerate(pieces):
        spec = piece["spec"]
        for device in spec.get("devices", ()):
            said = {key: device[key] for key in OF_GROUPS if key in device}
            groups.append({"driver": spec["driver"], "name": f"{device['name']}-{number}", **said})
        for each in spec.get("sharedCounters", ()):
            counters[spec["driver"], each["name"]] = {"driver": spec["driver"], **each}
    spec = {
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        "offerings": [{"zone": "a", "price": price}],
        "capacity": ROOM,
        "devices": {"groups": groups, "sharedCounters": list(counters.values())},
    }
    return _made("dra-scheduler.dev/v1alpha1", "InstanceType", name, spec=spec)


def _node_pool() -> Json:
    reference = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
    template = {"metadata": {"labels": {"rack": "7"}}, "spec": {"nodeClassRef": reference, "requirements": []}}
    return _made("karpenter.sh/v1", "NodePool", "default", spec={"template": template})


def _pod(name: str, claims: list[Json]) -> Json:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": claim["name"]} for claim in claims]}
    spec = {
        "schedulerName": "dra-scheduler",
        "resourceClaims": claims,
        "containers": [{"name": "main", "image": "example.com/app", "resources": resources}],
    }
    return _made("v1", "Pod", name, namespace="default", spec=spec)


def _claim(name: str, spec: Json) -> Json:
    return _made("resource.k8s.io/v1", "ResourceClaim", name, namespace="default", spec=spec)


def _made(version: str, kind: str, name: str, namespace: str = "", labels: Json | None = None, **content: Json) -> Json:
    metadata = {"name": name, "uid": f"uid-{name}", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": {**metadata, "labels": labels or {}}, **content}
