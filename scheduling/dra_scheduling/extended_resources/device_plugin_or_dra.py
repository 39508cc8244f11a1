"""Who serves a pod's extended resources on one node: its device plugin or DRA (KEP-5004)."""

from collections.abc import Set as AbstractSet

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import Resources
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.resource_names import is_extended_name


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """What DRA has to serve, as DeviceClass name by resource name, and what is left for the node itself to serve."""

    dra: dict[str, str]
    node: Resources


def extended_names(requests: Resources) -> frozenset[str]:
    """Return the extended resources among what a pod requests."""
    return frozenset(filter(is_extended_name, requests.amounts))


def split(requests: Resources, offered: AbstractSet[str], index: ClassIndex) -> Split | Refusal:
    """Return who serves what on a node that offers these resources, or the refusal where nobody serves one of them.

    A resource that the node offers is served by its device plugin, even if too little of it is left; 0 offered is the
    same as not offered. Anything else is served by the class that answers to its name. Whether the node has devices of
    that class, and enough of them, is for the allocator to say.

    The answer depends on the node only through `extended_names(requests) & offered`, and changes with `index.revision`.
    """
    dra: dict[str, str] = {}
    for name in sorted(extended_names(requests) - offered):
        item = index.serving(name)
        if item is None:
            message = f"insufficient {name}: no node resource and no DeviceClass serves it"
            return Refusal(reason="ResourceNotServed", message=message, wake=ClusterEvent.NODE | ClusterEvent.CLASSES)
        dra[name] = item.metadata.name
    return Split(dra=dra, node=requests.without(dra))
