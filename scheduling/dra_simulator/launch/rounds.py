"""Scheduling and planning in turns, as the operator does both; where nodes come up, until nothing changes any more."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from dra_scheduling.basics.reasons import told_once
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import in_turn, schedule
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import Nomination, PlanOptions, is_in_flight, keeper_of, provision
from dra_scheduling.state.assignments import Assignment, Outcome, OutOfBudget, Unschedulable
from dra_simulator.launch.made_up_provider import Arrival, Provider
from dra_simulator.launch.terminating_pods import let_go

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


class Rounds:
    """The outcomes so far, by pod, and what was made for them."""

    __slots__ = ("_cluster", "_made", "_now", "_tries", "_watchers", "arrived", "nominations", "outcomes", "steps")

    def __init__(self, cluster: Cluster, watchers: Sequence[Watcher], now: str) -> None:
        self._cluster = cluster
        self._watchers = watchers
        self._now = now
        self._made: dict[str, None] = {}
        self._tries: Counter[str] = Counter()
        self.outcomes: dict[ObjectKey, Outcome] = {}
        self.nominations: dict[ObjectKey, Nomination] = {}
        self.arrived: list[Arrival] = []
        self.steps = 0

    @property
    def node_claims(self) -> tuple[NodeClaim, ...]:
        """The NodeClaims that were made, extended or brought up, by name."""
        claims = self._cluster.inventory.claims
        return tuple(claims[name] for name in sorted(self._made))

    def run(self) -> None:
        """Schedule all pending pods, and plan nodes for those that no node takes."""
        self._schedule()
        self._plan()

    def launch(self, provider: Provider) -> bool:
        """Let NodeClaims on their way come up, and pods being deleted be gone; return whether there were any."""
        coming = [
            claim for _, claim in sorted(self._cluster.inventory.claims.items()) if is_in_flight(self._cluster, claim)
        ]
        found = [(claim, provider.arrivals(claim)) for claim in coming]
        for claim, arrivals in found:
            if not arrivals:
                continue
            self._made[claim.name] = None
            self._tries.update(nominee.uid for nominee in nominees_of(claim))
            self.arrived += arrivals
            for value in arrivals:
                self._cluster.apply(value)
            self._start(value for value in arrivals if isinstance(value, Pod) and not value.spec.node_name)
        has_room = let_go(self._cluster)
        return has_room or any(arrivals for _, arrivals in found)

    def _start(self, daemons: Iterable[Pod]) -> None:
        """Give pods of DaemonSets their devices before any other pod, whoever schedules them."""
        for pod in daemons:
            ours = replace(pod, spec=replace(pod.spec, scheduler_name=self._cluster.scheduler_name))
            self._cluster.apply(ours)
            result = schedule(self._cluster, [ours])
            self.steps += result.search_steps
            if not any(isinstance(outcome, Assignment) for outcome in result.outcomes):
                self._cluster.apply(pod)

    def _schedule(self) -> None:
        for pod in in_turn(self._cluster, self._cluster.pending()):
            for watcher in self._watchers:
                watcher.before(self._cluster, pod)
            result = schedule(self._cluster, [pod])
            self.outcomes[pod.key] = result.outcomes[0]
            for watcher in self._watchers:
                watcher.after(result.outcomes[0])
            self.steps += result.search_steps

    def _plan(self) -> None:
        self.nominations.clear()
        asking = tuple(self._asking())
        for watcher in self._watchers:
            watcher.planning(self._cluster, asking, self._now)
        result = provision(self._cluster, asking, PlanOptions(now=self._now))
        self.steps += result.search_steps
        self._made.update(dict.fromkeys(claim.name for claim in (*result.created, *result.extended)))
        self.nominations = {one.pod.key: one for one in result.nominations}
        for watcher in self._watchers:
            watcher.planned(result.nominations)
        self._tell(result.refused)

    def _asking(self) -> Iterator[Pod]:
        """Yield the pods that a new node could help, in scheduling order."""
        has_pools = bool(self._cluster.inventory.pools)
        for pod in self._cluster.pending():
            outcome = self.outcomes[pod.key]
            if isinstance(outcome, Unschedulable) and all(reason.nodes for reason in outcome.reasons):
                may_ask = has_pools and self._tries[pod.metadata.uid] < MOST_NODES_A_POD
                if may_ask or keeper_of(self._cluster, pod) is not None:
                    yield pod

    def _tell(self, refused: Iterable[Unschedulable | OutOfBudget]) -> None:
        for one in refused:
            before = self.outcomes[one.pod.key]
            if isinstance(before, Unschedulable):
                reasons = (*before.reasons, *one.reasons)
                self.outcomes[one.pod.key] = replace(
                    before,
                    message=told_once(f"{before.message}; {one.message}", reasons),
                    reasons=reasons,
                    wake=before.wake | one.wake,
                )
