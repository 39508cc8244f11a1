from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_controlplane.client import ApiClient, ApiError, Json, path_of
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.wire import read_as, write

Send = Callable[[Json], Json]

HERE = Path(__file__).parent
BIND_REQUESTS = "scheduling.run.ai/v1alpha2/bindrequests"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
KAI_EXAMPLE = HERE.parents[2] / "shared/corpus/manifests/kai-scheduler/bindrequest-imex.yaml"
REFUSED = yaml.safe_load((HERE / "refused-bind-requests.yaml").read_text())
ACCEPTED = yaml.safe_load((HERE / "accepted-bind-requests.yaml").read_text())
# An attribute made up for a constraint, which the claim of an extended resource never has.
NOT_OURS = {"derivedAttributes"}


def merged(target: Any, patch: Any) -> Any:  # noqa: ANN401  JSON merge patch, RFC 7396
    if not isinstance(patch, dict):
        return patch
    before = target if isinstance(target, dict) else {}
    kept = {key: value for key, value in before.items() if key not in patch}
    return kept | {key: merged(before.get(key), value) for key, value in patch.items() if value is not None}


def fields(error: ApiError) -> set[str]:
    return {cause["field"] for cause in error.body["details"]["causes"]}


def name_of(case: Json) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_the_server_refuses(case: Json, bind_request: Json, try_to_create: Send) -> None:
    with pytest.raises(ApiError) as refused:
        try_to_create(merged(bind_request, case["patch"]))

    assert refused.value.code == 422
    assert case["field"] in fields(refused.value)


@pytest.mark.parametrize("case", ACCEPTED, ids=name_of)
def test_the_server_takes_and_keeps(case: Json, bind_request: Json, try_to_create: Send) -> None:
    wanted = merged(bind_request, case["patch"])

    assert try_to_create(wanted)["spec"] == wanted["spec"]


def test_a_misspelt_field_is_named(bind_request: Json, try_to_create: Send) -> None:
    with pytest.raises(ApiError) as refused:
        try_to_create(merged(bind_request, {"spec": {"podUid": "1"}}))

    assert refused.value.code == 400
    assert "spec.podUid" in refused.value.message


def test_what_the_library_writes_comes_back_as_it_was(bind_request: Json, create: Send) -> None:
    fullest = next(case for case in ACCEPTED if "everything" in case["name"])
    request = read_as(BindRequest, merged(bind_request, fullest["patch"]))

    stored = create(write(request))

    assert read_as(BindRequest, stored).spec == request.spec


@pytest.mark.parametrize("uid", [None, "another"])
def test_a_bind_request_stays_with_its_pod(uid: str | None, api: ApiClient, bind_request: Json, create: Send) -> None:
    stored = create(bind_request)["metadata"]
    path = path_of(BIND_REQUESTS, stored["name"], namespace=stored["namespace"])

    with pytest.raises(ApiError) as refused:
        api.patch(path, {"spec": {"podUID": uid}})

    assert fields(refused.value) == {"spec.podUID"}


def test_a_bind_request_keeps_its_pod_name(api: ApiClient, bind_request: Json, create: Send) -> None:
    stored = create(bind_request)["metadata"]

    with pytest.raises(ApiError) as refused:
        api.patch(path_of(BIND_REQUESTS, stored["name"], namespace=stored["namespace"]), {"spec": {"podName": "other"}})

    assert fields(refused.value) == {"spec.podName"}


def test_the_next_decision_for_a_pod_may_take_another_node(api: ApiClient, bind_request: Json, create: Send) -> None:
    stored = create(bind_request)["metadata"]

    path = path_of(BIND_REQUESTS, stored["name"], namespace=stored["namespace"])
    changed = api.patch(path, {"spec": {"selectedNode": "node-b"}})

    assert changed["metadata"]["generation"] == stored["generation"] + 1


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"phase": "Bound"}, "status.phase"),
        ({"failedAttempts": -1}, "status.failedAttempts"),
        ({"lastAttemptTime": "just now"}, "status.lastAttemptTime"),
    ],
)
def test_a_status_that_means_nothing_is_refused(
    status: Json, field: str, api: ApiClient, bind_request: Json, create: Send
) -> None:
    stored = create(bind_request)["metadata"]
    path = path_of(BIND_REQUESTS, stored["name"], namespace=stored["namespace"], subresource="status")

    with pytest.raises(ApiError) as refused:
        api.patch(path, {"status": status})

    assert field in fields(refused.value)


