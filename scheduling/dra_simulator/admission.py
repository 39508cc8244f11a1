"""What the kubelet, admission and the clock add to objects before a scheduler sees them."""

from collections.abc import Iterable, Mapping
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.node_selectors import Toleration
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, WireFault, read_as
from dra_simulator.limit_ranges import LimitRange, outside_of_limits, with_default_resources
from kube_cel.quantity import Quantity

HOSTNAME = "kubernetes.io/hostname"
PODS_OF_A_KUBELET = "110"
BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
T = TypeVar("T", bound=KubernetesObject)


class RuntimeClassOverhead(Value, frozen=True):
    """What the sandbox of a pod takes besides its containers."""

    pod_fixed: dict[str, Quantity] = msgspec.field(default_factory=dict)


class RuntimeClassScheduling(Value, frozen=True):
    """Which nodes have the runtime."""

    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Value, frozen=True):
    """A container runtime (node.k8s.io/v1)."""

    metadata: ObjectMeta
    overhead: RuntimeClassOverhead = RuntimeClassOverhead()
    scheduling: RuntimeClassScheduling = RuntimeClassScheduling()


class PriorityClass(Value, frozen=True):
    """A named priority (scheduling.k8s.io/v1)."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False


class Policies:
    """The objects that admission reads: PriorityClasses, RuntimeClasses and LimitRanges."""

    __slots__ = ("_limit_ranges", "_priority_classes", "_runtime_classes")

    def __init__(self) -> None:
        self._priority_classes: list[PriorityClass] = []
        self._runtime_classes: dict[str, RuntimeClass] = {}
        self._limit_ranges: dict[str, list[LimitRange]] = {}

    def take(self, api: str, raw: Mapping[str, object]) -> bool:
        """Keep an object of a kind (`apiVersion Kind`) that admission reads; return whether it is one."""
        match api:
            case "scheduling.k8s.io/v1 PriorityClass":
                self._priority_classes.append(read_as(PriorityClass, raw))
            case "node.k8s.io/v1 RuntimeClass":
                found = read_as(RuntimeClass, raw)
                self._runtime_classes[found.metadata.name] = found
            case "v1 LimitRange":
                item = read_as(LimitRange, raw)
                self._limit_ranges.setdefault(item.metadata.namespace, []).append(item)
            case _:
                return False
        return True

    def admit(self, pod: Pod) -> tuple[Pod, tuple[WireFault, ...]]:
        """Return the pod as a server stores it, and why a server would not; one that has a UID was admitted before."""
        pod = prioritized(pod, self._priority_classes)
        if pod.metadata.uid:
            return pod, ()
        ranges = sorted(self._limit_ranges.get(pod.metadata.namespace, ()), key=lambda one: one.metadata.name)
        pod = with_default_resources(pod, ranges)
        faults = tuple(outside_of_limits(pod, ranges))
        pod, more = in_runtime_class(pod, self._runtime_classes)
        return pod, (*faults, *more)


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


def in_runtime_class(pod: Pod, classes: Mapping[str, RuntimeClass]) -> tuple[Pod, tuple[WireFault, ...]]:
    """Return the pod with overhead, node selector and tolerations of its RuntimeClass, and what speaks against that.

    A class that is not in the input leaves the pod as it is: nobody knows what it would add (plugin RuntimeClass).
    """
    found = classes.get(pod.spec.runtime_class_name)
    if found is None:
        return pod, ()
    spec, overhead, wanted = pod.spec, found.overhead.pod_fixed, found.scheduling.node_selector
    by = f"RuntimeClass {found.metadata.name}"
    faults = [
        WireFault(f'$.spec.nodeSelector["{key}"]', f"expected {value} as {by} selects, got {spec.node_selector[key]}")
        for key, value in sorted(wanted.items())
        if spec.node_selector.get(key, value) != value
    ]
    if spec.overhead and spec.overhead != overhead:
        faults.append(WireFault("$.spec.overhead", f"expected what {by} says, or nothing"))
    tolerations = dict.fromkeys((*spec.tolerations, *found.scheduling.tolerations))
    node_selector = {**wanted, **spec.node_selector}
    spec = msgspec.structs.replace(spec, overhead=overhead, node_selector=node_selector, tolerations=tuple(tolerations))
    return msgspec.structs.replace(pod, spec=spec), tuple(faults)


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
