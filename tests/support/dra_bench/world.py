"""The world that is measured: nodes with one 8-device pool each, one class, and pods that want one device."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

DRIVER = "gpu.example.com"
CLASS = "gpu.example.com"
RESOURCE = "example.com/gpu"
TEMPLATE = "one-gpu"
NAMESPACE = "bench"
DEVICES = 8
TOLERATION = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}


def node_name(number: int) -> str:
    return f"node-{number:05d}"


def node(number: int) -> Json:
    name = node_name(number)
    offered = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": offered, "capacity": offered, "conditions": [ready]},
    }


def resource_slice(number: int) -> Json:
    name = node_name(number)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpus"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [device(name, index) for index in range(DEVICES)],
        },
    }


def device(node_: str, index: int) -> Json:
    attributes = {
        "uuid": {"string": f"GPU-{node_}-{index}"},
        "model": {"string": "H100"},
        "index": {"int": index},
        "driverVersion": {"version": "580.1.0"},
    }
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def device_class() -> Json:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS, "uid": "class"},
        "spec": {"selectors": [selector], "extendedResourceName": RESOURCE},
    }


def claim_template() -> Json:
    request = {"name": "gpu", "exactly": {"deviceClassName": CLASS}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": TEMPLATE, "namespace": NAMESPACE},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def pod(number: int, scheduler: str, kind: str) -> Json:
    """A pod of a kind: `plain`, `extended` (one device by resource name) or `template` (one device by claim)."""
    resources: Json = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    claims: list[Json] = []
    if kind == "extended":
        resources["limits"] = {RESOURCE: "1"}
    if kind == "template":
        resources["claims"] = [{"name": "gpu"}]
        claims = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
    container = {"name": "main", "image": "example.com/none", "resources": resources}
    name = f"{kind}-{number:05d}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **({"resourceClaims": claims} if claims else {}),
        },
    }


def running_pod(number: int, node_: str) -> Json:
    """A pod that is bound already, about as big as pods are in real clusters."""
    labels = {"app.kubernetes.io/name": "service", "app.kubernetes.io/instance": f"service-{number % 50}"}
    body = pod(number, "default-scheduler", "plain")
    body["metadata"] |= {
        "name": f"running-{number:05d}",
        "labels": labels,
        "annotations": {"checksum/config": "5" * 64},
    }
    body["spec"] |= {"nodeName": node_, "tolerations": [TOLERATION], "volumes": [{"name": "data", "emptyDir": {}}]}
    container = body["spec"]["containers"][0]
    container["env"] = [{"name": f"SETTING_{index}", "value": "a value of some length"} for index in range(20)]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return body


def namespace() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def cluster(nodes: int) -> Iterator[Json]:
    """The objects that are there before the first pod."""
    yield device_class()
    for number in range(nodes):
        yield node(number)
        yield resource_slice(number)
