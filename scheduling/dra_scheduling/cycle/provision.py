"""The part of the loop that has nodes made: gathers the pods that no node takes, and plans NodeClaims for them.

A pod is planned for once nothing more has joined the batch for a moment, since pods that come together go together. At
most one plan is being written at any time: the next one starts from what the API server made of it.
"""

from collections.abc import Generator, Sequence

import msgspec

from dra_scheduling.allocation.allocation_refusals import OUT_OF_BUDGET
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.basics.times import time_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import may_be_helped
from dra_scheduling.cycle.decisions import Decisions, NodeClaimOrder, PodCondition
from dra_scheduling.cycle.messages import combine, nominated_to_node, nominated_to_nodeclaim, plan_failed, plan_only
from dra_scheduling.cycle.nodeclaim_tracker import NodeClaimTracker, TrackerState
from dra_scheduling.cycle.plan_batch import BatchState, PlanBatch, PlanRefused, PlanSettings
from dra_scheduling.cycle.reporter import CycleReporter, Phase
from dra_scheduling.cycle.terminating_pods import TerminatingPods, TerminatingState
from dra_scheduling.cycle.timers import BackoffTimers, SearchDeadlines
from dra_scheduling.model.base import Value
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.provisioning import (
    Nomination,
    PlanOptions,
    ProvisioningResult,
    keeper_of,
    plan_in_steps,
)
from dra_scheduling.provisioning.foreign_taints import NODE_TAINTED, tainted_nodes
from dra_scheduling.state.assignments import Nominated, Outcome, Unschedulable
from dra_scheduling.wire import KubernetesObject

PLAN_LIMIT_SECONDS = 10.0
REMEMBERED_SECONDS = 60.0
# While nodes come up something changes all the time, and each plan looks at all pods that no node could help.
REPLAN_SECONDS = 5.0
# A pod that hangs while it ends may do so for ever.
OVERDUE_SECONDS = 60.0
OUTDATED = (-1, -1)


class KeptRefusal(Value, frozen=True, kw_only=True):
    """What a plan held against a pod; with `is_current` nothing has changed since that could help the pod."""

    refused: PlanRefused
    is_current: bool
    since: float


class ProvisionState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot."""

    batch: BatchState = BatchState()
    tracker: TrackerState = TrackerState()
    terminating: TerminatingState = TerminatingState()
    backoff: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    refusals: dict[str, KeptRefusal] = msgspec.field(default_factory=dict)
    waiting_for_node: tuple[str, ...] = ()
    orders: tuple[NodeClaimOrder, ...] = ()


class _Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan held against a pod; it holds until supply changes, and for a while only."""

    refused: PlanRefused
    revision: tuple[int, int]
    since: float


