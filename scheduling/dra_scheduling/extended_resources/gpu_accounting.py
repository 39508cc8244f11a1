"""How many GPUs a pod is charged for."""

from collections.abc import Collection

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.extended_resources.resource_names import implicit_name
from dra_scheduling.model.bindrequests import ReceivedGPU
from dra_scheduling.model.pods import Pod

GPU_RESOURCES = frozenset(
    {"nvidia.com/gpu", "amd.com/gpu", implicit_name("gpu.nvidia.com"), implicit_name("gpu.amd.com")}
)
"""The default; implicit names count like explicit ones, or they would be a way around quota."""
WHOLE = "1.00"


def received_gpu(pod: Pod, gpu_resources: Collection[str] = GPU_RESOURCES) -> ReceivedGPU | None:
    """Return the whole GPUs of the pod's container requests, or None if it requests none.

    What serves them makes no difference: a special claim stands for the same request and is never counted beside it.
    """
    requests = pod_requests(pod)
    count = sum(requests.get(name) for name in gpu_resources)
    return ReceivedGPU(count=count, portion=WHOLE) if count else None
