from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from dra_controlplane.client import ApiClient, Json, path_of
from dra_controlplane.installation import apply_crds

ROOT = Path(__file__).parents[2]
NODE_KINDS = {"InstanceType", "NodeClaim", "NodePool"}
CLUSTER_SCOPED = NODE_KINDS | {
    "ClusterRole",
    "ClusterRoleBinding",
    "DeviceClass",
    "Namespace",
    "Node",
    "ResourceSlice",
}


@pytest.fixture(scope="session")
def bind_request() -> Json:
    """The BindRequest among the samples."""
    sample: Json = yaml.safe_load((ROOT / "manifests/samples/bind-request.yaml").read_text())
    return sample


@pytest.fixture(scope="session")
def served(api: ApiClient) -> tuple[str, ...]:
    """The names of the CRDs, which stay for the whole session: others need them, too."""
    return apply_crds(api)


@pytest.fixture
def create(api: ApiClient, served: tuple[str, ...], namespace: str, nobody_else: None) -> Callable[[Json], Json]:
    """Creates an object in the test's namespace; what the server does not know is an error.

    No role that other tests have left at work acts on it.
    """
    return lambda document: _send(api, document, namespace, fieldValidation="Strict")


@pytest.fixture
def try_to_create(api: ApiClient, served: tuple[str, ...], namespace: str) -> Callable[[Json], Json]:
    """Lets the server check an object in the test's namespace as if it were created; nothing is stored."""
    return lambda document: _send(api, document, namespace, fieldValidation="Strict", dryRun="All")


def _send(api: ApiClient, document: Json, namespace: str, **query: str) -> Json:
    kind = document["kind"]
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    within = None if kind in CLUSTER_SCOPED else namespace
    path = path_of(f"{document['apiVersion']}/{plural}", namespace=within)
    return api.request("POST", f"{path}?{'&'.join(f'{name}={value}' for name, value in query.items())}", document)
