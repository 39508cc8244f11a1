"""What admission makes of pods: LimitRanges and RuntimeClasses add to them, and refuse them, as on a server."""

import pytest

from dra_scheduling.model.pods import Pod
from dra_simulator.complete import World, complete
from dra_simulator.documents import documents
from dra_simulator.load import Loaded, Manifest

LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: bounds, namespace: default}
spec: {limits: [%s]}
"""
RUNTIME = """
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandbox}
handler: sandbox
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {runtime: sandbox}, tolerations: [{key: sandbox, operator: Exists}]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p%s}
spec: {containers: [{name: main, resources: %s}]%s}
"""


def world(*texts: str) -> World:
    found = (raw for text in texts for raw in documents(text))
    return complete(Loaded(manifests=tuple(Manifest(file="f", raw=raw) for raw in found if isinstance(raw, dict))))


def pod_of(found: World) -> Pod:
    (pod,) = found.of(Pod)
    return pod


def resources(found: World) -> dict[str, dict[str, str]]:
    stated = pod_of(found).spec.containers[0].resources
    return {
        "requests": {name: str(amount) for name, amount in sorted(stated.requests.items())},
        "limits": {name: str(amount) for name, amount in sorted(stated.limits.items())},
    }


@pytest.mark.parametrize(
    ("item", "stated", "expected"),
    [
        ("default: {cpu: 500m}, defaultRequest: {cpu: 100m}", "{}", ("100m", "500m")),
        ("default: {cpu: 500m}", "{}", ("500m", "500m")),
        ("max: {cpu: 2}", "{}", ("2", "2")),
        ("min: {cpu: 50m}", "{}", ("50m", None)),
        ("max: {cpu: 2}, min: {cpu: 50m}, defaultRequest: {cpu: 100m}", "{}", ("100m", "2")),
        ("default: {cpu: 500m}, defaultRequest: {cpu: 100m}", "{limits: {cpu: 300m}}", ("300m", "300m")),
        ("default: {cpu: 500m}, defaultRequest: {cpu: 100m}", "{requests: {cpu: 200m}}", ("200m", "500m")),
    ],
)
def test_a_container_gets_what_it_does_not_state(item: str, stated: str, expected: tuple[str, str | None]) -> None:
    found = resources(world(LIMITS % f"{{type: Container, {item}}}", POD % ("", stated, "")))

    assert (found["requests"].get("cpu"), found["limits"].get("cpu")) == expected


def test_a_pod_that_a_server_has_stays_as_it_is() -> None:
    limits = LIMITS % "{type: Container, default: {cpu: 500m}, max: {cpu: 500m}}"
    found = world(limits, POD % (", uid: u", "{requests: {cpu: 2}}", ""))

    assert resources(found) == {"requests": {"cpu": "2"}, "limits": {}}
    assert found.problems == ()


def test_a_limit_range_is_for_its_own_namespace() -> None:
    limits = (LIMITS % "{type: Container, default: {cpu: 500m}}").replace("namespace: default", "namespace: other")

    assert resources(world(limits, POD % ("", "{}", ""))) == {"requests": {}, "limits": {}}


@pytest.mark.parametrize(
    ("item", "stated", "problem"),
    [
        (
            "type: Container, max: {memory: 1Gi}",
            "{limits: {memory: 2Gi}}",
            '$.spec.containers[0].resources.limits["memory"]: expected at most 1Gi{by}, got 2Gi',
        ),
        (
            "type: Container, min: {cpu: 100m}",
            "{requests: {cpu: 50m}}",
            '$.spec.containers[0].resources.requests["cpu"]: expected at least 100m{by}, got 50m',
        ),
        (
            "type: Container, maxLimitRequestRatio: {cpu: 2}",
            "{requests: {cpu: 100m}, limits: {cpu: 300m}}",
            '$.spec.containers[0].resources.limits["cpu"]: expected at most 2 times the request of 100m{by}, got 300m',
        ),
        (
            "type: Pod, max: {cpu: 1}",
            "{limits: {cpu: 1500m}, requests: {cpu: 500m}}",
            '$.spec.limits["cpu"]: expected at most 1{by}, got 1500m',
        ),
        (
            "type: Pod, max: {cpu: 1}",
            "{requests: {cpu: 500m}}",
            '$.spec.limits["cpu"]: expected at most 1{by}, got nothing',
        ),
    ],
)
def test_a_pod_outside_of_the_limits_is_refused(item: str, stated: str, problem: str) -> None:
    found = world(LIMITS % f"{{{item}}}", POD % ("", stated, ""))

    assert found.of(Pod) == ()
    assert problem.format(by=" by LimitRange default/bounds") in [
        f"{one.path}: {one.message}" for one in found.problems
    ]


def test_pods_of_workloads_are_admitted_as_others_are() -> None:
    deployment = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: main}]}}}
"""
    found = world(LIMITS % "{type: Container, default: {cpu: 500m}}", deployment)

    cpu = [str(one.spec.containers[0].resources.requests["cpu"]) for one in found.of(Pod)]
    assert cpu == ["500m", "500m"]


def test_a_runtime_class_adds_its_overhead_and_says_which_nodes_have_it() -> None:
    spec = pod_of(world(RUNTIME, POD % ("", "{}", ", runtimeClassName: sandbox, nodeSelector: {zone: a}"))).spec

    assert {name: str(amount) for name, amount in spec.overhead.items()} == {"cpu": "250m"}
    assert spec.node_selector == {"runtime": "sandbox", "zone": "a"}
    assert [one.key for one in spec.tolerations] == ["sandbox"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "nodeSelector: {runtime: other}",
            '$.spec.nodeSelector["runtime"]: expected sandbox as RuntimeClass sandbox selects, got other',
        ),
        ("overhead: {cpu: 1}", "$.spec.overhead: expected what RuntimeClass sandbox says, or nothing"),
    ],
)
def test_a_pod_that_contradicts_its_runtime_class_is_refused(more: str, problem: str) -> None:
    found = world(RUNTIME, POD % ("", "{}", f", runtimeClassName: sandbox, {more}"))

    assert found.of(Pod) == ()
    assert [f"{one.path}: {one.message}" for one in found.problems] == [problem]


def test_a_runtime_class_that_is_not_in_the_input_adds_nothing() -> None:
    spec = pod_of(world(RUNTIME, POD % ("", "{}", ", runtimeClassName: nvidia"))).spec

    assert (spec.overhead, spec.node_selector) == ({}, {})
