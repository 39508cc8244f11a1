"""The role `kwok` on a real server: from a NodeClaim to a ready node with complete pools, and away again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_cluster.kwok import Kwok
from dra_cluster.machines import Machines
from dra_cluster.operators import Operators, RunningOperator
from dra_controlplane.client import ApiClient
from dra_controlplane.installation import ROOT, apply_rights

OVERLAY: Path = ROOT / "manifests/overlays/kwok"


@pytest.fixture(scope="session")
def provider(installed: None, api: ApiClient, operators: Operators) -> RunningOperator:
    apply_rights(api, OVERLAY)
    return operators.add("kwok", roles="kwok", account="dra-kwok")


@pytest.fixture
def kwok(machines: Machines, provider: RunningOperator) -> Iterator[Kwok]:
    """Machines that the role makes up. Other tests play the provider themselves, so it ends with each test."""
    provider.run()
    yield Kwok(machines)
    provider.run()
    machines.leave()
    provider.kill()


def test_a_node_claim_becomes_a_ready_node_with_complete_pools(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=200)
    name = kwok.machines.claim("n", kwok.driver)

    kwok.machines.until(name, "Ready", "True")
    assert kwok.published(name) == {1: [128, 72]}
    assert kwok.node(name)["spec"]["providerID"] == f"kwok://{name}"
    kwok.machines.until(name, "DevicesAsPromised", "True")