def test_the_status_is_written_by_itself(api: ApiClient, bind_request: Json, create: Send) -> None:
    stored = create(bind_request)
    name, namespace = stored["metadata"]["name"], stored["metadata"]["namespace"]
    status = {"phase": "Failed", "reason": "the node is gone", "failedAttempts": 2, "observedGeneration": 1}

    path = path_of(BIND_REQUESTS, name, namespace=namespace, subresource="status")
    patched = api.patch(path, {"status": status, "spec": {"selectedNode": "node-b"}})

    assert patched["status"] == status
    assert patched["spec"] == stored["spec"]


def test_a_decision_is_one_field_to_the_server(bind_request: Json, create: Send) -> None:
    (owner,) = create(bind_request)["metadata"]["managedFields"]

    # Field by field the server would keep the whole tree of names with each object: more to store, send and compare.
    assert owner["fieldsV1"] == {"f:spec": {}}


def test_a_list_shows_pod_node_phase_and_attempts(api: ApiClient, bind_request: Json, create: Send) -> None:
    stored = create(bind_request)["metadata"]
    path = path_of(BIND_REQUESTS, namespace=stored["namespace"])
    status = {"status": {"phase": "Failed", "failedAttempts": 2, "reason": "the node is gone"}}
    api.patch(f"{path}/{stored['name']}/status", status)

    table = as_table(api, path)

    shown = dict(zip(table["columns"], table["rows"][0], strict=True))
    shown.pop("Age")
    assert shown == {
        "Name": "extended-resource-sample",
        "Pod": "extended-resource-sample",
        "Node": "node-a",
        "Phase": "Failed",
        "Attempts": 2,
        "Reason": "the node is gone",
    }
    assert table["wide"] == ["Reason"]


def as_table(api: ApiClient, path: str) -> Json:
    table = api.request("GET", path, accept=TABLE)
    columns = table["columnDefinitions"]
    return {
        "columns": [column["name"] for column in columns],
        "wide": [column["name"] for column in columns if column["priority"]],
        "rows": [row["cells"] for row in table["rows"]],
    }


def test_kubectl_finds_bind_requests_by_short_name_and_category(api: ApiClient, served: tuple[str, ...]) -> None:
    group = api.request("GET", "/apis/scheduling.run.ai/v1alpha2")
    entry = next(entry for entry in group["resources"] if entry["name"] == "bindrequests")

    assert entry["shortNames"] == ["br"]
    assert entry["categories"] == ["dra-scheduler"]


def test_the_schema_is_sound(api: ApiClient, served: tuple[str, ...]) -> None:
    stored = api.get("apiextensions.k8s.io/v1/customresourcedefinitions", "bindrequests.scheduling.run.ai")

    conditions = {condition["type"]: condition["status"] for condition in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.skipif(not KAI_EXAMPLE.exists(), reason="the collected manifests are not here")
def test_a_bind_request_that_kai_wrote_is_taken(try_to_create: Send) -> None:
    example = yaml.safe_load(KAI_EXAMPLE.read_text())
    wanted = {**example, "metadata": {"name": example["metadata"]["name"]}}

    assert try_to_create(wanted)["spec"] == example["spec"]


@pytest.mark.parametrize("place", ["AllocationResult", "DeviceRequest"])
def test_every_field_of_the_servers_own_type_is_known(place: str, api: ApiClient, served: tuple[str, ...]) -> None:
    kinds = api.request("GET", "/openapi/v3/apis/resource.k8s.io/v1")["components"]["schemas"]
    crd = api.get("apiextensions.k8s.io/v1/customresourcedefinitions", "bindrequests.scheduling.run.ai")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    special = spec["extendedResourceClaimAllocation"]["properties"]
    ours = {"AllocationResult": special["allocation"], "DeviceRequest": special["deviceRequests"]["items"]}[place]

    assert missing(kinds, kinds[f"io.k8s.api.resource.v1.{place}"], ours) == []


def missing(kinds: Json, theirs: Json, ours: Json, path: str = "") -> list[str]:
    """The paths of fields that the server's type has and our schema lacks."""
    while "$ref" in theirs or "allOf" in theirs:
        theirs = kinds[(theirs.get("allOf") or [theirs])[0]["$ref"].rpartition("/")[2]]
    if "items" in theirs:
        return missing(kinds, theirs["items"], ours.get("items", {}), f"{path}[]")
    if "x-kubernetes-preserve-unknown-fields" in ours:
        return []
    known = ours.get("properties", {})
    found = []
    for name, theirs_below in theirs.get("properties", {}).items():
        if name not in NOT_OURS:
            below = f"{path}.{name}"
            found += [below] if name not in known else missing(kinds, theirs_below, known[name], below)
    return found
