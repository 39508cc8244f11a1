"""Each kind has a watch of its own: what one of them has not brought yet is not taken for missing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dra_builders import manifests
from dra_cluster.faults import Match, passing
from dra_cluster.kwok import Kwok
from dra_cluster.machines import NODE_CLAIMS, TYPES, Machines
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import NODES
from dra_controlplane.client import path_of

HASTY = {"gate_timeout_seconds": "1"}


@contextmanager
def unseen(proxy: Proxy, kind: str, question: str = "$") -> Iterator[None]:
    """What happens in the block to a kind is not seen before somebody has asked the server for it."""
    with proxy.silenced(f"/{kind}"):
        asked = proxy.disturb(Match(method="GET", path=rf"/{kind}{question}"), passing())
        yield
        asked.wait(seconds=60)


@pytest.fixture
def hasty(operators: Operators, machines: Machines, nodeclaims: RunningOperator) -> Iterator[RunningOperator]:
    """The role with little patience for drivers, in the place of the usual one."""
    nodeclaims.kill()
    operator = operators.add("hasty", roles="nodeclaims", account="dra-nodeclaims", **HASTY)
    operator.run()
    yield operator
    operator.kill()


def test_a_machine_of_a_type_that_is_seen_late_comes_up(kwok: Kwok, proxy: Proxy) -> None:
    with unseen(proxy, "instancetypes"):
        kwok.machines.instance_type()
        name = kwok.claim("n")

    kwok.machines.until(name, "Ready", "True")


def test_a_machine_under_an_offering_that_is_seen_late_comes_up(kwok: Kwok, proxy: Proxy) -> None:
    offering = {"zone": "a", "price": 1}
    kind = kwok.machines.instance_type(offerings=[{**offering, "available": False}])
    with unseen(proxy, "instancetypes"):
        kwok.api.patch(path_of(TYPES, kind), {"spec": {"offerings": [offering]}})
        name = kwok.claim("n")

    kwok.machines.until(name, "Ready", "True")


def test_a_node_whose_slices_are_seen_late_is_not_given_up(
    machines: Machines, proxy: Proxy, hasty: RunningOperator
) -> None:
    machines.instance_type()
    with unseen(proxy, "resourceslices", r"\?fieldSelector"):
        machines.world.publish(machines.world.named("n"), manifests.numbered(2))
        name = machines.up("n", machines.world.driver)

    machines.until(name, "Ready", "True")
    assert "deviceFailures" not in machines.api.get(TYPES, machines.type)["status"]


def test_a_pod_that_is_seen_late_leaves_before_its_machine(machines: Machines, proxy: Proxy) -> None:
    machines.instance_type()
    name = machines.up("n")
    machines.until(name, "Ready", "True")
    pod = manifests.pod("worker", nodeName=name, schedulerName="somebody")
    with unseen(proxy, "pods", r"\?fieldSelector"):
        machines.world.create(pod)
        machines.api.delete(NODE_CLAIMS, name)

    machines.until(name, "Drained", "True")
    assert machines.world.mirror.until(lambda: not machines.world.find_pod("worker"), "the pod to be gone")
    machines.world.remove(NODES, name)
    machines.gone(name)


def test_a_claim_whose_node_is_seen_late_stays_until_that_has_gone(machines: Machines, proxy: Proxy) -> None:
    machines.instance_type()
    name = machines.claim("n")
    machines.launch(name)
    with unseen(proxy, "nodes"):
        machines.node(name)
        machines.api.delete(NODE_CLAIMS, name)

    machines.until(name, "Drained", "True")
    machines.world.remove(NODES, name)
    machines.gone(name)
