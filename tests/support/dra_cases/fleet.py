"""Nodes that were made for NodeClaims, with pods on them: a world to take nodes out of, object by object."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Node
from dra_scheduling.provisioning.nodeclaim_builder import HASH, HASH_VERSION, pool_hash
from dra_scheduling.wire import read

Json = dict[str, Any]
DRIVER = "gpu.example.com"
NIC = "nic.example.com"
BORN = "2026-01-01T00:00:00Z"
NOW = "2026-01-02T00:00:00Z"
KINDS: Mapping[str, Json] = {
    "gpu-1": {"price": "1.0", "gpus": 1, "cpu": "8"},
    "gpu-2": {"price": "1.8", "gpus": 2, "cpu": "16"},
    "gpu-4": {"price": "3.5", "gpus": 4, "cpu": "32"},
    "cpu-8": {"price": "0.4", "gpus": 0, "cpu": "8"},
}


class Fleet:
    """A cluster that is filled as it would be: types and a pool first, nodes then, pods on them last."""

    def __init__(self, kinds: Mapping[str, Json] = KINDS, disruption: Json | None = None) -> None:
        self.cluster = Cluster()
        self.expanded: dict[str, Expanded] = {}
        self.show(device_class(DRIVER), device_class(NIC))
        for name, kind in kinds.items():
            self.kind(name, **kind)
        self.pool("pool", disruption=disruption)

    def show(self, *objects: Json) -> None:
        """Let the cluster see these objects."""
        for written in objects:
            self.cluster.apply(read(written))

    def kind(self, name: str, price: str = "1", gpus: int = 0, cpu: str = "8", spot: str = "") -> None:
        """Add an InstanceType with so many GPUs."""
        offerings = [{"zone": "zone-a", "price": price}]
        if spot:
            offerings.append({"zone": "zone-a", "price": spot, "capacityType": "spot"})
        groups = [{"driver": DRIVER, "name": "gpu-{index}", "count": gpus}] if gpus else []
        spec = {"offerings": offerings, "capacity": {"cpu": cpu, "memory": "64Gi"}, "devices": {"groups": groups}}
        value = read(_object("dra-scheduler.dev/v1alpha1", "InstanceType", name, spec))
        found = expand(value) if isinstance(value, InstanceType) else ()
        assert isinstance(found, Expanded), found
        self.expanded[name] = found
        self.cluster.apply(value)

    def pool(
        self, name: str, *, template: Json | None = None, spec: Json | None = None, disruption: Json | None = None
    ) -> NodePool:
        """Add a NodePool; its nodes may go at once, all of them, unless something else is said."""
        ref = {"group": "dra-scheduler.dev", "kind": "NodeClass", "name": "default"}
        whole = {
            "template": {"spec": {"nodeClassRef": ref, "requirements": [], **(template or {})}},
            "disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}], **(disruption or {})},
            **(spec or {}),
        }
        value = read(_object("karpenter.sh/v1", "NodePool", name, whole))
        assert isinstance(value, NodePool)
        self.cluster.apply(value)
        return value

    def node(self, name: str, kind: str = "gpu-1", pool: str = "pool", **more: object) -> None:
        """Add an initialized node of a type with its slices and its NodeClaim, whose name begins with `claim-`."""
        labels = {
            "karpenter.sh/nodepool": pool,
            "karpenter.sh/initialized": "false" if more.get("is_coming") else "true",
            "node.kubernetes.io/instance-type": kind,
            "topology.kubernetes.io/zone": "zone-a",
            "karpenter.sh/capacity-type": more.get("capacity_type", "on-demand"),
            "kubernetes.io/hostname": name,
        }
        self.show(self._claim(name, pool, labels, more), self._node(name, kind, labels, more))
        for piece in self.expanded[kind].slices_for_node(name, node_uid=f"uid-{name}"):
            self.cluster.apply(piece)

    def pod(
        self, name: str, node: str = "", *, gpus: int = 0, claims: Mapping[str, str] | None = None, **more: object
    ) -> None:
        """Add a pod with a claim of its own for so many GPUs, those first that nobody has on its node."""
        names = self._free(node)[:gpus] if node else []
        if gpus:
            devices = [DeviceID(DRIVER, node, device) for device in names]
            self.show(claim(f"{name}-gpus", devices, users=[name] if node else [], count=gpus, owner=name))
        own = {"gpus": f"{name}-gpus"} if gpus else {}
        self.show(pod(name, node, {**own, **(claims or {})}, **more))

    def free_devices(self) -> frozenset[DeviceID]:
        """Return the devices of all nodes that nobody has."""
        return frozenset(DeviceID(DRIVER, node, name) for node in self.cluster.nodes for name in self._free(node))

    def claim_of(self, node: str) -> NodeClaim:
        """Return the NodeClaim of a node."""
        return self.cluster.inventory.claims[f"claim-{node}"]

    def mark(self, node: str, **annotations: str) -> None:
        """Annotate a node's NodeClaim (`_` stands for `-`)."""
        claim = self.claim_of(node)
        written = {f"karpenter.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.cluster.apply(_annotated(claim, written))

    def remove_kind(self, name: str) -> None:
        """Let an InstanceType be gone."""
        self.cluster.remove(InstanceType, ObjectKey("", name))

    def remove_node(self, claim: NodeClaim) -> None:
        """Let the node of a NodeClaim be gone, and the NodeClaim."""
        self.cluster.remove(Node, ObjectKey("", claim.status.node_name))
        self.cluster.remove(NodeClaim, ObjectKey("", claim.name))

    def _free(self, node: str) -> list[str]:
        state = self.cluster.nodes[node]
        pools = (pool for pool in self.cluster.pools.on_node(state.place) if pool.key.driver == DRIVER)
        held = {name for pool in pools for name in self.cluster.ledger.taken_in(pool.key)}
        kind = state.node.metadata.labels["node.kubernetes.io/instance-type"]
        return [f"gpu-{n}" for n in range(self.expanded[kind].drivers.get(DRIVER, 0)) if f"gpu-{n}" not in held]

    def _claim(self, name: str, pool: str, labels: Json, more: Json) -> Json:
        owner = self.cluster.inventory.pools[pool]
        spec = {
            "nodeClassRef": {"group": more.get("group", "dra-scheduler.dev"), "kind": "NodeClass", "name": "default"},
            "requirements": [],
            **more.get("claim", {}),
        }
        times = {"lastTransitionTime": more.get("born", BORN)}
        state = "Unknown" if more.get("is_coming") else "True"
        return {
            **_object("karpenter.sh/v1", "NodeClaim", f"claim-{name}", spec),
            "metadata": {
                "name": more.get("name_of_claim", f"claim-{name}"),
                "uid": f"uid-claim-{name}",
                "creationTimestamp": more.get("born", BORN),
                "labels": labels,
                "annotations": {HASH: pool_hash(owner), HASH_VERSION: "v3", **more.get("notes", {})},
            },
            "status": {
                "nodeName": name,
                "providerID": f"kwok://claim-{name}",
                "conditions": [
                    {"type": "Launched", "status": "True", **times},
                    {"type": "Registered", "status": "True", **times},
                    {"type": "Initialized", "status": state, **times},
                ],
            },
        }

    def _node(self, name: str, kind: str, labels: Json, more: Json) -> Json:
        offered = {key: str(amount) for key, amount in self.expanded[kind].offered.items()}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "annotations": more.get("notes", {})},
            "spec": {"taints": more.get("taints", []), "providerID": f"kwok://claim-{name}"},
            "status": {
                "allocatable": offered,
                "capacity": offered,
                "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
            },
        }


