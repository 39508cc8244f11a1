"""Workloads to pods."""

import pytest

from dra_scheduling.model.pods import Pod
from dra_simulator.complete import World, complete
from dra_simulator.documents import documents
from dra_simulator.load import Loaded, Manifest

POD = "{metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: i}]}}"
JOB_SET = """
replicatedJobs:
[{name: head, template: {spec: {TEMPLATE}}}, {name: work, replicas: 2, template: {spec: {parallelism: 2, TEMPLATE}}}]
"""
MPI_JOB = "mpiReplicaSpecs: {Launcher: {TEMPLATE}, Worker: {replicas: 2, TEMPLATE}}"
RAY_CLUSTER = "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: gpu, replicas: 2, TEMPLATE}]"
RAY_HOSTS = "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: tpu, replicas: 2, numOfHosts: 3, TEMPLATE}]"
LEADERS = "replicas: 2, leaderWorkerTemplate: {size: 2, leaderTemplate: POD, workerTemplate: POD}"
NODES = """
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
spec: {taints: [{key: reserved, effect: NoSchedule}]}
---
apiVersion: v1
kind: Node
metadata: {name: n3}
spec: {unschedulable: true}
"""


def world(text: str) -> World:
    raws = documents(text)
    return complete(Loaded(manifests=tuple(Manifest(file="f", raw=raw) for raw in raws)))  # type: ignore[arg-type]


def names(text: str) -> list[str]:
    given = world(text)
    assert given.problems == ()
    return [pod.metadata.name for pod in given.of(Pod)]


def workload(kind: str, spec: str, metadata: str = "", rest: str = "") -> str:
    """Return a workload of `version.Kind`; TEMPLATE in the spec stands for a pod template, POD for its content."""
    version, _, name = kind.rpartition(".")
    spec = spec.replace("TEMPLATE", "template: POD").replace("POD", POD)
    return f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: w{metadata}}}\nspec: {{{spec}}}\n{rest}"


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("apps/v1.Deployment", "replicas: 2, TEMPLATE", ["w-0", "w-1"]),
        ("apps/v1.Deployment", "TEMPLATE", ["w-0"]),
        ("apps/v1.Deployment", "replicas: 0, TEMPLATE", []),
        ("apps/v1.StatefulSet", "replicas: 2, TEMPLATE", ["w-0", "w-1"]),
        ("batch/v1.Job", "parallelism: 3, completions: 2, TEMPLATE", ["w-0", "w-1"]),
        ("batch/v1.Job", "parallelism: 2, completions: 5, TEMPLATE", ["w-0", "w-1"]),
        ("batch/v1.Job", "parallelism: 2, TEMPLATE", ["w-0", "w-1"]),
        ("batch/v1.Job", "completions: 2, TEMPLATE", ["w-0"]),
        ("batch/v1.Job", "suspend: true, TEMPLATE", []),
        ("batch/v1.CronJob", "jobTemplate: {spec: {TEMPLATE}}", []),
        ("jobset.x-k8s.io/v1alpha2.JobSet", JOB_SET, ["w-head-0", "w-work-0", "w-work-1", "w-work-2", "w-work-3"]),
        ("kubeflow.org/v2beta1.MPIJob", MPI_JOB, ["w-launcher-0", "w-worker-0", "w-worker-1"]),
        ("ray.io/v1.RayCluster", RAY_CLUSTER, ["w-0", "w-gpu-0", "w-gpu-1"]),
        ("ray.io/v1.RayCluster", RAY_HOSTS, ["w-0", *(f"w-tpu-{number}" for number in range(6))]),
        ("trainer.kubeflow.org/v1alpha1.TrainingRuntime", "template: {spec: {JOBS}}".replace("JOBS", JOB_SET), []),
        ("leaderworkerset.x-k8s.io/v1.LeaderWorkerSet", LEADERS, ["w-0", "w-1", "w-2", "w-3"]),
    ],
)
def test_a_workload_has_the_pods_that_its_controller_would_create(kind: str, spec: str, expected: list[str]) -> None:
    assert names(workload(kind, spec)) == expected


def test_pods_of_a_workload_carry_its_labels_and_its_ownership() -> None:
    (pod,) = world(workload("apps/v1.Deployment", "TEMPLATE", ", namespace: team")).of(Pod)
    owner = pod.metadata.controller
    assert owner is not None
    assert (str(pod.key), pod.metadata.labels) == ("team/w-0", {"app": "x"})
    assert (owner.api_version, owner.kind, owner.name) == ("apps/v1", "Deployment", "w")


