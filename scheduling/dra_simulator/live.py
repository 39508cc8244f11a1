"""The commands that look at a live cluster; none of them changes anything."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence

import yaml

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import KubernetesObject, write
from dra_simulator.access import LiveCluster
from dra_simulator.explain.explain_json import story_in_plain_values
from dra_simulator.explain.explain_pod import explain_with_supply
from dra_simulator.explain.explain_text import story_blocks
from dra_simulator.identity import pod_called
from dra_simulator.launch.nodeclaim_progress import time_now
from dra_simulator.load import DUMPED_AT
from dra_simulator.output import emit
from dra_simulator.tables import Table

DONE = 0
Record = dict[str, str | list[str]]


def run_explain(arguments: argparse.Namespace) -> int:
    """Tell what every node says to a pod of the cluster now. Raises `UnusableInputError`."""
    live = LiveCluster(arguments.context)
    objects = everything(live)
    cluster = Cluster(features=arguments.features)
    for value in objects:
        cluster.apply(value)
    pods = (value for value in objects if isinstance(value, Pod))
    pod = pod_called(arguments.name, pods, arguments.namespace or live.namespace, "cluster")
    story = explain_with_supply(cluster, pod, time_now())
    emit(story_in_plain_values(story), story_blocks(story), arguments.output, sys.stdout)
    return DONE


def run_devices(arguments: argparse.Namespace) -> int:
    """List published devices and the claims that have them; of a namespace, the devices that its claims have.

    Raises `UnusableInputError`.
    """
    objects = everything(LiveCluster(arguments.context))
    holders: defaultdict[DeviceID, list[ObjectKey]] = defaultdict(list)
    for claim in _claims(objects, None):
        for device in _devices(claim):
            holders[device].append(claim.key)
    published = sorted(
        (DeviceID(value.spec.driver, value.spec.pool.name, device.name), value.spec.node_name or device.node_name)
        for value in objects
        if isinstance(value, ResourceSlice)
        for device in value.spec.devices
    )
    records: list[Record] = [
        {**id_._asdict(), "node": node, "claims": [str(key) for key in holders[id_]]}
        for id_, node in published
        if arguments.namespace in {None, *(key.namespace for key in holders[id_])}
    ]
    _print(records, arguments.output)
    return DONE


def run_claims(arguments: argparse.Namespace) -> int:
    """List claims with what they have and who uses them. Raises `UnusableInputError`."""
    objects = everything(LiveCluster(arguments.context))
    records: list[Record] = [
        {
            "claim": str(claim.key),
            "state": _state(claim),
            "devices": [str(device) for device in _devices(claim)],
            "consumers": [f"{user.resource}/{user.name}" for user in claim.status.reserved_for],
        }
        for claim in _claims(objects, arguments.namespace)
    ]
    _print(records, arguments.output)
    return DONE


def run_dump(arguments: argparse.Namespace) -> int:
    """Print everything a cycle sees as one list: the fields that decisions read, so neither environment nor secrets.

    Raises `UnusableInputError`.
    """
    metadata = {"annotations": {DUMPED_AT: time_now()}}
    objects = everything(LiveCluster(arguments.context))
    dump = {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": [write(value) for value in objects]}
    if arguments.output == "json":
        json.dump(dump, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        yaml.dump(dump, sys.stdout, yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
    return DONE


def everything(live: LiveCluster) -> list[KubernetesObject]:
    """Return all that a cycle sees, and tell on standard error what of it cannot be read.

    Raises `UnusableInputError`.
    """
    objects = list(live.objects())
    sys.stderr.writelines(f"passed over: {problem}\n" for problem in live.skipped)
    return objects


def _claims(objects: Sequence[KubernetesObject], namespace: str | None) -> list[ResourceClaim]:
    claims = (value for value in objects if isinstance(value, ResourceClaim))
    return sorted(
        (claim for claim in claims if namespace in {None, claim.metadata.namespace}), key=lambda claim: claim.key
    )


def _devices(claim: ResourceClaim) -> list[DeviceID]:
    allocation = claim.status.allocation
    return [] if allocation is None else [result.device_id for result in allocation.devices.results]


def _state(claim: ResourceClaim) -> str:
    if claim.metadata.is_deleting:
        return "deleting"
    if claim.status.allocation is None:
        return "pending"
    return "reserved" if claim.status.reserved_for else "allocated"


def _print(records: Sequence[Record], wanted: str | None) -> None:
    headers = tuple(records[0]) if records else ()
    rows = tuple(
        tuple(cell if isinstance(cell, str) else ", ".join(cell) for cell in record.values()) for record in records
    )
    table = Table(headers=tuple(header.upper() for header in headers), rows=rows)
    emit(records, [table if records else "none"], wanted, sys.stdout)
