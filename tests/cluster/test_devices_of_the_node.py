"""What devices take of their node's own resources, as a real server shows it to kubelet."""

import pytest

from dra_cases import cases
from dra_cluster.apart import Apart
from dra_cluster.play import Play
from dra_cluster.world import World
from dra_scheduling.basics.features import NODE_ALLOCATABLE

pytestmark = pytest.mark.controlplane


def test_the_pods_status_says_what_its_claims_take(apart: Apart, site: World) -> None:
    if NODE_ALLOCATABLE not in apart.gates:
        pytest.skip("this Kubernetes does not know the gate")
    (case,) = (each for each in cases() if each.name == "devices-take-cpu-and-memory-of-their-node")
    operator = apart.operator("of-node", feature_gates=case.switches)
    try:
        play = Play(site, case)
        play.set_up(operator)
        assert play.pods_come() == []
    finally:
        operator.kill()

    (told,) = site.find_pod("first")["status"]["nodeAllocatableResourceClaimStatuses"]
    assert told == {
        "resourceClaimName": "first-cores",
        "containers": ["main"],
        "mapping": [{"name": "cpu", "quantity": "8"}],
        "overhead": [{"name": "memory", "perPod": "1Gi", "perContainer": "512Mi"}],
    }
