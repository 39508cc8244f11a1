"""The part of the scheduler's thread that has nodes made: gathers pods that no node takes, and plans for them.

A pod is planned for once nothing more has joined the batch for a moment, since pods that come together go together. At
most one plan is being written down at any time: the next one starts from what the API server made of it.
"""

import datetime as dt
import heapq
from collections.abc import Callable, Iterator, Sequence

import msgspec

from dra_operator.departures import Departures
from dra_operator.logs import log
from dra_operator.metrics import NOMINATED_PODS, PLAN_SECONDS
from dra_operator.rests import RestEnds
from dra_operator.tidings import both, lodged, nominated, not_launched, plan_failed, would_be
from dra_scheduling.allocation.allocation_refusals import OUT_OF_BUDGET
from dra_scheduling.allocation.search_budget import within
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import may_be_helped
from dra_scheduling.cycle.queue import backoff
from dra_scheduling.inventory import Nominee, nominees_of
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.provisioning import (
    Nomination,
    PlanOptions,
    ProvisioningResult,
    has_failed,
    is_double,
    is_in_flight,
    keeper_of,
    plan,
    provision,
    was_never_launched,
)
from dra_scheduling.state.assignments import Nominated, Outcome, OutOfBudget, Unschedulable
from dra_scheduling.wire import KubernetesObject

MOST_PODS = 2_000
"""So many pods go into one plan: no news is taken in meanwhile."""
PLAN_LIMIT_SECONDS = 10.0
REMEMBERED_SECONDS = 60.0
# While nodes come up something changes all the time, and each plan looks at all pods that no node could help.
REPLAN_SECONDS = 5.0
# That a node is initialized may be seen before what its drivers publish, or on its NodeClaim before the node itself:
# so long its pods wait for that before another node is made.
ARRIVAL_SECONDS = 10.0
# A pod that hangs while it ends may do so for ever.
OVERDUE_SECONDS = 60.0
OUTDATED = (-1, -1)

_log = log("provisioning")


class PlanSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How plans are made. `is_trial`: pods are told what would be made, and nothing is."""

    idle_seconds: float = 1.0
    max_seconds: float = 10.0
    most_pods: int = MOST_PODS
    is_trial: bool = False


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A NodeClaim to be created, or with `is_new` false to be extended, and the pods that then wait for it."""

    claim: NodeClaim
    is_new: bool
    nominated: tuple[Nominated, ...]


