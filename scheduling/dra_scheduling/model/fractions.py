"""KAI's fractions of GPUs, which are not given out here: a pod that asks for one would otherwise run without any."""

from dra_scheduling.model.pods import Pod

FRACTION_ANNOTATIONS = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
FRACTION_TYPES = frozenset({"Fraction", "MigInstance"})
INSTEAD = (
    "ask for a part of a device by a ResourceClaim instead: for a share with capacity.requests (consumable capacity), "
    "or for a partition that the driver publishes"
)


def fraction_problem(pod: Pod) -> str | None:
    """Return why the pod cannot be served if its annotations ask for a fraction of a GPU, or None."""
    asked = next((name for name in FRACTION_ANNOTATIONS if name in pod.metadata.annotations), None)
    return f"annotation {asked} is not supported: {INSTEAD}" if asked is not None else None
