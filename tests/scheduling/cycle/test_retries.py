"""How often a pod is looked at while others come and go: as often as something happened that could help it."""

from collections import Counter

import msgspec

from dra_builders.values import (
    claim,
    devices,
    driver_class,
    node,
    request,
    reserved_for,
    resource_slice,
    templated_pod,
)
from dra_operating.core import CountingReporter, pause
from dra_operating.supply import instance_type, node_pool
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.cycle.decisions import NodeClaimOrder, PodCondition
from dra_scheduling.cycle.events import (
    BindRequestWrite,
    LeadershipChanged,
    NodeClaimWrite,
    ObjectChanged,
    ObjectRemoved,
    WriteResult,
)
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

PODS = 40
APART = 0.1
"""Seconds between two pods."""


class Server:
    """Tells a scheduler core what an API server would, in its order, and counts looks at pods."""

    def __init__(self, *, makes_nodes: bool = False) -> None:
        self.now = 1_767_225_600.0
        self.looks = Counter[str]()
        self.nodes = Counter[str]()
        self.orders: list[NodeClaimOrder] = []
        self.reporter = CountingReporter()
        settings = SchedulerSettings(plan=PlanSettings() if makes_nodes else None)
        self.core = Scheduler(settings, reporter=self.reporter)
        self.cluster = self.core.cluster
        self.core.observe(LeadershipChanged(is_leading=True), self.now)
        self.show(driver_class())

    def show(self, *values: KubernetesObject) -> None:
        for value in values:
            self.core.observe(ObjectChanged(value), self.now)
            self.settle()

    def settle(self) -> None:
        """Let everything be decided that can be, and carried out."""
        while not pause(self.core, self.now):
            plans = self.core.decide(self.now)
            self.looks.update(one.pod.metadata.name for one in plans.outcomes)
            for outcome in plans.outcomes:
                self.carry_out(outcome)
            for order in plans.node_claims:
                self.write(order)

    def carry_out(self, outcome: Assignment | PodCondition) -> None:
        if not isinstance(outcome, Assignment):
            return
        pod = outcome.pod
        self.nodes[outcome.node] += 1
        self.core.observe(BindRequestWrite(pod.key, pod.metadata.uid, WriteResult.DONE), self.now)
        made = bind_request(outcome)
        self.core.observe(ObjectChanged(made), self.now)
        for key, given in zip(outcome.claim_keys, outcome.claims, strict=True):
            known = self.cluster.claims.get(key)
            assert known is not None
            status = msgspec.structs.replace(
                known.status, allocation=given.allocation, reserved_for=(reserved_for(pod),)
            )
            self.core.observe(ObjectChanged(msgspec.structs.replace(known, status=status)), self.now)
        bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=outcome.node))
        self.core.observe(ObjectChanged(bound), self.now)
        self.core.observe(ObjectRemoved(made), self.now)

    def write(self, order: NodeClaimOrder) -> None:
        self.orders.append(order)
        self.core.observe(ObjectChanged(order.claim), self.now)
        self.core.observe(NodeClaimWrite(order.claim.name, WriteResult.DONE), self.now)

    def create(self, name: str) -> None:
        """A pod, then the claim that is made for it, then its name in the pod."""
        without, named = (templated_pod(name, claims={"gpu": made}) for made in (None, f"{name}-gpu"))
        self.show(without, claim(f"{name}-gpu", request(), owner=without), named)
        self.now += APART

    def come_up(self, order: NodeClaimOrder) -> None:
        """The node that was ordered, bit by bit."""
        known = self.cluster.inventory.claims[order.claim.name]
        status = msgspec.structs.replace(known.status, node_name=known.name)
        self.show(msgspec.structs.replace(known, status=status))
        labels = {"karpenter.sh/nodepool": "general"}
        self.show(node(known.name, labels=labels), resource_slice(known.name, devices(8), node=known.name))
        self.show(node(known.name, labels={**labels, "karpenter.sh/initialized": "true"}))


def test_pods_that_trickle_in_are_looked_at_when_they_come_and_when_their_claim_is_there() -> None:
    server = Server()
    server.show(node("n1"), resource_slice("s1", devices(PODS), node="n1"))

    for number in range(PODS):
        server.create(f"p{number}")

    assert server.nodes == {"n1": PODS}
    assert set(server.looks.values()) == {2}


def test_pods_that_find_no_device_are_not_looked_at_for_the_claims_of_others() -> None:
    server = Server()
    server.show(node("n1"), resource_slice("s1", devices(PODS // 2), node="n1"))

    for number in range(PODS):
        server.create(f"p{number}")

    assert server.nodes == {"n1": PODS // 2}
    assert set(server.looks.values()) == {2}


def test_pods_that_nodes_are_made_for_are_looked_at_again_for_their_own_nodes_only() -> None:
    server = Server(makes_nodes=True)
    server.show(node_pool(), instance_type(cpu=64, gpus=8))
    for number in range(PODS):
        server.create(f"p{number}")
    while (seconds := pause(server.core, server.now)) < 30:
        server.now += seconds
        server.settle()

    for order in server.orders:
        server.come_up(order)

    assert sum(server.nodes.values()) == PODS
    # That its claim is missing, that no node takes it, the same when it is planned for, and its node.
    assert server.reporter.decisions <= 5 * PODS
