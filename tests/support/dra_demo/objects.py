"""Short builders of the API objects that the demo needs, as plain JSON."""

from collections.abc import Iterable, Mapping

from dra_builders import manifests
from dra_kube.api import Json

NAMESPACE = "demo"
DRIVER = "gpu.nvidia.com"
CLASS = "gpu.nvidia.com"
RESOURCE = "nvidia.com/gpu"
GROUP = "resource.k8s.io/v1"
IMPLICIT_RESOURCE = f"deviceclass.resource.kubernetes.io/{CLASS}"


def node(name: str, **allocatable: str) -> Json:
    """Return a ready node; `allocatable` adds to its cpus, memory and pods (`nvidia_com__gpu` is `nvidia.com/gpu`)."""
    return manifests.node(
        name, resources={key.replace("__", "/").replace("_", "."): value for key, value in allocatable.items()}
    )


def gpu_class() -> Json:
    """Return the class of all GPUs, which also answers to the extended resource name that pods have always used."""
    expression = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
    return manifests.device_class(CLASS, expression, extended=RESOURCE)


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
    return manifests.resource_slice(
        f"{node_name}-generation-{generation}-part-{part}",
        driver=DRIVER,
        pool=manifests.pool(node_name, generation=generation, count=parts),
        devices=[_gpu(number, driver) for number in gpus],
        nodeName=node_name,
    )


def template(name: str, *selectors: str) -> Json:
    """Return a template of claims for one GPU."""
    return template_of(name, manifests.request("gpu", CLASS, *selectors))


def template_of(name: str, *requests: Json) -> Json:
    """Return a template of claims with these requests."""
    return _in_demo(manifests.template(name, *requests))


def claim(name: str, *selectors: str) -> Json:
    """Return a claim for one GPU."""
    return _in_demo(manifests.claim(name, manifests.request("gpu", CLASS, *selectors)))


def pod(name: str, *, limits: Mapping[str, str] | None = None, claim_from: Mapping[str, str] | None = None) -> Json:
    """Return a pod of one container with extended resources, or with the claim that `claim_from` names."""
    claims = [{"name": "gpu", **claim_from}] if claim_from else []
    made = manifests.pod(name, *claims, limits=limits)
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "500m", "memory": "1Gi"}
    return _in_demo(made)


def _in_demo(value: Json) -> Json:
    value["metadata"]["namespace"] = NAMESPACE
    return value


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