def device_class(name: str) -> Json:
    """Return the class of all devices of the driver with this name."""
    selector = {"cel": {"expression": f'device.driver == "{name}"'}}
    return _object("resource.k8s.io/v1", "DeviceClass", name, {"selectors": [selector]})


def claim(
    name: str,
    devices: Sequence[DeviceID] = (),
    *,
    users: Sequence[str | Json] = (),
    owner: str = "",
    count: int = 0,
    driver: str = DRIVER,
) -> Json:
    """Return a claim that has these devices for pods of these names; an owner is the pod that it was made for."""
    exactly = {"deviceClassName": driver, "allocationMode": "ExactCount", "count": count or len(devices) or 1}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    status: Json = {"reservedFor": [_user(one) for one in users]}
    if devices:
        results = [{"request": "gpu", "driver": d.driver, "pool": d.pool, "device": d.device} for d in devices]
        status["allocation"] = {"devices": {"results": results}, **_selector_of(devices[0])}
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": f"uid-{owner}", "controller": True}]
    return {
        **_object("resource.k8s.io/v1", "ResourceClaim", name, spec),
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": owners if owner else [],
        },
        "status": status,
    }


def pod(name: str, node: str = "", claims: Mapping[str, str] | None = None, **more: object) -> Json:
    """Return a pod of the default namespace; `claims` are claims by what the pod calls them."""
    wanted = [{"name": key, "resourceClaimName": made} for key, made in (claims or {}).items()]
    owner = more.get("owner", "ReplicaSet")
    given = more.get("spec", {})
    assert isinstance(given, dict)
    meta: Json = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "creationTimestamp": more.get("born", BORN),
        "labels": more.get("labels", {}),
        "annotations": more.get("notes", {}),
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "o", "controller": True}],
    }
    if more.get("is_deleting"):
        meta["deletionTimestamp"] = NOW
    spec = {
        "schedulerName": "dra-scheduler",
        "nodeName": node,
        "containers": [{"name": "main", "resources": {"requests": {"cpu": more.get("cpu", "1")}}}],
        "resourceClaims": wanted,
        **given,
    }
    phase = more.get("phase", "Running" if node else "Pending")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def _user(user: str | Json) -> Json:
    return {"resource": "pods", "name": user, "uid": f"uid-{user}"} if isinstance(user, str) else user


