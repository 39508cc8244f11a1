"""The objects of a made-up node as the API takes them: node, Lease, and the status of pods that run there."""

import hashlib
from collections.abc import Mapping

from msgspec.structs import replace

from dra_kube.api import Json
from dra_operator.pacing import micro_timestamp, timestamp
from dra_scheduling.basics.features import DEFAULT_FEATURES, NODE_ALLOCATABLE, Features
from dra_scheduling.model.conditions import Condition, with_condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.nodeclaims.launching import ARCHITECTURE, OPERATING_SYSTEM, USUAL_LABELS
from dra_scheduling.nodeclaims.lifecycle_steps import LAUNCHED, UNREGISTERED_TAINT
from dra_scheduling.wire import write_value
from kube_cel.quantity import Quantity

PROVIDER = "kwok://"
HOSTNAME = "kubernetes.io/hostname"
LONGEST_LABEL = 63
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 60
VERSION = "v1.37.0+kwok"
DECLARED = (NODE_ALLOCATABLE,)
"""The features that a kubelet with their gate on declares in the status of its node, as far as they matter here."""
HEALTHY = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


def provider_id(claim: NodeClaim) -> str:
    """Return what the machine of a NodeClaim is called: a second launch finds the first one."""
    return f"{PROVIDER}{claim.name}"


def is_made_up(node: Node) -> bool:
    """Whether the node's machine is of this kind."""
    return node.spec.provider_id == f"{PROVIDER}{node.name}"


def launched_status(claim: NodeClaim, capacity: Mapping[str, Quantity], offered: Mapping[str, Quantity]) -> Json:
    """Return the status of a NodeClaim that has a machine."""
    done = Condition(type=LAUNCHED, status="True", reason=LAUNCHED)
    return {
        "providerID": provider_id(claim),
        "imageID": "kwok",
        "capacity": _texts(capacity),
        "allocatable": _texts(offered),
        **condition_status(claim, done),
    }


def condition_status(claim: NodeClaim, condition: Condition) -> Json:
    """Return the part of a NodeClaim's status that holds one condition more than before."""
    new = replace(condition, last_transition_time=timestamp(), observed_generation=claim.metadata.generation)
    conditions = with_condition(claim.status.conditions, new)
    written = [{"status": one.status, "reason": one.type, "message": "", **write_value(one)} for one in conditions]
    return {"conditions": written}


def node_of(claim: NodeClaim, *, is_ready: bool, features: Features = DEFAULT_FEATURES) -> Json:
    """Return the node that the machine of a launched NodeClaim comes up as.

    An API server takes slices with node-allocatable resources of nodes only that declare to have the feature.
    """
    labels = {**USUAL_LABELS, **claim.metadata.labels, HOSTNAME: _short(claim.name)}
    taints = dict.fromkeys((*claim.spec.taints, *claim.spec.startup_taints, UNREGISTERED_TAINT))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": claim.name, "labels": labels},
        "spec": {"providerID": provider_id(claim), "taints": [write_value(one) for one in taints]},
        "status": {
            "capacity": _texts(claim.status.capacity),
            "allocatable": _texts(claim.status.allocatable),
            "addresses": [
                {"type": "InternalIP", "address": address("10", claim.name)},
                {"type": "Hostname", "address": claim.name},
            ],
            "conditions": [*node_status(is_ready=is_ready)["conditions"], *map(_fine, HEALTHY)],
            "nodeInfo": _system(labels, claim),
            "declaredFeatures": [name for name in DECLARED if features.has(name)],
        },
    }


def node_status(*, is_ready: bool) -> Json:
    """Return the part of a node's status that says whether it is ready."""
    now = timestamp()
    ready = {
        "type": "Ready",
        "status": "True" if is_ready else "False",
        "reason": "KubeletReady" if is_ready else "KubeletNotReady",
        "message": "the node is made up",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {"conditions": [ready]}


def lease_of(name: str, uid: str) -> Json:
    """Return the Lease that says that a node is alive."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}],
        },
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": micro_timestamp()},
    }


def running_status(pod: Pod, node: Node) -> Json:
    """Return the status of a pod whose containers run."""
    now = timestamp()
    ip = address("10", pod.metadata.uid)
    kinds = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    started = {"running": {"startedAt": now}}
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": address("10", node.name),
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "conditions": [_holds(kind, "True", now) for kind in kinds],
        "initContainerStatuses": [
            _container(one.name, started if one.restart_policy else _ended(now)) for one in pod.spec.init_containers
        ],
        "containerStatuses": [_container(one.name, started) for one in pod.spec.containers],
    }


def succeeded_status(pod: Pod) -> Json:
    """Return the status of a pod whose containers have done their work."""
    now = timestamp()
    return {
        "phase": "Succeeded",
        "conditions": [_holds(kind, "False", now, "PodCompleted") for kind in ("ContainersReady", "Ready")],
        "containerStatuses": [_container(one.name, _ended(now)) for one in pod.spec.containers],
    }


def address(first: str, name: str) -> str:
    """Return an IPv4 address that is always the same for a name."""
    digest = hashlib.sha256(name.encode()).digest()
    return ".".join((first, *(str(1 + part % 254) for part in digest[:3])))


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _short(name: str) -> str:
    if len(name) <= LONGEST_LABEL:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_LABEL - 9].rstrip('-.')}-{digest}"


def _fine(kind: str) -> Json:
    now = timestamp()
    return {
        "type": kind,
        "status": "False",
        "reason": HEALTHY[kind],
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _system(labels: Mapping[str, str], claim: NodeClaim) -> Json:
    uid = claim.metadata.uid
    return {
        "architecture": labels[ARCHITECTURE],
        "operatingSystem": labels[OPERATING_SYSTEM],
        "machineID": uid,
        "systemUUID": uid,
        "bootID": uid,
        "kernelVersion": "kwok",
        "osImage": "kwok",
        "containerRuntimeVersion": "kwok://1",
        "kubeletVersion": VERSION,
        "kubeProxyVersion": VERSION,
    }


def _holds(kind: str, status: str, now: str, reason: str = "") -> Json:
    return {"type": kind, "status": status, "lastTransitionTime": now} | ({"reason": reason} if reason else {})


def _container(name: str, state: Json) -> Json:
    is_running = "running" in state
    return {
        "name": name,
        "image": "kwok",
        "imageID": "kwok",
        "ready": is_running,
        "started": is_running,
        "restartCount": 0,
        "state": state,
    }


def _ended(now: str) -> Json:
    return {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
