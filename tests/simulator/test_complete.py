"""What a server and its controllers would add."""

import pytest

from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import DeviceClass
from dra_simulator.complete import World, complete
from dra_simulator.documents import documents
from dra_simulator.load import Loaded, Manifest

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {schedulerName: dra-scheduler, %s}\n"
CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\n"


def world(*texts: str, namespace: str = "default") -> World:
    """Each text is a file called a, b, c ..."""
    manifests = tuple(
        Manifest(file="abcdef"[number], raw=document)  # type: ignore[arg-type]
        for number, text in enumerate(texts)
        for document in documents(text)
    )
    return complete(Loaded(manifests=manifests), namespace)


def problems(*texts: str) -> list[str]:
    return [str(problem) for problem in world(*texts).problems]


def test_objects_without_namespace_are_in_the_default_one() -> None:
    pods = world(POD % ("a", ""), "apiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: own}").of(Pod)
    assert [str(pod.key) for pod in pods] == ["default/a", "own/b"]
    assert str(world(POD % ("a", ""), namespace="team").of(Pod)[0].key) == "team/a"


def test_what_lives_outside_of_namespaces_has_none() -> None:
    given = world("apiVersion: v1\nkind: Node\nmetadata: {name: n1, namespace: odd}")
    assert given.of(Node)[0].metadata.namespace == ""


def test_generated_names_are_the_same_every_time_and_differ_from_each_other() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: job-}\n"
    first, again = (tuple(pod.metadata.name for pod in world(text, text).of(Pod)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 2
    assert all(name.startswith("job-") and len(name) == 14 for name in first)


def test_a_generated_name_does_not_depend_on_where_in_the_input_the_object_stands() -> None:
    small, large = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{generateName: job-}}\nspec: {{containers: [{{name: {name}}}]}}\n"
        for name in ("small", "large")
    )
    assert world(small, large).of(Pod) == world(large, small).of(Pod)


def test_thousands_of_generated_names_are_all_different() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: job-}\n---\n"
    assert problems(text * 3_000) == []


def test_uids_are_made_of_the_name_and_given_ones_are_kept() -> None:
    first, again = (world(POD % ("a", "")).of(Pod)[0].metadata.uid for _ in range(2))
    assert first == again != ""
    assert world("apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: own}").of(Pod)[0].metadata.uid == "own"


def test_what_has_no_creation_time_is_created_after_everything_else() -> None:
    given = world(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: old, creationTimestamp: 2026-01-01T10:00:00Z}",
        POD % ("z", ""),
        POD % ("a", ""),
    )
    assert [(pod.metadata.name, pod.metadata.creation_timestamp) for pod in given.of(Pod)] == [
        ("a", "2026-01-01T10:00:01Z"),
        ("old", "2026-01-01T10:00:00Z"),
        ("z", "2026-01-01T10:00:01Z"),
    ]


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "yesterday", "2026-01-01"])
def test_times_that_nothing_can_follow_are_passed_over(time: str) -> None:
    given = world(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: old, creationTimestamp: '{time}'}}", POD % ("a", ""))
    assert given.of(Pod)[0].metadata.creation_timestamp == ""


def test_a_node_without_allocatable_offers_its_capacity_and_room_for_110_pods() -> None:
    given = world(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {capacity: {cpu: 4}}",
        "apiVersion: v1\nkind: Node\nmetadata: {name: b}\nstatus: {capacity: {cpu: 4}, allocatable: {cpu: 3, pods: 8}}",
    )
    offered = [{name: str(amount) for name, amount in node.status.allocatable.items()} for node in given.of(Node)]
    assert offered == [{"pods": "110", "cpu": "4"}, {"pods": "8", "cpu": "3"}]


def test_a_node_carries_its_host_name() -> None:
    given = world("apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {zone: x}}")
    assert given.of(Node)[0].metadata.labels == {"kubernetes.io/hostname": "a", "zone": "x"}


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ("priorityClassName: high", 1000),
        ("priorityClassName: high, priority: 7", 7),
        ("priorityClassName: system-node-critical", 2_000_001_000),
        ("priorityClassName: unknown", 0),
        ("", 5),
    ],
)
def test_priority_comes_from_the_class_or_is_the_global_default(spec: str, priority: int) -> None:
    classes = "".join(
        f"---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\n{rest}\n"
        for name, rest in (("high", "value: 1000"), ("normal", "value: 5\nglobalDefault: true"))
    )
    assert world(POD % ("a", spec), classes).of(Pod)[0].spec.priority == priority


def test_the_same_object_twice_is_there_once() -> None:
    assert len(world(CLASS % "a", CLASS % "a").of(DeviceClass)) == 1


