"""A scheduler core that has nodes made, and what tests ask of its plans."""

from collections.abc import Callable

import msgspec

from dra_operating.core import ToldCore
from dra_operating.supply import cpu_pod
from dra_operator.cycle import Ordered, SchedulerCore
from dra_operator.provisioning import ARRIVAL_SECONDS, Order, Plans, PlanSettings, Provisioner
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.state.assignments import Nominated, Outcome
from dra_scheduling.testing import node

POOL_LABEL = {"karpenter.sh/nodepool": "general"}


class World(ToldCore):
    """A scheduler core that may have nodes made; a test plays the API server."""

    def __init__(
        self, *, most_pods: int = 2_000, is_trial: bool = False, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.cluster = Cluster()
        settings = PlanSettings(most_pods=most_pods, is_trial=is_trial)
        provisioner = Provisioner(self.cluster, settings, clock)
        core = SchedulerCore(self.cluster, SchedulingQueue(), cycle_pods=1_000, provisioner=provisioner)
        super().__init__(core, now=1_767_225_600.0)

    def decide(self) -> Plans:
        return self.core.decide(self.now)

    def rest(self) -> Plans:
        """Everything that is decided until nothing is left to do, with no time passing but that of batches."""
        outcomes: list[Outcome | Nominated] = []
        orders: list[Order] = []
        for _ in range(100):
            pause = self.core.pause(self.now)
            if pause > ARRIVAL_SECONDS:
                break
            self.now += pause
            plans = self.decide()
            outcomes += plans.outcomes
            orders += plans.orders
        return Plans(outcomes=tuple(outcomes), orders=tuple(orders))

    def settle(self, order: Order, *, is_written: bool = True) -> NodeClaim:
        """The server has taken the order, which the watch shows first; or it has not."""
        claim = order.claim
        if is_written:
            meta = msgspec.structs.replace(claim.metadata, uid=f"uid-{claim.name}", resource_version="1")
            claim = msgspec.structs.replace(claim, metadata=meta)
            self.add(claim)
        self.core.take_in(Ordered(claim.name, is_written), self.now)
        return claim

    def nominate(self, *names: str) -> NodeClaim:
        """Pods that one NodeClaim is made for, which is in the API now."""
        self.add(*(cpu_pod(name) for name in names))
        (order,) = self.rest().orders
        return self.settle(order)

    def show(self, claim: NodeClaim, **status: object) -> NodeClaim:
        """The NodeClaim with another status."""
        changed = msgspec.structs.replace(claim, status=NodeClaimStatus(**status))  # type: ignore[arg-type]
        self.add(changed)
        return changed

    def come_up(self, claim: NodeClaim, *, is_initialized: bool, cpu: str = "8") -> None:
        """The NodeClaim has a node."""
        labels = POOL_LABEL | ({"karpenter.sh/initialized": "true"} if is_initialized else {})
        self.show(claim, node_name=claim.name)
        self.add(node(claim.name, labels=labels, allocatable={"cpu": cpu}))


def names(plans: Plans, kind: type = object) -> list[str]:
    return sorted(one.pod.metadata.name for one in plans.outcomes if isinstance(one, kind))


def said(plans: Plans) -> str:
    """What the one pod is told."""
    (outcome,) = plans.outcomes
    return getattr(outcome, "message", "")


def pods_of(order: Order) -> list[str]:
    return sorted(one.key.name for one in nominees_of(order.claim))
