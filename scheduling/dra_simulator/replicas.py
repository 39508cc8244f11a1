"""Pods that the controllers of workloads would create, as far as they are not in the input already."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from dra_scheduling.cluster.cluster import DEFAULT_SCHEDULER_NAME
from dra_scheduling.fit.rules import static_refusal
from dra_scheduling.model.base import ObjectMeta, OwnerReference, Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration
from dra_scheduling.model.pods import Affinity, Node, NodeAffinity, Pod, PodSpec
from dra_scheduling.wire import InvalidObjectError, read_as
from dra_simulator.identity import uid_of
from dra_simulator.refused import refused_pod_spec
from dra_simulator.workloads import MOST_PODS, WorkloadPodTemplate, pod_templates

DAEMON_TOLERATIONS = tuple(
    Toleration(key=f"node.kubernetes.io/{key}", operator="Exists", effect=effect)
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """An object of any kind that holds pod templates."""

    kind: str
    metadata: ObjectMeta
    raw: Mapping[str, object]
    templates: tuple[WorkloadPodTemplate, ...]

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def is_finished(self) -> bool:
        """Whether a Job has ended."""
        conditions = _mapping(self.raw.get("status")).get("conditions")
        return isinstance(conditions, list) and any(
            _mapping(condition).get("type") in ("Complete", "Failed") and _mapping(condition).get("status") == "True"
            for condition in conditions
        )

    @property
    def most_pods(self) -> int:
        """How many pods there can be now: of a Job that a cluster runs, as many as it says are active."""
        active = _mapping(self.raw.get("status")).get("active")
        return active if isinstance(active, int) and self.kind == "Job" else MOST_PODS

    def selects(self, pod: Pod) -> bool:
        """Whether the labels of the pod are those that the workload looks for."""
        selector = _mapping(_mapping(self.raw.get("spec")).get("selector"))
        labels = _mapping(selector.get("matchLabels")) or selector
        return bool(labels) and all(pod.metadata.labels.get(key) == value for key, value in labels.items())


def workload_of(raw: Mapping[str, object]) -> Workload | None:
    """Return the workload that an object of any kind is; None where it holds no pod template.

    Raises `InvalidObjectError`.
    """
    kind = str(raw.get("kind"))
    try:
        templates = pod_templates(raw)
    except InvalidObjectError as error:
        raise InvalidObjectError(_subject(kind, raw), error.path, error.problem) from error
    if not templates:
        return None
    return Workload(kind=kind, metadata=read_as(_Named, raw).metadata, raw=raw, templates=templates)


class PodMaker:
    """Plays the controllers of all workloads of an input."""

    __slots__ = ("_bosses", "_names", "_nodes", "_pods")

    def __init__(self, workloads: Iterable[Workload], pods: Iterable[Pod], nodes: Iterable[Node]) -> None:
        self._nodes = tuple(nodes)
        self._names: set[ObjectKey] = set()
        self._pods: defaultdict[str, list[Pod]] = defaultdict(list)
        self._bosses = {_owner(workload.metadata) for workload in workloads}
        for pod in pods:
            self._names.add(pod.key)
            self._pods[pod.metadata.namespace].append(pod)

    def pods_of(self, workload: Workload) -> Iterator[Pod]:
        """Yield the pods that are missing. Raises `InvalidObjectError` for a template that makes no pod."""
        me = (workload.key.namespace, workload.kind, workload.key.name)
        # Whoever has created a workload of its own (a Deployment its ReplicaSets) leaves the pods to that one.
        if me in self._bosses or workload.is_finished:
            return
        present = [
            pod for pod in self._pods[workload.key.namespace] if not pod.is_finished and _is_of(pod, workload, me)
        ]
        if workload.kind == "DaemonSet":
            yield from self._one_a_node(workload, present)
            return
        left = len(present)
        for template in workload.templates:
            count = min(template.count, workload.most_pods)
            missing = max(count - left, 0)
            left = max(left - count, 0)
            if missing:
                yield from self._copies(workload, template, missing)

    def _copies(self, workload: Workload, template: WorkloadPodTemplate, count: int) -> Iterator[Pod]:
        pattern = _pattern(workload, template)
        prefix = f"{workload.key.name}-{template.role}" if template.role else workload.key.name
        number = 0
        for _ in range(count):
            while ObjectKey(workload.key.namespace, f"{prefix}-{number}") in self._names:
                number += 1
            yield self._named(pattern, f"{prefix}-{number}")

    def _one_a_node(self, workload: Workload, present: list[Pod]) -> Iterator[Pod]:
        served = {pod.spec.node_name for pod in present}
        pattern = _pattern(workload, workload.templates[0])
        tolerations = (*pattern.spec.tolerations, *DAEMON_TOLERATIONS)
        spec = msgspec.structs.replace(pattern.spec, tolerations=tolerations)
        pattern = msgspec.structs.replace(pattern, spec=spec)
        for node in self._nodes:
            if node.name not in served and static_refusal(pattern, node) is None:
                there = msgspec.structs.replace(pattern, spec=_bound_or_pinned(spec, node.name))
                yield self._named(there, f"{workload.key.name}-{node.name}")

    def _named(self, pattern: Pod, name: str) -> Pod:
        self._names.add(ObjectKey(pattern.metadata.namespace, name))
        return msgspec.structs.replace(pattern, metadata=msgspec.structs.replace(pattern.metadata, name=name))


class _Named(Value, frozen=True):
    metadata: ObjectMeta


def _subject(kind: str, raw: Mapping[str, object]) -> str:
    metadata = _mapping(raw.get("metadata"))
    return f"{kind} {metadata.get('namespace')}/{metadata.get('name')}"


def _pattern(workload: Workload, template: WorkloadPodTemplate) -> Pod:
    """Return the pod that all pods of the template are copies of."""
    wanted = _mapping(template.raw.get("metadata"))
    raw = {
        "metadata": {"name": "pattern", "labels": wanted.get("labels"), "annotations": wanted.get("annotations")},
        "spec": {**_mapping(template.raw.get("spec")), **_volumes(workload, template)},
    }
    try:
        pod = read_as(Pod, raw)
    except InvalidObjectError as error:
        subject = f"{workload.kind} {workload.key}"
        raise InvalidObjectError(subject, template.path + error.path.removeprefix("$"), error.problem) from error
    for fault in refused_pod_spec(raw["spec"], f"{template.path}.spec"):
        raise InvalidObjectError(f"{workload.kind} {workload.key}", *fault)
    owner = OwnerReference(
        api_version=str(workload.raw.get("apiVersion")),
        kind=workload.kind,
        name=workload.key.name,
        uid=workload.metadata.uid or uid_of(workload.kind, *workload.key),
        controller=True,
    )
    metadata = msgspec.structs.replace(pod.metadata, namespace=workload.key.namespace, owner_references=(owner,))
    return msgspec.structs.replace(pod, metadata=metadata)


def _volumes(workload: Workload, template: WorkloadPodTemplate) -> dict[str, object]:
    """Return the volumes of a StatefulSet's pods: its claim templates become volumes that need a claim."""
    claims = _mapping(workload.raw.get("spec")).get("volumeClaimTemplates")
    if not isinstance(claims, list):
        return {}
    own = _mapping(template.raw.get("spec")).get("volumes")
    names = [_mapping(_mapping(claim).get("metadata")).get("name") for claim in claims]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {"volumes": [*(own if isinstance(own, list) else ()), *made]}


def _bound_or_pinned(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a daemon's pod for one node; another scheduler has nothing to choose, so it is bound there."""
    if spec.scheduler_name != DEFAULT_SCHEDULER_NAME:
        return msgspec.structs.replace(spec, node_name=node)
    return pinned(spec, node)


def pinned(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a daemon's pod that waits for one node."""
    requirement = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    return msgspec.structs.replace(spec, affinity=Affinity(node_affinity=affinity))


def _owner(metadata: ObjectMeta) -> tuple[str, str, str] | None:
    owner = metadata.controller
    return None if owner is None else (metadata.namespace, owner.kind, owner.name)


def _is_of(pod: Pod, workload: Workload, me: tuple[str, str, str]) -> bool:
    """Whether the pod belongs to the workload, be it through a ReplicaSet that is not in the input."""
    return _owner(pod.metadata) == me or (bool(workload.metadata.uid) and workload.selects(pod))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
