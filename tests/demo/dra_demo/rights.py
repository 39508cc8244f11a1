"""What an administrator applies before the operator starts: the CRDs, and the shipped rights of one process."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from dra_controlplane.client import ApiClient, Json
from dra_controlplane.waiting import wait_until

ROOT = Path(__file__).parents[3]
CRDS = ROOT / "crds"
# The one whose account plays every role in one process, as `kopf run` does.
OVERLAY = ROOT / "manifests" / "overlays" / "development"
RIGHTS = frozenset(
    {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
)
ACCOUNT = ("dra-scheduler-system", "dra-scheduler")


def apply_crds(api: ApiClient) -> tuple[str, ...]:
    """Apply every CRD and return their names, once the server serves them."""
    definitions = [document for path in sorted(CRDS.glob("*.yaml")) for document in _documents(path)]
    names = [api.apply(definition)["metadata"]["name"] for definition in definitions if _is_crd(definition)]
    for name in names:
        wait_until(lambda name=name: _is_served(api, name), f"the server to serve {name}")  # type: ignore[misc]
    return tuple(names)


def apply_rights(api: ApiClient) -> tuple[str, ...]:
    """Apply namespace, service accounts and RBAC of the overlay, and return what was applied as `kind/name`."""
    wanted = [document for document in resources(OVERLAY) if document["kind"] in RIGHTS]
    for document in wanted:
        api.apply(document)
    return tuple(f"{document['kind']}/{document['metadata']['name']}" for document in wanted)


def user_of(api: ApiClient) -> str:
    """Return the name under which the server knows a client."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    return str(answer["status"]["userInfo"]["username"])


def may(api: ApiClient, verb: str, resource: str) -> bool:
    """Whether a client may do this with a resource of the core group in every namespace."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "resource": resource, "version": "v1"}},
    }
    answer = api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def resources(folder: Path) -> Iterator[Json]:
    """Yield the objects that a kustomization lists, those of its bases first; patches are not applied."""
    for entry in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = folder / entry
        yield from resources(path) if path.is_dir() else _documents(path)


def _documents(path: Path) -> list[Json]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def _is_crd(document: Json) -> bool:
    return bool(document["kind"] == "CustomResourceDefinition")


def _is_served(api: ApiClient, name: str) -> bool:
    status = api.get("apiextensions.k8s.io/v1/customresourcedefinitions", name).get("status") or {}
    return any(one["type"] == "Established" and one["status"] == "True" for one in status.get("conditions") or ())
