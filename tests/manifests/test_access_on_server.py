import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from dra_controlplane.client import ApiClient, ApiError, Json, path_of
from dra_controlplane.installation import resources
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until

Send = Callable[[Json], Json]

HERE = Path(__file__).parent
BASE = HERE.parents[1] / "manifests/base"
SHIPPED = list(resources(BASE))
TABLE = yaml.safe_load((HERE / "can-and-cannot.yaml").read_text())
CASES = [
    pytest.param(account, answer, rule, id=f"{account}-{answer}-{rule[0]}-{rule[2]}")
    for account, answers in TABLE.items()
    for answer, rules in answers.items()
    for rule in rules
]
LEASE = ("create", "coordination.k8s.io", "leases")
CLAIM: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "one"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}},
}
DEVICE = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-a", "device": "gpu-0"}
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "worker"},
    "spec": {"schedulerName": "dra-scheduler", "containers": [{"name": "main", "image": "none"}]},
}


def may(api: ApiClient, account: str, namespace: str, attributes: Json) -> bool:
    """Whether the account of that namespace has the rights."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": f"system:serviceaccount:{namespace}:{account}", "resourceAttributes": attributes},
    }
    answer = api.request("POST", path_of("authorization.k8s.io/v1/subjectaccessreviews"), review)
    return bool(answer["status"]["allowed"])


@pytest.fixture(scope="module")
def accounts(api: ApiClient) -> Iterator[str]:
    """A namespace with the shipped accounts, roles and bindings in it, in the place of the system's own."""
    home = f"test-{uuid.uuid4().hex[:8]}"
    documents = [moved(document, home) for document in resources(BASE / "access")]
    for document in documents:
        api.apply(document)
    for account in TABLE:
        # The server looks rights up in a cache that lags behind.
        for verb, group, resource in (("watch", "", "pods"), ("create", "", "events"), LEASE):
            attributes = {"verb": verb, "group": group, "resource": resource, "namespace": home}
            wait_until(partial(may, api, account, home, attributes), f"the rights of {account}")
    yield home
    for document in documents:
        if document["kind"] == "ClusterRoleBinding":
            api.delete("rbac.authorization.k8s.io/v1/clusterrolebindings", document["metadata"]["name"])
    api.delete("v1/namespaces", home)


def moved(document: Json, home: str) -> Json:
    """The document with another namespace; what is bound in the whole cluster gets another name, too."""
    text = yaml.safe_dump(document).replace("dra-scheduler-system", home)
    local: Json = yaml.safe_load(text)
    if local["kind"] == "ClusterRoleBinding":
        local["metadata"]["name"] += f"-{home}"
    return local


@pytest.mark.parametrize(("account", "answer", "rule"), CASES)
def test_an_account_may_do_its_work_and_nothing_else(
    account: str, answer: str, rule: list[str], api: ApiClient, accounts: str
) -> None:
    verb, group, resource = rule
    plural, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}

    assert may(api, account, accounts, attributes) is (answer == "can")


@pytest.mark.parametrize(("account", "other"), [("dra-scheduler", "dra-binder"), ("dra-binder", "dra-scheduler")])
def test_a_role_holds_its_own_lease_only(account: str, other: str, api: ApiClient, accounts: str) -> None:
    lease = {"group": "coordination.k8s.io", "resource": "leases", "namespace": accounts}

    for verb in ("get", "update"):
        assert may(api, account, accounts, {**lease, "verb": verb, "name": account})
        assert not may(api, account, accounts, {**lease, "verb": verb, "name": other})


def allocated(claim: Json, pod: Json) -> Json:
    consumer = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {**claim, "status": {"allocation": {"devices": {"results": [DEVICE]}}, "reservedFor": [consumer]}}


def test_the_binder_allocates_reserves_and_binds(
    control_plane: ControlPlane, create: Send, accounts: str, namespace: str
) -> None:
    binder = control_plane.client_for_service_account(accounts, "dra-binder")
    pod, claim = create(POD), binder.create(CLAIM, namespace=namespace)

    binder.put(allocated(claim, pod), subresource="status")
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-a"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "worker"}, "target": target}
    path = path_of("v1/pods", "worker", namespace=namespace)
    binder.request("POST", f"{path}/binding", binding)

    assert binder.request("GET", path)["spec"]["nodeName"] == "node-a"


def test_the_scheduler_allocates_nothing(control_plane: ControlPlane, create: Send, accounts: str) -> None:
    scheduler = control_plane.client_for_service_account(accounts, "dra-scheduler")
    pod, claim = create(POD), create(CLAIM)

    with pytest.raises(ApiError) as refused:
        scheduler.put(allocated(claim, pod), subresource="status")

    assert refused.value.code == 403


def test_a_binder_with_rights_in_one_namespace_only_cannot_allocate(
    control_plane: ControlPlane, api: ApiClient, create: Send, accounts: str, namespace: str
) -> None:
    create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "local"}})
    create(role_binding("dra-binder", "local", namespace))
    local = control_plane.client_for_service_account(namespace, "local")
    update = {"verb": "update", "group": "resource.k8s.io", "resource": "resourceclaims", "subresource": "status"}
    wait_until(lambda: may(api, "local", namespace, {**update, "namespace": namespace}), "the rights of local")
    pod, claim = create(POD), create(CLAIM)

    with pytest.raises(ApiError) as refused:
        local.put(allocated(claim, pod), subresource="status")

    # No 403: the server looks for this right while it checks the fields.
    assert refused.value.code == 422
    causes = [(cause["field"], cause["reason"]) for cause in refused.value.body["details"]["causes"]]
    assert causes == [("status.allocation", "FieldValueForbidden")]


def role_binding(role: str, account: str, namespace: str) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


@pytest.mark.parametrize("document", SHIPPED, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_the_server_takes_what_is_shipped(document: Json, try_to_create: Send, namespace: str) -> None:
    # Under names that are free, and in a namespace that is there.
    metadata = {**document["metadata"], "name": f"{document['metadata']['name']}-{namespace}"}
    metadata.pop("namespace", None)

    assert try_to_create({**document, "metadata": metadata})["kind"] == document["kind"]


@pytest.mark.parametrize("name", ["dra-scheduler", "dra-binder"])
def test_the_operators_pods_pass_the_strictest_policy(
    name: str, api: ApiClient, try_to_create: Send, namespace: str
) -> None:
    documents = {(document["kind"], document["metadata"]["name"]): document for document in SHIPPED}
    labels = documents["Namespace", "dra-scheduler-system"]["metadata"]["labels"]
    api.patch(path_of("v1/namespaces", namespace), {"metadata": {"labels": labels}})
    template = documents["Deployment", name]["spec"]["template"]

    pod = try_to_create({"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": name}})

    assert pod["spec"]["priority"] == 2_000_000_000


def test_the_policy_is_in_force(api: ApiClient, try_to_create: Send, namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.patch(path_of("v1/namespaces", namespace), {"metadata": {"labels": labels}})

    with pytest.raises(ApiError) as refused:
        try_to_create(POD)

    assert refused.value.code == 403
