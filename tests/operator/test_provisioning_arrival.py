"""Pods whose node is initialized, which the watches of NodeClaims and of nodes do not show at the same moment."""

import msgspec
import pytest

from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_operator.cycle import Changed, Lead, Ordered, SchedulerCore
from dra_operator.provisioning import ARRIVAL_SECONDS, PlanSettings, Provisioner
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.testing import node

BEGIN = 1_767_225_600.0
PLANNED = BEGIN + 1.0
LABELS = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}


@pytest.fixture
def core() -> SchedulerCore:
    """A scheduler that has had a node made for a pod."""
    cluster = Cluster()
    provisioner = Provisioner(cluster, PlanSettings(), lambda: 0.0)
    core = SchedulerCore(cluster, SchedulingQueue(), cycle_pods=10, provisioner=provisioner)
    core.take_in(Lead(is_leading=True), BEGIN)
    for value in (node_pool(), instance_type(), cpu_pod("a")):
        core.take_in(Changed(value), BEGIN)
    return core


def initialized(core: SchedulerCore) -> NodeClaim:
    """The NodeClaim of the pod, which says that its node is initialized; nobody has seen the node."""
    core.decide(BEGIN)
    (order,) = core.decide(PLANNED).orders
    status = NodeClaimStatus(node_name="n", conditions=(Condition(type="Initialized", status="True"),))
    for claim in (order.claim, msgspec.structs.replace(order.claim, status=status)):
        core.take_in(Changed(claim), PLANNED)
    core.take_in(Ordered(order.claim.name, is_written=True), PLANNED)
    return order.claim


def test_a_pod_waits_for_its_node_to_be_seen_and_has_no_second_one_made(core: SchedulerCore) -> None:
    initialized(core)
    for pause in (0.0, 1.0, ARRIVAL_SECONDS - 1.0):
        assert core.decide(PLANNED + pause).orders == ()
    core.take_in(Changed(node("n", labels=LABELS, allocatable={"cpu": "8"})), PLANNED + ARRIVAL_SECONDS - 1.0)

    (outcome,) = core.decide(PLANNED + ARRIVAL_SECONDS).outcomes

    assert isinstance(outcome, Assignment)
    assert outcome.node == "n"


def test_a_node_that_does_not_come_is_not_waited_for_any_longer(core: SchedulerCore) -> None:
    first = initialized(core)
    core.decide(PLANNED)
    core.decide(PLANNED + ARRIVAL_SECONDS)

    (order,) = core.decide(PLANNED + ARRIVAL_SECONDS + 1.0).orders

    assert order.claim.name != first.name
