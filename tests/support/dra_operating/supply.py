"""NodePools, instance types, and pods that only nodes to come can serve."""

from dra_builders.values import GPU_DRIVER, container, pod
from dra_kube.api import Json
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, read

POOL = "general"


def node_pool(name: str = POOL) -> KubernetesObject:
    """A pool of nodes of every type."""
    reference = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
    body: Json = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"template": {"spec": {"nodeClassRef": reference, "requirements": []}}},
    }
    return read(body)


def instance_type(name: str = "large", cpu: int = 8, plugged: int = 0, gpus: int = 0) -> KubernetesObject:
    """A type with so many `example.com/gpu` that a device plugin registers, and so many devices of the usual driver."""
    groups = [{"driver": GPU_DRIVER, "name": "gpu-{index}", "count": gpus}] if gpus else []
    body: Json = {
        "apiVersion": "dra-scheduler.dev/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "offerings": [{"zone": "a", "price": "1"}],
            "capacity": {"cpu": str(cpu), "memory": "32Gi", "example.com/gpu": str(plugged)},
            "devices": {"groups": groups},
        },
    }
    return read(body)


def cpu_pod(name: str, cpu: str = "1") -> Pod:
    """A pod that asks for cpu."""
    return pod(name, container(requests={"cpu": cpu}))
