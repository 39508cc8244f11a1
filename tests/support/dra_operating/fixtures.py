"""Fixtures of the tests that need a cluster, or several operators, of their own."""

import uuid
from collections.abc import Iterator

import pytest

from dra_cluster.mirror import Mirror
from dra_cluster.operators import Operators
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.installation import DEVELOPMENT, install
from dra_controlplane.server import ControlPlane


@pytest.fixture(scope="session")
def own_plane() -> Iterator[ControlPlane]:
    """A control plane of its own: these tests take it away, and let several operators loose on it."""
    try:
        plane = ControlPlane()
    except ControlPlaneError as error:
        pytest.fail(str(error), pytrace=False)
    with plane:
        install(plane.client(), DEVELOPMENT)
        yield plane


@pytest.fixture(scope="session")
def own_mirror(own_plane: ControlPlane) -> Iterator[Mirror]:
    with Mirror(own_plane.client()) as mirror:
        yield mirror


@pytest.fixture
def network(own_plane: ControlPlane) -> Iterator[Proxy]:
    """What is between the operators and the server."""
    with Proxy(own_plane.url, own_plane.ca, own_plane.folder / "network") as proxy:
        yield proxy


@pytest.fixture
def replicas(own_plane: ControlPlane, network: Proxy) -> Iterator[Operators]:
    """The operators of one test."""
    with Operators(own_plane, network) as operators:
        yield operators


@pytest.fixture
def place(own_plane: ControlPlane, own_mirror: Mirror) -> Iterator[World]:
    """A namespace of the test's own, and what it needs besides."""
    api = own_plane.client()
    world = World(api, own_mirror, f"test-{uuid.uuid4().hex[:8]}")
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
    yield world
    world.leave()
    api.delete("v1/namespaces", world.namespace)
    own_mirror.forget(world.namespace)
