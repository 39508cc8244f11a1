"""Pods whose node is initialized, which the watches of NodeClaims and of nodes do not show at the same moment."""

import msgspec
import pytest

from dra_builders.values import node, quantities
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.basics.times import time_of
from dra_scheduling.cycle.events import LeadershipChanged, NodeClaimWrite, ObjectChanged, WriteResult
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.model.pods import NodeCondition, NodeStatus
from dra_scheduling.state.assignments import Assignment

BEGIN = 1_767_225_600.0
PLANNED = BEGIN + 1.0
LABELS = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}


@pytest.fixture
def core(request: pytest.FixtureRequest) -> Scheduler:
    """A scheduler that has had a node made for a pod; a parameter says how long its drivers have to publish."""
    plan = PlanSettings(gate_seconds=request.param) if hasattr(request, "param") else PlanSettings()
    core = Scheduler(SchedulerSettings(cycle_pods=10, plan=plan))
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


def ready_since(moment: float) -> NodeStatus:
    condition = NodeCondition(type="Ready", status="True", last_transition_time=time_of(moment))
    return NodeStatus(allocatable=quantities({"cpu": "8", "pods": "110"}), conditions=(condition,))


def tainted(core: Scheduler, gate_seconds: float) -> float:
    """The node of the pod is there with a taint that nobody planned with; returns until when it is waited for."""
    initialized(core)
    value = node("n", labels=LABELS, taints=(Taint(key="x", effect="NoSchedule"),))
    core.observe(ObjectChanged(msgspec.structs.replace(value, status=ready_since(PLANNED))), PLANNED)
    return PLANNED + gate_seconds


def test_a_node_with_a_foreign_taint_is_waited_for_until_the_gates_deadline_and_no_longer(core: Scheduler) -> None:
    deadline = tainted(core, PlanSettings().gate_seconds)
    told: list[str] = []
    now = PLANNED
    while now < deadline:
        made = core.decide(now)
        told += [one.message for one in made.conditions]
        assert made.node_claims == ()
        now = min(core.next_time() or deadline, now + 60.0, deadline)
    assert any("node n was made for it and has untolerated taint x:NoSchedule" in message for message in told)
    assert any(f"waits for that node until {time_of(deadline)}" in message for message in told)

    core.decide(deadline)
    (order,) = core.decide(deadline + 1.0).node_claims

    assert order.is_new


def test_a_pod_goes_to_its_node_once_the_foreign_taint_is_gone(core: Scheduler) -> None:
    tainted(core, PlanSettings().gate_seconds)
    for pause in (0.0, ARRIVAL_SECONDS, ARRIVAL_SECONDS + 1.0, 100.0):
        assert core.decide(PLANNED + pause).node_claims == ()
    value = node("n", labels=LABELS)
    core.observe(ObjectChanged(msgspec.structs.replace(value, status=ready_since(PLANNED))), PLANNED + 101.0)

    outcomes = core.decide(PLANNED + 102.0).outcomes

    assert [one.node for one in outcomes if isinstance(one, Assignment)] == ["n"]


@pytest.mark.parametrize("core", [0.0], indirect=True)
def test_without_a_gate_no_tainted_node_is_waited_for(core: Scheduler) -> None:
    tainted(core, 0.0)
    core.decide(PLANNED)
    core.decide(PLANNED + ARRIVAL_SECONDS)

    (order,) = core.decide(PLANNED + ARRIVAL_SECONDS + 1.0).node_claims

    assert order.is_new