def _selector_of(device: DeviceID) -> Json:
    """Return the selector of the node that a pool is named after; a pool called `network` is everywhere."""
    if device.pool == "network":
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [device.pool]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def _object(api_version: str, kind: str, name: str, spec: Json) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": BORN},
        "spec": spec,
    }


def _annotated(claim: NodeClaim, more: Mapping[str, str]) -> NodeClaim:
    return replace(claim, metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, **more}))


def network_devices(count: int) -> Iterator[Json]:
    """Yield a pool of devices that every node reaches."""
    devices = [{"name": f"net-{number}"} for number in range(count)]
    pool = {"name": "network", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": NIC, "allNodes": True, "pool": pool, "devices": devices}
    yield _object("resource.k8s.io/v1", "ResourceSlice", "network", spec)


def shared_device(capacity: str) -> Json:
    """Return a slice with one device that every node reaches and claims share by its bandwidth."""
    (written,) = network_devices(1)
    device = {
        "name": "net-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": capacity, "requestPolicy": {"default": "1"}}},
    }
    return {**written, "spec": {**written["spec"], "devices": [device]}}


def share_of(name: str, amounts: Sequence[str], *, users: Sequence[str | Json], asked: str = "") -> Json:
    """Return a claim that has so much of the shared device, by several requests if there are several amounts."""
    requests = [
        {
            "name": f"part-{number}",
            "exactly": {
                "deviceClassName": NIC,
                "allocationMode": "ExactCount",
                "count": 1,
                "capacity": {"requests": {"bandwidth": asked or amount}},
            },
        }
        for number, amount in enumerate(amounts)
    ]
    results = [
        {
            "request": f"part-{number}",
            "driver": NIC,
            "pool": "network",
            "device": "net-0",
            "shareID": f"{name}-{number}",
            "consumedCapacity": {"bandwidth": amount},
        }
        for number, amount in enumerate(amounts)
    ]
    written = claim(name, users=users)
    return {
        **written,
        "spec": {"devices": {"requests": requests}},
        "status": {**written["status"], "allocation": {"devices": {"results": results}}},
    }
