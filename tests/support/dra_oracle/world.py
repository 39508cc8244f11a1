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
GATES = {
    "AdminAccess": "DRAAdminAccess",
    "PrioritizedList": "DRAPrioritizedList",
    "PartitionableDevices": "DRAPartitionableDevices",
    "DeviceTaints": "DRADeviceTaints",
    "DeviceBindingAndStatus": "DRADeviceBindingConditions",
    "ConsumableCapacity": "DRAConsumableCapacity",
    "ListTypeAttributes": "DRAListTypeAttributes",
    "DerivedAttributes": "DRADerivedAttributes",
    "CompatibilityGroups": "DRADeviceCompatibilityGroups",
}
"""The feature gates behind the features of Kubernetes' allocator."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One node, what is published in the whole cluster, and the claims to serve, as the API server stores them.

    `held` are the results of all allocations there are; `features` are names of Kubernetes' allocator features; `rules`
    are DeviceTaintRules, which Kubernetes applies to slices before its allocator sees them.
    """

    node: Json
    slices: tuple[Json, ...]
    classes: tuple[Json, ...]
    claims: tuple[Json, ...]
    held: tuple[Json, ...] = ()
    rules: tuple[Json, ...] = ()
    features: tuple[str, ...] = STABLE_FEATURES


def with_rules_applied(world: World) -> World:
    """The world with the taints of its rules in the slices instead."""
    slices = []
    for piece in world.slices:
        spec = piece["spec"]
        devices = [_tainted(world, spec, device) for device in spec.get("devices", ())]
        slices.append({**piece, "spec": {**spec, **({"devices": devices} if devices else {})}})
    return msgspec.structs.replace(world, slices=tuple(slices), rules=()) if world.rules else world


def _tainted(world: World, spec: Json, device: Json) -> Json:
    place = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    taints = [
        rule["spec"]["taint"]
        for rule in world.rules
        # An empty selector selects everything, none at all nothing.
        if "deviceSelector" in rule["spec"]
        and all(place[field] == value for field, value in rule["spec"]["deviceSelector"].items())
    ]
    return {**device, "taints": [*device.get("taints", ()), *taints]} if taints else device