class Provisioner:
    """Plans for the pods of a cluster; everything it knows besides the cluster is in its `state`."""

    def __init__(
        self,
        cluster: Cluster,
        settings: PlanSettings,
        *,
        deadlines: SearchDeadlines,
        reporter: CycleReporter,
        state: ProvisionState | None = None,
    ) -> None:
        known = ProvisionState() if state is None else state
        self._cluster = cluster
        self._settings = settings
        self._deadlines = deadlines
        self._reporter = reporter
        self._batch = PlanBatch(settings, known.batch)
        self._tracker = NodeClaimTracker(cluster, known.tracker)
        self._terminating = TerminatingPods(known.terminating)
        self._backoff = BackoffTimers(known.backoff)
        self._revision = 0
        self._refusals = {uid: self._restored(kept) for uid, kept in known.refusals.items()}
        self._waiting_for_node = dict.fromkeys(known.waiting_for_node)
        self._orders = {order.claim.name: order for order in known.orders}

    @property
    def state(self) -> ProvisionState:
        """The state from which another one can be made, on a cluster with the same content."""
        return ProvisionState(
            batch=self._batch.state,
            tracker=self._tracker.state,
            terminating=self._terminating.state,
            backoff=self._backoff.state,
            refusals={
                uid: KeptRefusal(refused=one.refused, is_current=self._is_current(one), since=one.since)
                for uid, one in self._refusals.items()
            },
            waiting_for_node=tuple(self._waiting_for_node),
            orders=tuple(self._orders.values()),
        )

    @property
    def depth(self) -> int:
        """How many pods are to be planned for."""
        return len(self._batch)

    def changed(self, value: KubernetesObject, change: ClusterEvent, now: float) -> tuple[str, ...]:
        """Take note of an object that the cluster took in; return the NodeClaims that nobody need wait for any more."""
        if change & (ClusterEvent.SUPPLY | ClusterEvent.CLASSES):
            self._revision += 1
        names: tuple[str, ...] = ()
        match value:
            case NodeClaim():
                names = (value.name,)
                if not self._settings.is_trial:
                    self._tracker.doubt(value)
            case InstanceType():
                self._backoff.changed(value.name, self._cluster.inventory.instance_type(value.name), now)
            case Node():
                names = self._cluster.inventory.claims_of_node(value)
            case _:
                pass
        over = tuple(name for name in names if self._tracker.is_over(name))
        for refused in (one for name in over for one in self._tracker.end(name, now)):
            self._refusals[refused.pod.metadata.uid] = _Refusal(refused=refused, revision=OUTDATED, since=0.0)
        return over

    def backoff_ended(self, now: float) -> ClusterEvent:
        """Take note of the time; return whom it could help that instance types may be tried again."""
        if not self._backoff.take(now):
            return ClusterEvent.NOTHING
        self._revision += 1
        return ClusterEvent.SUPPLY

    def terminates(self, pod: Pod) -> None:
        """Take note that a pod on a node is being deleted from now on."""
        if self._refusals:
            self._terminating.add(pod)

    def forget(self, uid: str) -> None:
        """Forget a pod that is placed, or gone."""
        self._tracker.forget(uid)
        self._drop(uid)

    def _drop(self, uid: str) -> None:
        self._batch.drop(uid)
        self._tracker.arriving.pop(uid, None)
        self._refusals.pop(uid, None)
        self._waiting_for_node.pop(uid, None)

    def consider(self, outcome: Outcome, now: float) -> Outcome | Nominated | None:
        """Return what the pod is to be told, or None for a pod that is going to be planned for first."""
        uid = outcome.pod.metadata.uid
        if not isinstance(outcome, Unschedulable) or not is_for_nodes(outcome):
            self.forget(uid)
            return outcome
        keeper = keeper_of(self._cluster, outcome.pod)
        if keeper is not None:
            self._drop(uid)
            return nominated_to_nodeclaim(outcome.pod, keeper)
        if not self._cluster.inventory.pools:
            # A pod may be seen before the NodePool that was there before it.
            return msgspec.structs.replace(outcome, wake=outcome.wake | ClusterEvent.SUPPLY)
        known = self._refusals.get(uid)
        if known is not None and self._is_current(known) and now < known.since + REMEMBERED_SECONDS:
            return combine(outcome, known.refused)
        replan = known.since + REPLAN_SECONDS if known is not None else 0.0
        until = max(self._tracker.arriving.get(uid, 0.0), replan)
        if until > now:
            self._batch.postpone(uid, until, outcome)
        else:
            self._batch.gather(uid, outcome, now)
        return None if known is None else combine(outcome, known.refused)

    def begin(self) -> None:
        """Look at all NodeClaims: another replica may have planned for the same pods, and pods may be seen last."""
        if not self._settings.is_trial:
            for claim in self._cluster.inventory.claims.values():
                self._tracker.doubt(claim)

    @property
    def has_doubtful(self) -> bool:
        """Whether there are NodeClaims that nobody may need."""
        return self._tracker.has_doubtful

    def take_doubles(self) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims that were made for pods which wait for older ones, each once."""
        return self._tracker.take_doubles()

    def next_time(self) -> float | None:
        """Return when the next plan is due; None while there is nothing to plan, or the last one is being written."""
        if self._orders:
            return None
        times = (self._batch.next_time(), self._terminating.next_time(), self._backoff.next_time())
        return min((when for when in times if when is not None), default=None)

    def is_due(self, now: float) -> bool:
        """Whether a plan is to be made now."""
        for uid in self._batch.advance(now):
            self._tracker.arriving.pop(uid, None)
        self._gather_helped(now)
        when = self.next_time()
        return not self._batch.is_empty and when is not None and when <= now

    def take(self, now: float) -> tuple[str, ...]:
        """Return the uids of the pods whose turn it is, the most important first; the rest follows at once.

        Pods that wait for others to leave a node are among them again: no object says that they are to have it.
        """
        together = dict.fromkeys((*self._batch.take(now), *self._waiting_for_node))
        taken = tuple(together)[: self._settings.most_pods]
        for uid in taken:
            self._waiting_for_node.pop(uid, None)
            self._batch.drop_postponed(uid)
        return taken

    def plan(self, refused: Sequence[Unschedulable], now: float) -> Generator[int, None, Decisions]:
        """Yield the steps of planning for pods that no node takes; return what is to become of the pods.

        NodeClaims count as being written until `written` or `not_written` is called for each.
        """
        of_nodes = {one.pod.metadata.uid: one for one in refused}
        results = yield from self._plans([one.pod for one in refused], now)
        claims: dict[str, NodeClaim] = {}
        for result in results:
            claims |= {claim.name: claim for claim in (*result.created, *result.extended)}
        waiting: dict[str, list[Nominated]] = {name: [] for name in claims}
        conditions: list[PodCondition] = []
        for nomination in (one for result in results for one in result.nominations):
            claim = claims.get(nomination.node_claim)
            if claim is not None and not self._settings.is_trial:
                waiting[claim.name].append(nominated_to_nodeclaim(nomination.pod, claim))
            else:
                conditions.append(self._condition(nomination, claim, of_nodes[nomination.pod.metadata.uid], now))
        refusals = (one for result in results for one in result.refused)
        conditions += [self._keep(of_nodes[one.pod.metadata.uid], one, now) for one in refusals]
        if not self._settings.is_trial:
            made = {claim.name for result in results for claim in result.created}
            self._orders = {
                name: NodeClaimOrder(claim=claim, is_new=name in made, nominated=tuple(waiting[name]))
                for name, claim in claims.items()
            }
        return Decisions(conditions=tuple(conditions), node_claims=tuple(self._orders.values()))

    def written(self, name: str) -> int:
        """Take note that a NodeClaim is in the API; return for how many pods it was created or extended."""
        order = self._orders.pop(name, None)
        return 0 if order is None else len(order.nominated)

    def not_written(self, name: str) -> tuple[tuple[Pod, ...], ClusterEvent]:
        """Take an order back; return the pods that have no node now, and whom else that could help."""
        order = self._orders.pop(name, None)
        if order is None:
            return (), ClusterEvent.NOTHING
        self._revision += 1
        return tuple(one.pod for one in order.nominated), self._cluster.inventory.forget(name)

    def _restored(self, kept: KeptRefusal) -> _Refusal:
        revision = self._revision_for(kept.refused) if kept.is_current else OUTDATED
        return _Refusal(refused=kept.refused, revision=revision, since=kept.since)

    def _is_current(self, refusal: _Refusal) -> bool:
        return refusal.revision == self._revision_for(refusal.refused)

    def _revision_for(self, refused: PlanRefused) -> tuple[int, int]:
        """Return what changes with the supply of the pod: devices that many nodes reach are there for new ones, too."""
        has_to_do = refused.wake & (ClusterEvent.DEVICES | ClusterEvent.SLICES)
        return self._revision, self._cluster.changes.upheavals if has_to_do else 0

    def _gather_helped(self, now: float) -> None:
        """Plan again for pods that were refused before others began to leave the nodes that they could use."""
        changes = self._terminating.take(now)
        if not changes:
            return
        # What is out of date already is planned for when its time has come.
        current = [(uid, one.refused) for uid, one in self._refusals.items() if self._is_current(one)]
        for uid, refused in current:
            if may_be_helped(self._cluster, refused.pod, changes):
                del self._refusals[uid]
                self._batch.gather(uid, refused, now)

    def _plans(self, pods: Sequence[Pod], now: float) -> Generator[int, None, tuple[ProvisioningResult, ...]]:
        if not pods:
            return ()
        options = PlanOptions(
            now=_moment(now),
            overdue=_moment(now - OVERDUE_SECONDS),
            gate_seconds=self._settings.gate_seconds,
            budget=SearchBudget(is_late=self._deadlines.start(PLAN_LIMIT_SECONDS)),
        )
        self._reporter.planning(pods, options.now)
        try:
            result = yield from self._plan_once(pods, options)
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns these pods alone
            self._reporter.failed(Phase.PLAN, error, pods)
            if len(pods) == 1:
                return (ProvisioningResult(refused=(plan_failed(pods[0]),)),)
            half = len(pods) // 2
            first = yield from self._plans(pods[:half], now)
            second = yield from self._plans(pods[half:], now)
            return (*first, *second)
        self._reporter.planned(result)
        return (result,)

    def _plan_once(self, pods: Sequence[Pod], options: PlanOptions) -> Generator[int, None, ProvisioningResult]:
        result = yield from plan_in_steps(self._cluster, pods, options)
        if not self._settings.is_trial:
            for claim in (*result.created, *result.extended):
                self._cluster.inventory.assume(claim)
        return result

    def _condition(
        self, nomination: Nomination, planned: NodeClaim | None, refused: Unschedulable, now: float
    ) -> PodCondition:
        """Return what a pod is told for which nothing is to be written: its host is there, or planned as a trial."""
        if planned is not None:
            return self._keep(refused, plan_only(nomination.pod, planned), now)
        claim = self._cluster.inventory.claims.get(nomination.node_claim)
        if claim is not None:
            return nominated_to_nodeclaim(nomination.pod, claim)
        uid = nomination.pod.metadata.uid
        self._waiting_for_node[uid] = None
        self._batch.postpone(uid, now + OVERDUE_SECONDS, refused)
        return nominated_to_node(nomination.pod, nomination.node)

    def _keep(self, outcome: Unschedulable, refused: PlanRefused, now: float) -> Unschedulable:
        uid = outcome.pod.metadata.uid
        self._refusals[uid] = _Refusal(refused=refused, revision=self._revision_for(refused), since=now)
        if any(one.reason == OUT_OF_BUDGET for one in refused.reasons):
            # Nothing is proved, and nothing has to change for another answer.
            self._batch.postpone(uid, now + REMEMBERED_SECONDS, outcome)
        if any(one.reason == NODE_TAINTED for one in refused.reasons):
            nodes = tainted_nodes(self._cluster, outcome.pod, self._settings.gate_seconds)
            self._batch.postpone(uid, min((one.until for one in nodes if one.until > now), default=now), outcome)
        return combine(outcome, refused)


def is_for_nodes(outcome: Unschedulable) -> bool:
    """Whether it is the nodes that refuse the pod, and not something that holds whatever nodes there are."""
    return all(reason.nodes for reason in outcome.reasons)


def _moment(now: float) -> str:
    return time_of(now // 1)