def test_a_stateful_set_with_volume_claims_gives_its_pods_those_volumes() -> None:
    (pod,) = world(workload("apps/v1.StatefulSet", "volumeClaimTemplates: [{metadata: {name: data}}], TEMPLATE")).of(
        Pod
    )
    assert [volume.name for volume in pod.spec.volumes if volume.persistent_volume_claim] == ["data"]


def test_a_dumped_workload_gets_only_the_pods_that_are_missing() -> None:
    pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: NAME, labels: {app: x}}, status: {phase: PHASE}}\n"
    pods = "".join(
        pod.replace("NAME", name).replace("PHASE", phase) for name, phase in (("p0", "Running"), ("p1", "Failed"))
    )
    deployment = workload("apps/v1.Deployment", "replicas: 2, selector: {matchLabels: {app: x}}, TEMPLATE", ", uid: u1")
    assert names(deployment + pods) == ["p0", "p1", "w-0"]


def test_a_workload_leaves_the_pods_to_the_workload_it_made() -> None:
    replica_set = workload(
        "apps/v1.ReplicaSet",
        "replicas: 1, TEMPLATE",
        "-abc, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: w, uid: u1, controller: true}]",
    )
    assert names(workload("apps/v1.Deployment", "TEMPLATE", ", uid: u1") + "---\n" + replica_set) == ["w-abc-0"]


def test_a_finished_job_has_no_pods_to_come() -> None:
    done = "status: {conditions: [{type: Complete, status: 'True'}]}"
    assert names(workload("batch/v1.Job", "TEMPLATE", rest=done)) == []


def test_a_job_whose_conditions_are_none_is_taken_as_running() -> None:
    odd = "status: {conditions: [{type: [Complete]}, 7, null]}"
    assert names(workload("batch/v1.Job", "TEMPLATE", rest=odd)) == ["w-0"]


def test_a_running_job_has_as_many_pods_as_are_active() -> None:
    spec = "parallelism: 3, completions: 9, TEMPLATE"
    assert names(workload("batch/v1.Job", spec, rest="status: {active: 1, succeeded: 8}")) == ["w-0"]


def test_a_daemon_set_of_ours_has_a_pod_pinned_to_each_node_that_takes_it() -> None:
    ours = workload("apps/v1.DaemonSet", "TEMPLATE").replace(
        "spec: {containers", "spec: {schedulerName: dra-scheduler, containers"
    )
    given = world(ours + "---" + NODES)
    assert [pod.metadata.name for pod in given.of(Pod)] == ["w-n1", "w-n3"]
    terms = given.of(Pod)[0].spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert terms is not None
    assert terms.node_selector_terms[0].match_fields[0].values == ("n1",)


def test_pods_of_another_schedulers_daemon_set_take_up_room_on_each_node() -> None:
    given = world(workload("apps/v1.DaemonSet", "TEMPLATE") + "---" + NODES)
    assert [(pod.metadata.name, pod.spec.node_name) for pod in given.of(Pod)] == [("w-n1", "n1"), ("w-n3", "n3")]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("replicas: many, TEMPLATE", "$.spec.replicas: expected a whole number from 0 to 100000, got 'many'"),
        ("replicas: -1, TEMPLATE", "$.spec.replicas: expected a whole number from 0 to 100000, got -1"),
        (
            "replicas: 1000000000, TEMPLATE",
            "$.spec.replicas: expected a whole number from 0 to 100000, got 1000000000",
        ),
        (
            "template: {spec: {containers: [{name: main, resources: {limits: {cpu: many}}}]}}",
            '$.spec.template.spec.containers[0].resources.limits["cpu"]: ',
        ),
    ],
)
def test_what_is_wrong_with_a_workload_is_named_where_it_stands(spec: str, problem: str) -> None:
    (found,) = world(workload("apps/v1.Deployment", spec)).problems
    assert str(found).startswith(f"f: Deployment default/w: {problem}")


def test_a_schema_that_mentions_replicas_is_no_workload() -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"
    given = world(
        crd + "spec: {versions: [{schema: {properties: {replicas: {type: integer}, template: {type: object}}}}]}"
    )
    assert given.problems == ()
    assert sum(given.ignored.values()) == 1
