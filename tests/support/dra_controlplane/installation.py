"""What an administrator applies before the operator starts, exactly as it is shipped."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import yaml

from dra_controlplane.client import ApiClient, Json
from dra_controlplane.waiting import wait_until

ROOT = Path(__file__).parents[3]
CRDS = ROOT / "crds"
BASE = ROOT / "manifests" / "base"
"""An account for each role."""
DEVELOPMENT = ROOT / "manifests" / "overlays" / "development"
"""Besides, the scheduler's account has the rights of all roles, for one process that plays them all."""
KWOK = ROOT / "manifests" / "overlays" / "kwok"
"""Besides the base, an account for the role that makes nodes up."""
SAMPLES = ROOT / "manifests" / "samples"
RIGHTS = frozenset({"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
OPERATOR_NAMESPACE = "dra-scheduler-system"
SCHEDULER_ACCOUNT = "dra-scheduler"
KWOK_ACCOUNT = "dra-kwok"

DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"


def install(api: ApiClient, folder: Path) -> None:
    """Apply the CRDs, and what a kustomization says about accounts and their rights."""
    apply_crds(api)
    apply_rights(api, folder)


def apply_crds(api: ApiClient) -> tuple[str, ...]:
    """Apply every CRD and return their names, once the server serves them."""
    definitions = [document for path in sorted(CRDS.glob("*.yaml")) for document in _documents(path)]
    names = tuple(api.apply(definition)["metadata"]["name"] for definition in definitions)
    for name in names:
        wait_until(partial(_is_served, api, name), f"the server to serve {name}")
    return names


def apply_rights(api: ApiClient, folder: Path) -> None:
    """Apply namespace, service accounts and RBAC of a kustomization."""
    for document in resources(folder):
        if document["kind"] in RIGHTS:
            api.apply(document)


def resources(folder: Path) -> Iterator[Json]:
    """Yield the objects that a kustomization lists, those of its bases first; patches are not applied."""
    for entry in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = folder / entry
        yield from resources(path) if path.is_dir() else _documents(path)


def _documents(path: Path) -> list[Json]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def _is_served(api: ApiClient, name: str) -> bool:
    conditions = (api.get(DEFINITIONS, name).get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
