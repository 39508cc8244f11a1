"""A small cluster and the claims of one pod, as the objects of the API."""

from typing import Any

import msgspec

Json = dict[str, Any]

STABLE_FEATURES = (
    "AdminAccess",
    "PrioritizedList",
    "PartitionableDevices",
    "DeviceTaints",
    "DeviceBindingAndStatus",
    "ConsumableCapacity",
    "FractionalCapacityRange",
)
"""What Kubernetes 1.37 has on without any setting, and exact ranges of capacity, which wait for a later release."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One node, what is published in the whole cluster, and the claims to serve, as the API server stores them.

    `held` are the results of all allocations there are; `features` are names of Kubernetes' allocator features.
    """

    node: Json
    slices: tuple[Json, ...]
    classes: tuple[Json, ...]
    claims: tuple[Json, ...]
    held: tuple[Json, ...] = ()
    features: tuple[str, ...] = STABLE_FEATURES
