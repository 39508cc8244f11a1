import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from dra_controlplane.client import Json
from dra_controlplane.installation import resources
from dra_operator.settings import SETTINGS, Settings

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "manifests").rglob("kustomization.yaml"))
BASE = ROOT / "manifests/base"
DEVELOPMENT = ROOT / "manifests/overlays/development"
KWOK = ROOT / "manifests/overlays/kwok"
DEPLOYMENTS = [document for document in resources(KWOK) if document["kind"] == "Deployment"]
CLUSTER_SCOPED = {"Namespace", "ClusterRole", "ClusterRoleBinding"}


def kustomization(folder: Path) -> Json:
    content: Json = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return content


def patches(folder: Path) -> list[Json]:
    return [
        yaml.safe_load(entry.get("patch") or (folder / entry["path"]).read_text())
        for entry in kustomization(folder).get("patches", [])
    ]


def identity(document: Json) -> tuple[str, str, str, str]:
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata["name"]


def name_of(value: Path | Json) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value["metadata"]["name"])


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_file_has_its_place(folder: Path) -> None:
    content = kustomization(folder)
    listed = {*content["resources"], *(entry["path"] for entry in content.get("patches", []) if "path" in entry)}

    files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in listed if name.endswith(".yaml")} == files
    assert all((folder / name).exists() for name in listed)


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_patch_has_something_to_patch(folder: Path) -> None:
    there = {identity(document) for document in resources(folder)}

    assert {identity(patch) for patch in patches(folder)} <= there


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_an_object_is_there_once_and_in_one_namespace(folder: Path) -> None:
    documents = list(resources(folder))

    assert len({identity(document) for document in documents}) == len(documents)
    namespaces = {document["kind"]: document["metadata"].get("namespace") for document in documents}
    assert {kind for kind, namespace in namespaces.items() if namespace is None} <= CLUSTER_SCOPED
    assert {namespace for namespace in namespaces.values() if namespace} <= {"dra-scheduler-system", "kube-node-lease"}


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_a_deployment_runs_as_an_account_that_is_there(deployment: Json) -> None:
    accounts = {document["metadata"]["name"] for document in resources(KWOK) if document["kind"] == "ServiceAccount"}

    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] in accounts


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_a_deployment_runs_the_version_of_this_tree(deployment: Json) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"dra-scheduler:{version}"


@pytest.mark.parametrize("deployment", [*DEPLOYMENTS, patches(DEVELOPMENT)[0]], ids=name_of)
def test_a_deployment_sets_what_can_be_set(deployment: Json) -> None:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = {entry["name"]: entry["value"] for entry in container["env"]}

    assert set(given) <= {setting.variable for setting in SETTINGS}
    assert Settings.from_environment(given).roles


def test_each_role_has_one_deployment() -> None:
    roles = [
        entry["value"]
        for deployment in DEPLOYMENTS
        for entry in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        if entry["name"] == "DRA_ROLES"
    ]

    assert sorted(roles) == ["binder", "kwok", "nodeclaims", "scheduler"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here")
@pytest.mark.parametrize(
    ("folder", "deployments"), [(BASE, 3), (DEVELOPMENT, 1), (KWOK, 4)], ids=["base", "development", "kwok"]
)
def test_kubectl_renders(folder: Path, deployments: int) -> None:
    rendered = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True)

    kinds = [document["kind"] for document in yaml.safe_load_all(rendered.stdout)]
    assert kinds.count("Deployment") == deployments
