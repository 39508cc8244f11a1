"""Room: what the pod takes, held against what the node has left."""

from collections.abc import Mapping
from functools import lru_cache

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import PODS, Resources, amount_text


def room_refusals(requests: Resources, free: Mapping[str, int], allocatable: Mapping[str, int]) -> tuple[Refusal, ...]:
    """Return one refusal per resource that the node has too little of; `free` and `allocatable` are in base units.

    `requests` holds only what the node itself has to serve, not what DRA serves there. Where even the empty node is too
    small, a pod that leaves does not help, and the refusal does not wait for one.
    """
    return tuple(
        _refusal(name, requests.get(name), free.get(name, 0), allocatable.get(name, 0))
        for name in requests.lacking(free)
    )


def _refusal(name: str, wanted: int, left: int, offered: int) -> Refusal:
    wake = ClusterEvent.NODE if offered < wanted else ClusterEvent.NODE | ClusterEvent.ROOM
    if name == PODS:
        return Refusal(reason="TooManyPods", message="too many pods", wake=wake)
    return insufficient(name, wanted, left, wake)


@lru_cache(maxsize=4096)
def insufficient(name: str, wanted: int, left: int, wake: ClusterEvent) -> Refusal:
    """Return the refusal of who has too little `left` of a resource (base units)."""
    found = max(left, 0)
    return Refusal(
        reason="InsufficientResource",
        message=f"insufficient {name}, needs {amount_text(name, wanted)}",
        wake=wake,
        found=found,
        found_text=f"{amount_text(name, found)} free at most",
    )
