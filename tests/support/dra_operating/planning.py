"""A scheduling loop that has nodes made, and what tests ask of its plans."""

import msgspec

from dra_builders.values import node
from dra_operating.core import CountingReporter, ToldCore
from dra_operating.supply import cpu_pod
from dra_scheduling.cycle.decisions import BindGroup, Decisions, NodeClaimOrder, PodCondition
from dra_scheduling.cycle.events import NodeClaimWrite, WriteResult
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.cycle.timers import NO_DEADLINES, SearchDeadlines
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus

POOL_LABEL = {"karpenter.sh/nodepool": "general"}


class World(ToldCore):
    """A scheduling loop that may have nodes made; a test plays the API server."""

    def __init__(
        self,
        *,
        most_pods: int = 2_000,
        is_trial: bool = False,
        deadlines: SearchDeadlines = NO_DEADLINES,
    ) -> None:
        self.reporter = CountingReporter()
        settings = SchedulerSettings(cycle_pods=1_000, plan=PlanSettings(most_pods=most_pods, is_trial=is_trial))
        super().__init__(Scheduler(settings, deadlines=deadlines, reporter=self.reporter), now=1_767_225_600.0)
        self.cluster = self.scheduler.cluster

    def decide(self) -> Decisions:
        return self.scheduler.decide(self.now)

    def rest(self) -> Decisions:
        """Everything that is decided until nothing is left to do, with no time passing but that of batches."""
        groups, conditions, orders = list[BindGroup](), list[PodCondition](), list[NodeClaimOrder]()
        for _ in range(100):
            pause = self.pause()
            if pause > ARRIVAL_SECONDS:
                break
            self.now += pause
            made = self.decide()
            groups += made.bind_groups
            conditions += made.conditions
            orders += made.node_claims
        return Decisions(bind_groups=tuple(groups), conditions=tuple(conditions), node_claims=tuple(orders))

    def settle(self, order: NodeClaimOrder, result: WriteResult = WriteResult.DONE) -> NodeClaim:
        """The server has taken the order, which the watch shows first; or it has not."""
        claim = order.claim
        if result is WriteResult.DONE:
            meta = msgspec.structs.replace(claim.metadata, uid=f"uid-{claim.name}", resource_version="1")
            claim = msgspec.structs.replace(claim, metadata=meta)
            self.add(claim)
        self.scheduler.observe(NodeClaimWrite(claim.name, result), self.now)
        return claim

    def nominate(self, *names: str) -> NodeClaim:
        """Pods that one NodeClaim is made for, which is in the API now."""
        self.add(*(cpu_pod(name) for name in names))
        (order,) = self.rest().node_claims
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


def names(decisions: Decisions, kind: type = object) -> list[str]:
    return sorted(one.pod.metadata.name for one in decisions.outcomes if isinstance(one, kind))


def said(decisions: Decisions) -> str:
    """What the one pod is told."""
    (outcome,) = decisions.outcomes
    return getattr(outcome, "message", "")


def pods_of(order: NodeClaimOrder) -> list[str]:
    return sorted(one.key.name for one in nominees_of(order.claim))
