"""Short builders of the API objects that the demo needs, as plain JSON."""

from collections.abc import Iterable, Mapping

from dra_controlplane.client import Json

NAMESPACE = "demo"
SCHEDULER = "dra-scheduler"
DRIVER = "gpu.nvidia.com"
CLASS = "gpu.nvidia.com"
RESOURCE = "nvidia.com/gpu"
IMPLICIT_RESOURCE = f"deviceclass.resource.kubernetes.io/{CLASS}"
GROUP = "resource.k8s.io/v1"


def namespace(name: str) -> Json:
    """Return a namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node(name: str, **allocatable: str) -> Json:
    """Return a ready node; `allocatable` adds to its cpus, memory and pods (`nvidia_com__gpu` is `nvidia.com/gpu`)."""
    offered = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    offered |= {key.replace("__", "/").replace("_", "."): value for key, value in allocatable.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def gpu_class() -> Json:
    """Return the class of all GPUs, which also answers to the extended resource name that pods have always used."""
    made = device_class(CLASS, f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'")
    made["spec"]["extendedResourceName"] = RESOURCE
    return made


def device_class(name: str, expression: str) -> Json:
    """Return a class of the devices that the expression selects."""
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def gpu_slice(
    node_name: str,
    gpus: Iterable[int],
    *,
    generation: int = 1,
    part: int = 1,
    parts: int = 1,
    driver: str = "570.86.15",
) -> Json:
    """Return the `part`-th of the `parts` slices of a node's pool, with GPUs of these numbers."""
    return {
        "apiVersion": GROUP,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-generation-{generation}-part-{part}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": generation, "resourceSliceCount": parts},
            "devices": [_gpu(number, driver) for number in gpus],
        },
    }


def template(name: str, *selectors: str) -> Json:
    """Return a template of claims for one GPU."""
    return template_of(name, request("gpu", CLASS, *selectors))


def template_of(name: str, *requests: Json) -> Json:
    """Return a template of claims with these requests."""
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def claim(name: str, *selectors: str) -> Json:
    """Return a claim for one GPU."""
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [request("gpu", CLASS, *selectors)]}},
    }


def request(name: str, class_name: str, *selectors: str, count: int = 1) -> Json:
    """Return a request for so many devices of a class that all selectors choose."""
    exactly: Json = {"deviceClassName": class_name, "count": count}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return {"name": name, "exactly": exactly}


def pod(name: str, *, limits: Mapping[str, str] | None = None, claim_from: Mapping[str, str] | None = None) -> Json:
    """Return a pod of one container with extended resources, or with the claim that `claim_from` names."""
    resources: Json = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": dict(limits or {})}
    spec: Json = {"schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 0}
    if claim_from:
        resources["claims"] = [{"name": "gpu"}]
        spec["resourceClaims"] = [{"name": "gpu", **claim_from}]
    spec["containers"] = [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _gpu(number: int, driver: str) -> Json:
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "type": {"string": "gpu"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "driverVersion": {"version": driver},
        },
        "capacity": {"memory": {"value": "80Gi"}},
    }