def test_two_definitions_of_one_object_are_refused_and_both_files_named() -> None:
    other = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {extendedResourceName: x.org/y}"
    )
    assert problems(CLASS % "a", other) == ["b: DeviceClass a: $: expected one definition, and a holds another one"]


def test_objects_of_unknown_kinds_are_counted() -> None:
    given = world("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}", "apiVersion: v1\nkind: Service")
    assert given.ignored == {"example.com/v1 Thing": 1, "v1 Service": 1}
    assert given.problems == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Pod", "Pod without a name: $: expected an object with apiVersion and kind"),
        ("apiVersion: v1\nkind: Pod", "Pod without a name: $: missing required field metadata"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 7}",
            "Pod default/7: $.metadata.name: expected a string, got a whole number",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: many}}",
            'Node a: $.status.allocatable["cpu"]: ',
        ),
        (
            "apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: a}",
            "DeviceClass a: $.apiVersion: resource.k8s.io/v1beta1 is not supported, expected resource.k8s.io/v1",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 7}", "Pod default/a: $.spec.containers: "),
    ],
)
def test_what_cannot_be_read_is_named_with_its_path(text: str, problem: str) -> None:
    found = problems(text, POD % ("fine", ""))
    assert len(found) == 1
    assert found[0].startswith(f"a: {problem}")


def test_fields_that_a_dump_has_and_nobody_reads_do_no_harm() -> None:
    given = world(
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: a
          creationTimestamp: null
          managedFields: [{manager: kubectl, time: 2026-01-01T00:00:00Z, fieldsV1: {"f:spec": {}}}]
        spec: {nodeName: null, containers: [{name: main, resources: {limits: null}, env: [{name: X, value: "1"}]}]}
        status: {phase: Pending, conditions: null, startTime: 2026-01-01T00:00:00Z}
        """
    )
    assert given.problems == ()
    assert given.of(Pod)[0].spec.node_name == ""


TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec:
  metadata: {labels: {team: x}, annotations: {note: y}}
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: g}}]}}
"""
CLAIMING = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"


def test_a_template_claim_is_made_as_the_claim_controller_makes_it() -> None:
    given = world(TEMPLATE, POD % ("a", CLAIMING))
    (claim,), (pod,) = given.of(ResourceClaim), given.of(Pod)
    assert str(claim.key) == "default/a-gpu"
    assert claim.spec.devices.requests[0].name == "gpu"
    assert claim.metadata.labels == {"team": "x"}
    assert claim.metadata.annotations == {"note": "y", "resource.kubernetes.io/pod-claim-name": "gpu"}
    owner = claim.metadata.controller
    assert owner is not None
    assert (owner.kind, owner.name, owner.uid) == ("Pod", "a", pod.metadata.uid)
    assert [(entry.name, entry.resource_claim_name) for entry in pod.status.resource_claim_statuses] == [
        ("gpu", "a-gpu")
    ]


def test_a_claim_that_was_made_already_is_used() -> None:
    made = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata:
      name: a-gpu-x7k2p
      annotations: {resource.kubernetes.io/pod-claim-name: gpu}
      ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: u1, controller: true}]
    """
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, uid: u1}}\nspec: {{{CLAIMING}}}"
    given = world(TEMPLATE, made, pod)
    assert [claim.metadata.name for claim in given.of(ResourceClaim)] == ["a-gpu-x7k2p"]
    assert given.of(Pod)[0].status.resource_claim_statuses[0].resource_claim_name == "a-gpu-x7k2p"


def test_a_made_claim_takes_no_name_that_is_in_use() -> None:
    other = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a-gpu}"
    names = {claim.metadata.name for claim in world(TEMPLATE, other, POD % ("a", CLAIMING)).of(ResourceClaim)}
    assert len(names) == 2
    assert "a-gpu" in names


def test_claims_whose_names_clash_are_made_for_the_same_pods_in_any_order() -> None:
    template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
    pods = [
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
        f"spec: {{resourceClaims: [{{name: {entry}, resourceClaimTemplateName: t}}]}}\n"
        for name, entry in (("a", "b-c"), ("a-b", "c"))
    ]
    assert world(template, *pods).of(ResourceClaim) == world(template, *reversed(pods)).of(ResourceClaim)


def test_finished_pods_and_missing_templates_make_no_claims() -> None:
    finished = POD % ("a", CLAIMING) + "status: {phase: Succeeded}"
    assert world(TEMPLATE, finished).of(ResourceClaim) == ()
    assert world(POD % ("a", CLAIMING)).of(ResourceClaim) == ()
