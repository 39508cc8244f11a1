"""The story of a pod that has a node: which devices it has there, and through which claims."""

import json

import pytest

from dra_cases.command import dra

UID = "20000000-0000-4000-8000-000000000001"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": UID, "controller": True}
SPECIAL = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [OWNER],
}
MAPPING = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "uid": UID},
    "spec": {
        "schedulerName": "dra-scheduler",
        "nodeName": "n1",
        "containers": [{"name": "main", "image": "example.com/app"}],
        "resourceClaims": [
            {"name": "pair", "resourceClaimTemplateName": "pairs"},
            {"name": "shared", "resourceClaimName": "ours"},
        ],
    },
    "status": {
        "phase": "Running",
        "resourceClaimStatuses": [{"name": "pair", "resourceClaimName": "p-pair"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "p-extended", "requestMappings": [MAPPING]},
    },
}


def claim(name: str, request: str, *devices: str, **metadata: object) -> dict[str, object]:
    given = [{"request": request, "driver": "gpu.example.com", "pool": "n1", "device": one} for one in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, **metadata},
        "spec": {"devices": {"requests": [{"name": request, "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": {"devices": {"results": given}}} if given else {},
    }


def explained(*claims: dict[str, object], form: str) -> str:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, *claims]})
    return dra("simulate", "-", "-o", form, "--explain", "p", text=text).out


def test_every_device_is_told_with_its_claim_and_request_those_of_extended_resources_last() -> None:
    claims = (
        claim("p-extended", "container-0-request-0", "gpu-2", **SPECIAL),
        claim("p-pair", "gpus", "gpu-0", "gpu-1"),
        claim("ours", "gpu"),
    )
    told = json.loads(explained(*claims, form="json"))["explanation"]
    assert told["outcome"] == "is bound to node n1"
    assert [tuple(one.values()) for one in told["devices"]] == [
        ("pair", "p-pair", "gpus", "gpu.example.com/n1/gpu-0"),
        ("pair", "p-pair", "gpus", "gpu.example.com/n1/gpu-1"),
        ("shared", "ours", None, None),
        ("example.com/gpu of main", "p-extended", "container-0-request-0", "gpu.example.com/n1/gpu-2"),
    ]


def test_a_person_reads_them_as_a_table() -> None:
    shown = explained(claim("p-pair", "gpus", "gpu-0"), form="table").split("Pod default/p: ")[1]
    assert shown == (
        "is bound to node n1\n\n"
        "WANTED AS   CLAIM    REQUEST   DEVICE\n"
        "pair        p-pair   gpus      gpu.example.com/n1/gpu-0\n"
        "shared      ours     -         none\n"
    )


@pytest.mark.parametrize("metadata", [{}, {**SPECIAL, "ownerReferences": [{**OWNER, "uid": "another"}]}])
def test_a_claim_that_is_not_the_pods_is_no_claim_for_its_extended_resources(metadata: dict[str, object]) -> None:
    told = json.loads(explained(claim("p-extended", "container-0-request-0", "gpu-2", **metadata), form="json"))
    assert [one["claim"] for one in told["explanation"]["devices"]] == ["p-pair", "ours"]
