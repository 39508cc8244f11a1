"""How often a pod is looked at while others come and go: as often as something happened that could help it."""

from collections import Counter

import msgspec

from dra_operating.supply import instance_type, node_pool
from dra_operator.cycle import Changed, Lead, Ordered, Removed, SchedulerCore, Written
from dra_operator.metrics import REGISTRY
from dra_operator.provisioning import Order, PlanSettings, Provisioner
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome
from dra_scheduling.testing import (
    claim,
    devices,
    driver_class,
    node,
    request,
    reserved_for,
    resource_slice,
    templated_pod,
)
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
        self.orders: list[Order] = []
        self.cluster = Cluster()
        provisioner = Provisioner(self.cluster, PlanSettings(), lambda: 0.0) if makes_nodes else None
        self.core = SchedulerCore(self.cluster, SchedulingQueue(), cycle_pods=100, provisioner=provisioner)
        self.core.take_in(Lead(is_leading=True), self.now)
        self.show(driver_class())

    def show(self, *values: KubernetesObject) -> None:
        for value in values:
            self.core.take_in(Changed(value), self.now)
            self.settle()

    def settle(self) -> None:
        """Let everything be decided that can be, and carried out."""
        while not self.core.pause(self.now):
            plans = self.core.decide(self.now)
            self.looks.update(one.pod.metadata.name for one in plans.outcomes)
            for outcome in plans.outcomes:
                self.carry_out(outcome)
            for order in plans.orders:
                self.write(order)

    def carry_out(self, outcome: Outcome | Nominated) -> None:
        if not isinstance(outcome, Assignment):
            return
        pod = outcome.pod
        self.nodes[outcome.node] += 1
        self.core.take_in(Written(pod.metadata.uid), self.now)
        made = bind_request(outcome)
        self.core.take_in(Changed(made), self.now)
        for key, given in zip(outcome.claim_keys, outcome.claims, strict=True):
            known = self.cluster.claims.get(key)
            assert known is not None
            status = msgspec.structs.replace(
                known.status, allocation=given.allocation, reserved_for=(reserved_for(pod),)
            )
            self.core.take_in(Changed(msgspec.structs.replace(known, status=status)), self.now)
        bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=outcome.node))
        self.core.take_in(Changed(bound), self.now)
        self.core.take_in(Removed(made), self.now)

    def write(self, order: Order) -> None:
        self.orders.append(order)
        self.core.take_in(Changed(order.claim), self.now)
        self.core.take_in(Ordered(order.claim.name, is_written=True), self.now)

    def create(self, name: str) -> None:
        """A pod, then the claim that is made for it, then its name in the pod."""
        without, named = (templated_pod(name, claims={"gpu": made}) for made in (None, f"{name}-gpu"))
        self.show(without, claim(f"{name}-gpu", request(), owner=without), named)
        self.now += APART

    def come_up(self, order: Order) -> None:
        """The node that was ordered, bit by bit."""
        known = self.cluster.inventory.claims[order.claim.name]
        status = msgspec.structs.replace(known.status, node_name=known.name)
        self.show(msgspec.structs.replace(known, status=status))
        labels = {"karpenter.sh/nodepool": "general"}
        self.show(node(known.name, labels=labels), resource_slice(known.name, devices(8), node=known.name))
        self.show(node(known.name, labels={**labels, "karpenter.sh/initialized": "true"}))


def decisions() -> float:
    """All decisions about pods in this process so far, those that nobody is told of included."""
    kinds = ("assignment", "nominated", "unschedulable", "waiting", "outofbudget")
    return sum(REGISTRY.get_sample_value("dra_outcomes_total", {"outcome": kind}) or 0.0 for kind in kinds)


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
    server, before = Server(makes_nodes=True), decisions()
    server.show(node_pool(), instance_type(cpu=64, gpus=8))
    for number in range(PODS):
        server.create(f"p{number}")
    while (pause := server.core.pause(server.now)) < 30:
        server.now += pause
        server.settle()

    for order in server.orders:
        server.come_up(order)

    assert sum(server.nodes.values()) == PODS
    # That its claim is missing, that no node takes it, the same when it is planned for, and its node.
    assert decisions() - before <= 5 * PODS
