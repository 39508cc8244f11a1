"""Drives the scheduling loop over files: plays the API server, and where nodes come up providers, kubelets and drivers.

The loop is the operator's. Its writes succeed at once, and time jumps to whenever it has something to do next. While
nodes are only planned, it stops at the moment that was asked for; where they come up, when nothing changes any more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from dra_scheduling.basics.features import Features
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.cycle.decisions import Decisions, PodCondition
from dra_scheduling.cycle.events import (
    BindRequestWrite,
    LeadershipChanged,
    NodeClaimWrite,
    ObjectChanged,
    ObjectRemoved,
    WriteResult,
)
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.reporter import SilentReporter
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.fit.score_profiles import PACK
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import Nomination, ProvisioningResult, is_in_flight
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome
from dra_scheduling.wire import KubernetesObject
from dra_simulator.launch.made_up_provider import Arrival, Provider
from dra_simulator.launch.terminating_pods import endings

PLANS = PlanSettings(idle_seconds=0.5)
"""Files hold everything at once, so a batch is closed before any pod is tried for the second time."""
COOLDOWN_SECONDS = 30.0
"""The operator's default (`DRA_COOLDOWN_SECONDS`)."""
HORIZON_SECONDS = ARRIVAL_SECONDS + 1.0
"""So long after the last change time goes on where nodes come up: what is found later needs another change."""
MOST_IDLE_CALLS = 1_000
"""After so many calls without a decision, besides those that the number of pods explains, it ends in any case."""
MOST_NODES_A_POD = 2
"""So many nodes come up for a pod. One that none of them takes is not what its plan took it for."""


class Watcher(Protocol):
    """Is shown each pod as it is decided."""

    def before(self, cluster: Cluster, pod: Pod) -> None:
        """The pod is the next one, and this is the cluster as it is then."""

    def after(self, outcome: Outcome) -> None:
        """This became of the pod."""

    def planning(self, cluster: Cluster, pods: Sequence[Pod], now: str) -> None:
        """Nodes are going to be planned for these pods at this moment, and this is the cluster as it is then."""

    def planned(self, nominations: Sequence[Nomination]) -> None:
        """These pods have a node to come."""


class _Reporter(SilentReporter):
    """Passes on to watchers what the loop does, and counts search steps."""

    def __init__(self, watchers: Sequence[Watcher], now: str) -> None:
        self.cluster = Cluster()
        self.steps = 0
        self._watchers = watchers
        self._now = now
        self._planned: frozenset[str] = frozenset()

    def allocating(self, pod: Pod) -> None:
        for watcher in self._watchers:
            watcher.before(self.cluster, pod)

    def allocated(self, outcome: Outcome, steps: int) -> None:
        self.steps += steps
        for watcher in self._watchers:
            watcher.after(outcome)

    def planning(self, pods: Sequence[Pod], now: str) -> None:
        self._planned = frozenset(pod.metadata.uid for pod in pods)
        for watcher in self._watchers:
            watcher.planning(self.cluster, pods, now)

    def planned(self, result: ProvisioningResult) -> None:
        self.steps += result.search_steps
        for watcher in self._watchers:
            watcher.planned(result.nominations)

    def decided(self, outcome: Outcome | Nominated) -> None:
        # Who has a NodeClaim from an earlier plan is not planned for.
        if isinstance(outcome, Nominated) and outcome.pod.metadata.uid not in self._planned:
            for watcher in self._watchers:
                watcher.planning(self.cluster, (outcome.pod,), self._now)
                watcher.planned((nomination_of(outcome),))

    def failed(self, phase: object, error: Exception, pods: Sequence[Pod]) -> None:  # noqa: ARG002  the protocol's
        # Nobody reads a log here, and a defect is not to look like an answer.
        raise error

    def not_observed(self, event: object, error: Exception) -> None:  # noqa: ARG002  the protocol's
        raise error


