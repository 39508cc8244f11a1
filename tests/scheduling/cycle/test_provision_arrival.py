"""Pods whose node is initialized, which the watches of NodeClaims and of nodes do not show at the same moment."""

import msgspec
import pytest

from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.events import LeadershipChanged, NodeClaimWrite, ObjectChanged, WriteResult
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.testing import node

BEGIN = 1_767_225_600.0
PLANNED = BEGIN + 1.0
LABELS = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}


@pytest.fixture
def core() -> Scheduler:
    """A scheduler that has had a node made for a pod."""
    core = Scheduler(SchedulerSettings(cycle_pods=10, plan=PlanSettings()))
    core.observe(LeadershipChanged(is_leading=True), BEGIN)
    for value in (node_pool(), instance_type(), cpu_pod("a")):
        core.observe(ObjectChanged(value), BEGIN)
    return core


def initialized(core: Scheduler) -> NodeClaim:
    """The NodeClaim of the pod, which says that its node is initialized; nobody has seen the node."""
    core.decide(BEGIN)
    (order,) = core.decide(PLANNED).node_claims
    status = NodeClaimStatus(node_name="n", conditions=(Condition(type="Initialized", status="True"),))
    for claim in (order.claim, msgspec.structs.replace(order.claim, status=status)):
        core.observe(ObjectChanged(claim), PLANNED)
    core.observe(NodeClaimWrite(order.claim.name, WriteResult.DONE), PLANNED)
    return order.claim


def test_a_pod_waits_for_its_node_to_be_seen_and_has_no_second_one_made(core: Scheduler) -> None:
    initialized(core)
    for pause in (0.0, 1.0, ARRIVAL_SECONDS - 1.0):
        assert core.decide(PLANNED + pause).node_claims == ()
    core.observe(ObjectChanged(node("n", labels=LABELS, allocatable={"cpu": "8"})), PLANNED + ARRIVAL_SECONDS - 1.0)

    (outcome,) = core.decide(PLANNED + ARRIVAL_SECONDS).outcomes

    assert isinstance(outcome, Assignment)
    assert outcome.node == "n"


def test_a_node_that_does_not_come_is_not_waited_for_any_longer(core: Scheduler) -> None:
    first = initialized(core)
    core.decide(PLANNED)
    core.decide(PLANNED + ARRIVAL_SECONDS)

    (order,) = core.decide(PLANNED + ARRIVAL_SECONDS + 1.0).node_claims

    assert order.claim.name != first.name
