"""The cluster of the demo, and its scenes: what is created one after the other, and where it must end."""

import msgspec

from dra_controlplane.client import Json
from dra_demo.objects import (
    DRIVER,
    IMPLICIT_RESOURCE,
    RESOURCE,
    claim,
    gpu_class,
    gpu_slice,
    node,
    pod,
    template,
)

PLUGIN_NODE = "plugin-1"
DRA_NODES = ("dra-1", "dra-2")
UPGRADING_NODE = "upgrading-1"
OLD_SLICE = gpu_slice(UPGRADING_NODE, range(4), driver="550.127.8")
NEW_DRIVER = "580.65.6"

CLUSTER: tuple[Json, ...] = (
    node(PLUGIN_NODE, nvidia_com__gpu="8"),
    node("dra-1"),
    node("dra-2"),
    node(UPGRADING_NODE),
    gpu_class(),
    gpu_slice("dra-1", range(4)),
    gpu_slice("dra-2", range(2), part=1, parts=2),
    gpu_slice("dra-2", range(2, 4), part=2, parts=2),
    OLD_SLICE,
    gpu_slice(UPGRADING_NODE, range(2), generation=2, part=1, parts=2, driver=NEW_DRIVER),
)

DESCRIPTION = (
    (PLUGIN_NODE, "device plugin", f"8 {RESOURCE} in the node's allocatable"),
    ("dra-1", "DRA", "a pool of 4 GPUs in one ResourceSlice"),
    ("dra-2", "DRA", "a pool of 4 GPUs in two ResourceSlices"),
    (UPGRADING_NODE, "DRA", "the old driver's slice, and the first of two slices of the new driver"),
)

NEW_DRIVER_IS_THERE = (gpu_slice(UPGRADING_NODE, range(2, 4), generation=2, part=2, parts=2, driver=NEW_DRIVER),)
LARGE_MEMORY = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) >= 0"
HUGE_MEMORY = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('1Ti')) >= 0"
RECENT_DRIVER = f"device.attributes['{DRIVER}'].driverVersion.isGreaterThan(semver('580.0.0'))"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod must end: bound to one of these nodes (none: it stays pending) with so many devices of claims."""

    nodes: tuple[str, ...] = ()
    devices: int = 0


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happens; `deleted` names ResourceSlices. `places` are the ends of the pods that it concerns."""

    title: str
    created: tuple[Json, ...]
    places: dict[str, Place]
    deleted: tuple[str, ...] = ()


SCENES = (
    Scene(
        title="A pod without devices",
        created=(pod("plain"),),
        places={"plain": Place(nodes=(PLUGIN_NODE, *DRA_NODES, UPGRADING_NODE))},
    ),
    Scene(
        title="A claim of the pod's own, made from a template, for a GPU with at least 80Gi",
        created=(
            template("large-gpu", LARGE_MEMORY),
            pod("own-claim", claim_from={"resourceClaimTemplateName": "large-gpu"}),
        ),
        places={"own-claim": Place(nodes=DRA_NODES, devices=1)},
    ),
    Scene(
        title="One claim for two pods: they share the GPU and so the node",
        created=(
            claim("shared-gpu"),
            pod("sharing-1", claim_from={"resourceClaimName": "shared-gpu"}),
            pod("sharing-2", claim_from={"resourceClaimName": "shared-gpu"}),
        ),
        places={name: Place(nodes=DRA_NODES, devices=1) for name in ("sharing-1", "sharing-2")},
    ),
    Scene(
        title=f"{RESOURCE}: 2 as pods have always written it, served by DRA",
        created=(pod("extended", limits={RESOURCE: "2"}),),
        places={"extended": Place(nodes=DRA_NODES, devices=2)},
    ),
    Scene(
        title="The name that every DeviceClass has without being given one",
        created=(pod("implicit", limits={IMPLICIT_RESOURCE: "1"}),),
        places={"implicit": Place(nodes=DRA_NODES, devices=1)},
    ),
    Scene(
        title=f"{RESOURCE}: 8, which only the node with the device plugin has",
        created=(pod("plugin", limits={RESOURCE: "8"}),),
        places={"plugin": Place(nodes=(PLUGIN_NODE,))},
    ),
    Scene(
        title="A GPU with 1Ti, which does not exist; and more devices than a claim can hold",
        created=(
            template("huge-gpu", HUGE_MEMORY),
            pod("never-fits", claim_from={"resourceClaimTemplateName": "huge-gpu"}),
            pod("too-many", limits={RESOURCE: "33"}),
        ),
        places={"never-fits": Place(), "too-many": Place()},
    ),
    Scene(
        title=f"A GPU whose driver is newer than 580: {UPGRADING_NODE} has not published all of its pool yet",
        created=(
            template("recent-gpu", RECENT_DRIVER),
            pod("new-driver", claim_from={"resourceClaimTemplateName": "recent-gpu"}),
        ),
        places={"new-driver": Place()},
    ),
    Scene(
        title=f"The driver of {UPGRADING_NODE} publishes the missing slice and takes the old one back",
        created=NEW_DRIVER_IS_THERE,
        deleted=(OLD_SLICE["metadata"]["name"],),
        places={"new-driver": Place(nodes=(UPGRADING_NODE,), devices=1)},
    ),
)


def places() -> dict[str, Place]:
    """Return where every pod must be in the end."""
    last: dict[str, Place] = {}
    for scene in SCENES:
        last |= scene.places
    return last
