"""What a cluster needs before the operator can run, exactly as it is shipped, and logins as its service accounts."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from dra_cluster.proxy import Proxy
from dra_controlplane import kubeconfig
from dra_controlplane.client import ApiClient, Json
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until

ROOT = Path(__file__).parents[3]
ACCESS = ROOT / "manifests" / "base" / "access"
ALL_ROLES = ROOT / "manifests" / "overlays" / "development" / "all-roles-access.yaml"
NAMESPACE = "dra-scheduler-system"
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"


def install(api: ApiClient) -> None:
    """Applies the CRDs, namespace, service accounts and roles, and waits until BindRequests are served."""
    for path in sorted((ROOT / "crds").glob("*.yaml")):
        for definition in documents(path):
            api.apply(definition)
            name = definition["metadata"]["name"]
            wait_until(lambda name=name: _is_established(api, name), f"{name} to be served")  # type: ignore[misc]
    shipped = [document for path in sorted(ACCESS.glob("*.yaml")) for document in documents(path)]
    for document in sorted(shipped, key=lambda one: one["kind"] != "Namespace"):
        api.apply(document)


def documents(path: Path) -> Iterator[Json]:
    """The objects of a manifest."""
    for document in yaml.safe_load_all(path.read_text()):
        if document and document["kind"] != "Kustomization":
            yield document


def login(plane: ControlPlane, proxy: Proxy, account: str) -> Path:
    """A kubeconfig of a service account that reaches the server by way of the proxy."""
    direct = plane.kubeconfig_for_service_account(NAMESPACE, account)
    token = yaml.safe_load(direct.read_text())["users"][0]["user"]["token"]
    return kubeconfig.write_for_token(
        plane.folder / f"{account}-by-proxy.kubeconfig", url=proxy.url, ca=proxy.ca, token=token
    )


def _is_established(api: ApiClient, name: str) -> bool:
    conditions = (api.get(DEFINITIONS, name).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
