"""Workloads of any kind to pods: whoever holds a pod template gets the pods that its controller would create.

A pod template is found by its shape (`…template.spec.containers`), so Deployment, StatefulSet, Job, JobSet, MPIJob,
RayCluster or LeaderWorkerSet need no description each; what multiplies it is found on the way down (`replicas`,
`parallelism`, `completions`).
"""

from collections.abc import Iterator, Mapping

import msgspec

from dra_scheduling.wire.objects import InvalidObjectError

MOST_PODS = 100_000
# Their templates are for later or belong to another object of the input.
NOT_NOW = frozenset(
    {
        ("batch", "CronJob"),
        ("kueue.x-k8s.io", "Workload"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }
)


class WorkloadPodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A pod template in a workload: where it stands, the role its pods have, how many of them there should be."""

    path: str
    role: str
    count: int
    raw: Mapping[str, object]


def pod_templates(raw: Mapping[str, object]) -> tuple[WorkloadPodTemplate, ...]:
    """Return the pod templates of an object of any kind; none for what is no workload.

    Raises `InvalidObjectError` for a number of replicas that is none.
    """
    group = str(raw.get("apiVersion")).rpartition("/")[0]
    spec = raw.get("spec")
    if (group, raw.get("kind")) in NOT_NOW or not isinstance(spec, Mapping):
        return ()
    return tuple(_below(spec, "$.spec", role=""))


def _below(value: Mapping[str, object], path: str, role: str) -> list[WorkloadPodTemplate]:
    found = [template for key in value for template in _behind(value, key, path, role)]
    # Only what holds a template is a workload: elsewhere `replicas` may be anything, as in the schema of a CRD.
    if not found:
        return []
    copies = 0 if value.get("suspend") is True else _copies(value, path)
    return [msgspec.structs.replace(template, count=template.count * copies) for template in found]


def _behind(value: Mapping[str, object], key: str, path: str, role: str) -> Iterator[WorkloadPodTemplate]:
    child, here = value[key], f"{path}.{key}"
    if key.lower().endswith("template") and isinstance(child, Mapping) and _is_pod_template(child):
        yield WorkloadPodTemplate(path=here, role=role, count=_group_share(value, key, path), raw=child)
    elif isinstance(child, Mapping):
        yield from _below(child, here, _joined(role, key) if path.endswith("ReplicaSpecs") else role)
    elif isinstance(child, list):
        for number, item in enumerate(child):
            if isinstance(item, Mapping):
                name = item.get("name") or item.get("groupName")
                yield from _below(item, f"{here}[{number}]", _joined(role, name))


def _is_pod_template(value: Mapping[str, object]) -> bool:
    spec = value.get("spec")
    return isinstance(spec, Mapping) and isinstance(spec.get("containers"), list)


def _joined(role: str, name: object) -> str:
    own = name.lower() if isinstance(name, str) else ""
    return f"{role}-{own}" if role and own else role or own


def _copies(value: Mapping[str, object], path: str) -> int:
    """Return how many of everything below `value` there are: replicas, their hosts, or pods of a Job at once."""
    at_once = _number(value, "parallelism", path, default=1)
    # A replica of a RayCluster's worker group is a slice of so many hosts, each of which has a pod.
    hosts = _number(value, "numOfHosts", path, default=1)
    return _number(value, "replicas", path, 1) * hosts * min(at_once, _number(value, "completions", path, at_once))


def _group_share(value: Mapping[str, object], key: str, path: str) -> int:
    """Return how many pods of this template a group of a LeaderWorkerSet has (`size` counts the leader)."""
    match key:
        case "workerTemplate":
            return max(_number(value, "size", path, default=1) - ("leaderTemplate" in value), 0)
        case _:
            return 1


def _number(value: Mapping[str, object], key: str, path: str, default: int) -> int:
    number = value.get(key)
    if number is None:
        return default
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_PODS:
        raise InvalidObjectError("", f"{path}.{key}", f"expected a whole number from 0 to {MOST_PODS}, got {number!r}")
    return number
