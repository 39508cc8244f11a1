"""What the kubelet, admission and the clock add to objects before a scheduler sees them."""

from collections.abc import Iterable, Mapping
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject

HOSTNAME = "kubernetes.io/hostname"
PODS_OF_A_KUBELET = "110"
BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
T = TypeVar("T", bound=KubernetesObject)


class PriorityClass(Value, frozen=True):
    """A named priority (scheduling.k8s.io/v1)."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False


def registered_node(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return a Node as its kubelet registers it.

    Allocatable is the capacity where it is not stated, there is room for 110 pods, and the node carries its host name.
    """
    metadata, status = _mapping(raw.get("metadata")), _mapping(raw.get("status"))
    if metadata is None or status is None:
        return raw
    labels, capacity = _mapping(metadata.get("labels")), _mapping(status.get("capacity"))
    allocatable = _mapping(status.get("allocatable"))
    if labels is None or capacity is None or allocatable is None:
        return raw
    room = {"pods": capacity.get("pods", PODS_OF_A_KUBELET), **(allocatable or capacity)}
    return {
        **raw,
        "metadata": {**metadata, "labels": {HOSTNAME: metadata.get("name"), **labels}},
        "status": {**status, "allocatable": room},
    }


def prioritized(pod: Pod, classes: Iterable[PriorityClass]) -> Pod:
    """Return the pod with the priority of its class; a pod without class gets the global default while it is new."""
    if pod.spec.priority:
        return pod
    wanted = pod.spec.priority_class_name
    values = {**BUILT_IN_PRIORITIES, **{each.metadata.name: each.value for each in classes}}
    if wanted:
        priority = values.get(wanted, 0)
    elif pod.metadata.uid:
        priority = 0
    else:
        priority = max((each.value for each in classes if each.global_default), default=0)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority)) if priority else pod


def time_after(values: Iterable[KubernetesObject]) -> str:
    """Return a moment after the creation of all of these as RFC 3339 text; nothing where no time is known."""
    moments = (_moment(value.metadata.creation_timestamp) for value in values)
    last = max((moment for moment in moments if moment is not None), default=None)
    return "" if last is None else (last + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def created(value: T, now: str) -> T:
    """Return the object with a creation time.

    What carries none is about to be created, all of it at once as by one `kubectl apply`: the order of the input
    decides nothing.
    """
    metadata = value.metadata
    if metadata.creation_timestamp or not now:
        return value
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(metadata, creation_timestamp=now))


def _mapping(value: object) -> Mapping[str, object] | None:
    """Return a mapping, empty for what is not there, None for what is no mapping."""
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else None


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo and moment.year < MAXYEAR else None
    except (OverflowError, ValueError):
        return None
