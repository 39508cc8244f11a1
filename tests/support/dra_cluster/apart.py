"""A control plane with every gate and API on that tests here need, apart from the one that other tests share."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from dra_cluster.mirror import Mirror
from dra_cluster.operators import BY_PROGRAM, Operators, RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.build import chosen_module
from dra_controlplane.client import ApiClient
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.installation import DEVELOPMENT, install
from dra_controlplane.server import ControlPlane

GATES = {"DRAListTypeAttributes": True, "DRADeviceTaintRules": True}
SINCE_1_37 = dict.fromkeys(
    ("DRADerivedAttributes", "DRADeviceCompatibilityGroups", "DRANodeAllocatableResources"), True
)
# Where Kubernetes 1.36 keeps DeviceTaintRules.
FLAGS = ("--runtime-config=resource.k8s.io/v1beta2=true",)


@dataclass(frozen=True, kw_only=True)
class Apart:
    """The control plane by what tests do with it."""

    api: ApiClient
    mirror: Mirror
    proxy: Proxy
    operators: Operators
    gates: Mapping[str, bool]

    def operator(self, name: str, command: Sequence[str] = BY_PROGRAM, **settings: str) -> RunningOperator:
        """Starts one process with both roles, and waits until it is ready."""
        operator = self.operators.add(
            name, roles="scheduler,binder", account="dra-scheduler", command=command, **settings
        )
        operator.run()
        return operator


@pytest.fixture(scope="session")
def apart() -> Iterator[Apart]:
    try:
        gates = GATES if chosen_module().version.startswith("v1.36.") else GATES | SINCE_1_37
        plane = ControlPlane(feature_gates=gates, apiserver_flags=FLAGS)
    except ControlPlaneError as error:
        pytest.fail(str(error), pytrace=False)
    with plane:
        api = plane.client()
        install(api, DEVELOPMENT)
        with (
            Mirror(api) as mirror,
            Proxy(plane.url, plane.ca, plane.folder / "network") as proxy,
            Operators(plane, proxy) as operators,
        ):
            yield Apart(api=api, mirror=mirror, proxy=proxy, operators=operators, gates=gates)


@pytest.fixture
def site(apart: Apart) -> Iterator[World]:
    """A namespace of the test's own there, and what it needs besides."""
    world = World(apart.api, apart.mirror, f"test-{uuid.uuid4().hex[:8]}")
    apart.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
    yield world
    world.leave()
    apart.api.delete("v1/namespaces", world.namespace)
    apart.mirror.forget(world.namespace)