class PlayedCluster:
    """The objects of some files with a scheduling loop, and what it has decided so far, by pod.

    `now` (RFC 3339) is the moment at which nodes are planned: the batch of all pods that are there is closed then.
    """

    def __init__(
        self,
        objects: Iterable[KubernetesObject],
        features: Features,
        watchers: Sequence[Watcher],
        now: str,
        profile: str = PACK.name,
    ) -> None:
        self._reporter = _Reporter(watchers, now)
        settings = SchedulerSettings(features=features, cooldown_seconds=COOLDOWN_SECONDS, profile=profile, plan=PLANS)
        self._scheduler = Scheduler(settings, reporter=self._reporter)
        self._reporter.cluster = self.cluster = self._scheduler.cluster
        self._time = max(seconds_of(now) - PLANS.idle_seconds, 0.0)
        for value in objects:
            self._show(value)
        self._scheduler.observe(LeadershipChanged(is_leading=True), self._time)
        self._made: dict[str, None] = {}
        self._tries: Counter[str] = Counter()
        self._daemon_steps = 0
        self.outcomes: dict[ObjectKey, Assignment | PodCondition] = {}
        self.arrived: list[Arrival] = []

    @property
    def node_claims(self) -> tuple[NodeClaim, ...]:
        """The NodeClaims that were made, extended or brought up, by name."""
        claims = self.cluster.inventory.claims
        return tuple(claims[name] for name in sorted(self._made) if name in claims)

    @property
    def steps(self) -> int:
        """The search steps so far."""
        return self._reporter.steps + self._daemon_steps

    def run(self, horizon: float = PLANS.idle_seconds) -> None:
        """Let the loop decide until nothing has changed for so many seconds."""
        end, idle = self._time + horizon, 0
        most = MOST_IDLE_CALLS + len(self.cluster.placements.pods)
        while idle <= most and (when := self._scheduler.next_time()) is not None and when <= end:
            self._time = max(self._time, when)
            is_new = self._carry_out(self._scheduler.decide(self._time))
            idle = 0 if is_new else idle + 1
            if is_new and horizon > PLANS.idle_seconds:
                end = self._time + horizon

    def launch(self, provider: Provider) -> bool:
        """Let NodeClaims on their way come up, and pods being deleted be gone; return whether there were any."""
        coming = [claim for _, claim in sorted(self.cluster.inventory.claims.items()) if self._may_come_up(claim)]
        found = [(claim, provider.arrivals(claim)) for claim in coming]
        for claim, arrivals in found:
            if not arrivals:
                continue
            self._made[claim.name] = None
            self._tries.update(nominee.uid for nominee in nominees_of(claim))
            self.arrived += arrivals
            daemons = [value for value in arrivals if isinstance(value, Pod) and not value.spec.node_name]
            for value in arrivals:
                if value not in daemons:
                    self._show(value)
            self._start(daemons)
        ended = endings(self.cluster)
        for event in ended:
            self._scheduler.observe(event, self._time)
        return bool(ended) or any(arrivals for _, arrivals in found)

    def _may_come_up(self, claim: NodeClaim) -> bool:
        nominees = nominees_of(claim)
        is_vain = bool(nominees) and all(self._tries[one.uid] >= MOST_NODES_A_POD for one in nominees)
        return is_in_flight(self.cluster, claim) and not is_vain

    def _show(self, value: KubernetesObject) -> None:
        self._scheduler.observe(ObjectChanged(value), self._time)

    def _start(self, daemons: Iterable[Pod]) -> None:
        """Give pods of DaemonSets their devices before any other pod, whoever schedules them."""
        for pod in daemons:
            ours = replace(pod, spec=replace(pod.spec, scheduler_name=self.cluster.scheduler_name))
            self.cluster.apply(ours)
            result = schedule(self.cluster, [ours])
            self._daemon_steps += result.search_steps
            if not any(isinstance(outcome, Assignment) for outcome in result.outcomes):
                self._show(pod)

    def _carry_out(self, decisions: Decisions) -> bool:
        """Write the decisions down; return whether any of them is new."""
        told = (*decisions.outcomes, *(one for order in decisions.node_claims for one in order.nominated))
        is_new = any(self.outcomes.get(one.pod.key) != one for one in told) or bool(decisions.withdrawn)
        self.outcomes |= {one.pod.key: one for one in told}
        for assignment in decisions.assignments:
            pod = assignment.pod
            self._scheduler.observe(BindRequestWrite(pod.key, pod.metadata.uid, WriteResult.DONE), self._time)
        for order in decisions.node_claims:
            self._made[order.claim.name] = None
            self._scheduler.observe(NodeClaimWrite(order.claim.name, WriteResult.DONE), self._time)
        for claim in decisions.withdrawn:
            self._scheduler.observe(ObjectRemoved(claim), self._time)
        return is_new


def nomination_of(outcome: Nominated) -> Nomination:
    """Return which host a pod waits for."""
    return Nomination(pod=outcome.pod, node_claim=outcome.node_claim, node=outcome.node)