class Plans(msgspec.Struct, frozen=True, kw_only=True):
    """What plans end in: outcomes to be told at once, and orders. `doubles` are NodeClaims to be taken back."""

    outcomes: tuple[Outcome | Nominated, ...] = ()
    orders: tuple[Order, ...] = ()
    doubles: tuple[NodeClaim, ...] = ()


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan said of a pod that it could not help; it holds until supply changes, and for a while only."""

    refused: Unschedulable | OutOfBudget
    revision: tuple[int, int]
    since: float


class Provisioner:
    """Works on the cluster of the thread that calls it. `clock` is any clock of seconds that never goes back."""

    def __init__(self, cluster: Cluster, settings: PlanSettings, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._settings = settings
        self._clock = clock
        self._batch: dict[str, Unschedulable | OutOfBudget] = {}
        self._first = self._last = 0.0
        self._over: set[str] = set()
        self._arriving: dict[str, float] = {}
        # What a provider cannot launch it may refuse for hours, while its types go on saying that they are to be had.
        self._unlaunched: dict[str, int] = {}
        self._late: dict[str, Unschedulable] = {}
        self._departures = Departures()
        self._rests = RestEnds()
        self._doubtful: dict[str, None] = {}
        self._timers: list[tuple[float, str]] = []
        self._said: dict[str, _Said] = {}
        self._lodged: dict[str, None] = {}
        self._revision = 0
        self._orders: dict[str, Order] = {}

    @property
    def depth(self) -> int:
        """How many pods are to be planned for."""
        return len(self._batch) + len(self._late)

    def noticed(self, value: KubernetesObject, change: ClusterEvent, now: float) -> tuple[str, ...]:
        """Take note of an object that the cluster took in; return the NodeClaims that nobody need wait for any more."""
        if change & (ClusterEvent.SUPPLY | ClusterEvent.CLASSES):
            self._revision += 1
        match value:
            case NodeClaim():
                names: tuple[str, ...] = (value.name,)
                if not self._settings.is_trial and is_double(self._cluster, value):
                    self._doubtful[value.name] = None
            case InstanceType():
                names = ()
                self._rests.noticed(value.name, self._cluster.inventory.instance_type(value.name), now)
            case Node():
                names = self._cluster.inventory.claims_of_node(value)
            case _:
                names = ()
        return tuple(name for name in names if self._is_over(name, now))

    def rested(self, now: float) -> ClusterEvent:
        """Take note of the time; return whom it could help that instance types may be tried again."""
        if not self._rests.take(now):
            return ClusterEvent.NOTHING
        self._revision += 1
        return ClusterEvent.SUPPLY

    def leaves(self, pod: Pod) -> None:
        """Take note that a pod on a node is being deleted from now on."""
        if self._said:
            self._departures.begun(pod)

    def forget(self, uid: str) -> None:
        """Let go of a pod that is placed, or gone."""
        self._unlaunched.pop(uid, None)
        self._let_go(uid)

    def _let_go(self, uid: str) -> None:
        self._batch.pop(uid, None)
        self._late.pop(uid, None)
        self._arriving.pop(uid, None)
        self._said.pop(uid, None)
        self._lodged.pop(uid, None)

    def consider(self, outcome: Outcome, now: float) -> Outcome | Nominated | None:
        """Return what the pod is to be told, or None for a pod that is going to be planned for first."""
        uid = outcome.pod.metadata.uid
        if not isinstance(outcome, Unschedulable) or not is_for_nodes(outcome):
            self.forget(uid)
            return outcome
        keeper = keeper_of(self._cluster, outcome.pod)
        if keeper is not None:
            self._let_go(uid)
            return nominated(outcome.pod, keeper)
        if not self._cluster.inventory.templates():
            # A pod may be seen before the NodePool that was there before it.
            return msgspec.structs.replace(outcome, wake=outcome.wake | ClusterEvent.SUPPLY)
        said = self._said.get(uid)
        if said is not None and self._is_current(said) and now < said.since + REMEMBERED_SECONDS:
            return both(outcome, said.refused)
        until = max(self._arriving.get(uid, 0.0), said.since + REPLAN_SECONDS if said is not None else 0.0)
        if until > now:
            self._postpone(uid, until, outcome)
        else:
            self._gather(uid, outcome, now)
        return None if said is None else both(outcome, said.refused)

    @property
    def has_doubtful(self) -> bool:
        """Whether there are NodeClaims that nobody may need."""
        return bool(self._doubtful)

    def take_doubles(self) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims that were made for pods which wait for older ones, each once."""
        known = (self._cluster.inventory.claims.get(name) for name in self._doubtful)
        doubles = tuple(claim for claim in known if claim is not None and is_double(self._cluster, claim))
        self._doubtful.clear()
        return doubles

    def next_time(self) -> float | None:
        """Return when the next plan is due; None while there is nothing to plan, or the last one is being written."""
        if self._orders:
            return None
        times = [until for until, _ in self._timers[:1]]
        times += [when for when in (self._departures.next_time(), self._rests.next_time()) if when is not None]
        if len(self._batch) >= self._settings.most_pods:
            times.append(self._first)
        elif self._batch:
            times.append(min(self._last + self._settings.idle_seconds, self._first + self._settings.max_seconds))
        return min(times, default=None)

    def is_due(self, now: float) -> bool:
        """Whether a plan is to be made now."""
        self._gather_late(now)
        self._gather_helped(now)
        when = self.next_time()
        return bool(self._batch) and when is not None and when <= now

    def take(self, now: float) -> tuple[str, ...]:
        """Return the uids of the pods whose turn it is, the most important first; the rest follows at once.

        Pods that wait for others to leave a node are among them again: no object says that they are to have it.
        """
        ordered = sorted(self._batch, key=lambda uid: self._batch[uid].pod.rank)[: self._settings.most_pods]
        for uid in ordered:
            del self._batch[uid]
        self._first = now - self._settings.max_seconds
        taken = tuple(dict.fromkeys((*ordered, *self._lodged)))[: self._settings.most_pods]
        for uid in taken:
            self._lodged.pop(uid, None)
            self._late.pop(uid, None)
        return taken

    def plan(self, refused: Sequence[Unschedulable], now: float) -> Plans:
        """Return what is to become of pods that no node takes. Orders count until `written` or `unwritten`."""
        said = {one.pod.metadata.uid: one for one in refused}
        with PLAN_SECONDS.time():
            results = tuple(self._results([one.pod for one in refused], now))
        claims: dict[str, NodeClaim] = {}
        for result in results:
            claims |= {claim.name: claim for claim in (*result.created, *result.extended)}
        outcomes: list[Outcome | Nominated] = []
        waiting: dict[str, list[Nominated]] = {name: [] for name in claims}
        for nomination in (one for result in results for one in result.nominations):
            claim = claims.get(nomination.node_claim)
            if claim is not None and self._settings.is_trial:
                outcomes.append(self._remember(said[nomination.pod.metadata.uid], would_be(nomination.pod, claim), now))
            elif claim is not None:
                waiting[claim.name].append(nominated(nomination.pod, claim))
            else:
                outcomes.append(self._placed(nomination, said[nomination.pod.metadata.uid], now))
        refusals = (one for result in results for one in result.refused)
        outcomes += [self._remember(said[one.pod.metadata.uid], one, now) for one in refusals]
        if self._settings.is_trial:
            return Plans(outcomes=tuple(outcomes))
        made = {claim.name for result in results for claim in result.created}
        self._orders = {
            name: Order(claim=claim, is_new=name in made, nominated=tuple(waiting[name]))
            for name, claim in claims.items()
        }
        return Plans(outcomes=tuple(outcomes), orders=tuple(self._orders.values()))

    def written(self, name: str) -> None:
        """Take note that an order is in the API."""
        order = self._orders.pop(name, None)
        if order is not None:
            NOMINATED_PODS.inc(len(order.nominated))

    def unwritten(self, name: str) -> tuple[tuple[Pod, ...], ClusterEvent]:
        """Take an order back; return the pods that have no node now, and whom else that could help."""
        order = self._orders.pop(name, None)
        if order is None:
            return (), ClusterEvent.NOTHING
        self._revision += 1
        return tuple(one.pod for one in order.nominated), self._cluster.inventory.forget(name)

    def _is_current(self, said: _Said) -> bool:
        return said.revision == self._revision_for(said.refused)

    def _revision_for(self, refused: Unschedulable | OutOfBudget) -> tuple[int, int]:
        """Return what changes with the supply of the pod: devices that many nodes reach are there for new ones, too."""
        has_to_do = refused.wake & (ClusterEvent.DEVICES | ClusterEvent.SLICES)
        return self._revision, self._cluster.changes.upheavals if has_to_do else 0

    def _gather(self, uid: str, outcome: Unschedulable | OutOfBudget, now: float) -> None:
        if not self._batch:
            self._first = now
        if uid not in self._batch:
            self._last = now
        self._batch[uid] = outcome

    def _postpone(self, uid: str, until: float, outcome: Unschedulable) -> None:
        if uid not in self._late:
            heapq.heappush(self._timers, (until, uid))
        self._late[uid] = outcome

    def _gather_late(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            _, uid = heapq.heappop(self._timers)
            self._arriving.pop(uid, None)
            if uid in self._late:
                self._gather(uid, self._late.pop(uid), now)

    def _gather_helped(self, now: float) -> None:
        """Plan again for pods that were refused before others began to leave the nodes that they could use."""
        changes = self._departures.take(now)
        if not changes:
            return
        # What is out of date already is planned for when its time has come.
        said = [(uid, one.refused) for uid, one in self._said.items() if self._is_current(one)]
        for uid, refused in said:
            if may_be_helped(self._cluster, refused.pod, changes):
                del self._said[uid]
                self._gather(uid, refused, now)

    def _is_over(self, name: str, now: float) -> bool:
        """Whether the NodeClaim is not on its way any more."""
        claim = self._cluster.inventory.claims.get(name)
        if claim is None or is_in_flight(self._cluster, claim):
            self._over.discard(name)
            return claim is None
        if name not in self._over:
            self._over.add(name)
            if was_never_launched(claim):
                self._rest(claim, now)
            if not claim.metadata.is_deleting and not has_failed(claim):
                until = now + ARRIVAL_SECONDS
                self._arriving |= {one.uid: until for one in nominees_of(claim) if self._is_waiting(one)}
        return True

    def _rest(self, claim: NodeClaim, now: float) -> None:
        """Let pods wait whose NodeClaims cannot be launched, longer each time; after the first one they do not."""
        for nominee in filter(self._is_waiting, nominees_of(claim)):
            before = self._unlaunched.get(nominee.uid, 0)
            self._unlaunched[nominee.uid] = before + 1
            pod = self._cluster.pod(nominee.key)
            if before and pod is not None:
                self._arriving[nominee.uid] = now + backoff(before)
                self._said[nominee.uid] = _Said(refused=not_launched(pod, claim), revision=OUTDATED, since=0.0)

    def _is_waiting(self, nominee: Nominee) -> bool:
        pod = self._cluster.pod(nominee.key)
        return pod is not None and pod.metadata.uid == nominee.uid and self._cluster.is_pending(pod)

    def _results(self, pods: Sequence[Pod], now: float) -> Iterator[ProvisioningResult]:
        if not pods:
            return
        make = plan if self._settings.is_trial else provision
        options = PlanOptions(
            now=_moment(now),
            overdue=_moment(now - OVERDUE_SECONDS),
            budget=within(self._clock, PLAN_LIMIT_SECONDS),
        )
        try:
            yield make(self._cluster, pods, options)
        except Exception:  # noqa: BLE001  whatever it is, it concerns these pods alone
            _log.exception("a plan failed", pods=[str(pod.key) for pod in pods][:20])
            if len(pods) == 1:
                yield ProvisioningResult(refused=(plan_failed(pods[0]),))
            else:
                half = len(pods) // 2
                yield from self._results(pods[:half], now)
                yield from self._results(pods[half:], now)

    def _placed(self, nomination: Nomination, refused: Unschedulable, now: float) -> Nominated:
        """Return what a pod is told that has a host already, for which nothing is to be written."""
        claim = self._cluster.inventory.claims.get(nomination.node_claim)
        if claim is not None:
            return nominated(nomination.pod, claim)
        uid = nomination.pod.metadata.uid
        self._lodged[uid] = None
        self._postpone(uid, now + OVERDUE_SECONDS, refused)
        return lodged(nomination.pod, nomination.node)

    def _remember(self, outcome: Unschedulable, said: Unschedulable | OutOfBudget, now: float) -> Unschedulable:
        uid = outcome.pod.metadata.uid
        self._said[uid] = _Said(refused=said, revision=self._revision_for(said), since=now)
        if any(one.reason == OUT_OF_BUDGET for one in said.reasons):
            # Nothing is proved, and nothing has to change for another answer.
            self._postpone(uid, now + REMEMBERED_SECONDS, outcome)
        return both(outcome, said)


def is_for_nodes(outcome: Unschedulable) -> bool:
    """Whether it is the nodes that refuse the pod, and not something that holds whatever nodes there are."""
    return all(reason.nodes for reason in outcome.reasons)


def _moment(now: float) -> str:
    return dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
