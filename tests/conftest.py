import os
import uuid
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from dra_controlplane.client import ApiClient
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.server import ControlPlane

# Fixtures that tests of one folder use. In a conftest.py there, type checkers would see two modules of one name.
pytest_plugins = (
    "dra_cluster.fixtures",
    "dra_cluster.apart",
    "dra_cluster.whole",
    "dra_cluster.stage",
    "dra_operating.fixtures",
)

# On a slow machine everything is slow.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("reproducible", UNTIMED, derandomize=True, max_examples=100)
settings.register_profile("long", UNTIMED, max_examples=5_000)
settings.load_profile(os.environ.get("DRA_HYPOTHESIS", "reproducible"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the control plane. Every process of a run in parallel has one of its own."""
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.controlplane)


@pytest.fixture(scope="session", autouse=True)
def plain_logs() -> None:
    """Tracebacks without the values of all variables, which take seconds."""
    structlog.configure(processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()])


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One running control plane for the whole session; a test removes the objects without namespace that it made."""
    try:
        plane = ControlPlane()
    except ControlPlaneError as error:
        pytest.fail(str(error), pytrace=False)
    with plane:
        yield plane


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> ApiClient:
    """The shared control plane, with an administrator's rights."""
    return control_plane.client()


@pytest.fixture
def namespace(api: ApiClient) -> Iterator[str]:
    """The name of a namespace of the test's own, deleted afterwards without waiting for it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    # There is no kubelet to end a pod that is bound, and before its pods nothing else of a namespace is deleted.
    api.request("DELETE", f"/api/v1/namespaces/{name}/pods", {"gracePeriodSeconds": 0})
    api.delete("v1/namespaces", name)
