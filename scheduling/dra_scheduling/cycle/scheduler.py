"""The scheduling loop: a pure state machine that observes events and decides, for the operator and the simulator alike.

Time is passed in, as seconds since 1970. Nothing is read, written, logged or measured here: what happened comes in as
events, the outcomes of the loop's own writes included, and what is to be done is returned as `Decisions`.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, cast

from msgspec.structs import replace

from dra_scheduling.allocation.search_budget import SECONDS_PER_POD, SearchBudget
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import POD_STEPS, allocate
from dra_scheduling.cycle.decisions import NO_DECISIONS, Decisions, PodCondition, decided
from dra_scheduling.cycle.disrupt import Disruptor, DisruptState
from dra_scheduling.cycle.events import (
    BindRequestWrite,
    DecideDuration,
    DisruptionWrites,
    Event,
    LeadershipChanged,
    NodeClaimWrite,
    ObjectChanged,
    ObjectRemoved,
    WriteResult,
    changes_cluster,
)
from dra_scheduling.cycle.loop import UNLIMITED, Backlog
from dra_scheduling.cycle.order import in_turn
from dra_scheduling.cycle.pending_pods import PendingPods
from dra_scheduling.cycle.provision import Provisioner, ProvisionState, is_for_nodes
from dra_scheduling.cycle.reporter import SILENT, CycleReporter, Phase
from dra_scheduling.cycle.scheduler_state import DEFAULT_SETTINGS, SchedulerSettings, SchedulerState
from dra_scheduling.cycle.terminating_pods import begins_to_terminate
from dra_scheduling.cycle.timers import NO_DEADLINES, CooldownTimers, SearchDeadlines
from dra_scheduling.disruption import Step
from dra_scheduling.fit.rule import Rule
from dra_scheduling.fit.rules import RULES
from dra_scheduling.fit.score_profiles import PROFILES
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome, Unschedulable
from dra_scheduling.wire import KubernetesObject, key_of

AT_ONCE = 0.0
LEAST_STEPS = 25
"""What a pod costs at least, in search steps."""


class Scheduler:
    """Observes a cluster and decides about its pods and nodes."""

    def __init__(
        self,
        settings: SchedulerSettings = DEFAULT_SETTINGS,
        *,
        deadlines: SearchDeadlines = NO_DEADLINES,
        reporter: CycleReporter = SILENT,
        objects: Iterable[KubernetesObject] = (),
        state: SchedulerState | None = None,
        rules: tuple[Rule[Any], ...] = RULES,
    ) -> None:
        """`objects` and `state` are those of an earlier scheduler that this one goes on for."""
        known = SchedulerState() if state is None else state
        self.settings = settings
        self._deadlines = deadlines
        self._reporter = reporter
        self._is_leading = known.is_leading
        self._cooldown = CooldownTimers(settings.cooldown_seconds)
        self.cluster = Cluster(
            settings.scheduler_name,
            settings.features,
            settings.node_class_groups,
            self._cooldown,
            rules=rules,
            profile=PROFILES[settings.profile],
        )
        there = tuple(objects)
        for value in there:
            self.cluster.apply(value)
        for assignment in known.assignments:
            self.cluster.assume(assignment)
        for claim in known.node_claims:
            self.cluster.inventory.assume(claim)
        self._cooldown.restart(known.cooldown)
        self._pods = PendingPods(self.cluster, self._forget_plan, known.pending)
        self._pods.restore(value for value in there if isinstance(value, BindRequest))
        self._provisioner = self._made_provisioner(known.provision)
        self._disruptor = self._made_disruptor(known.disrupt)
        self._plan: Generator[int, None, Decisions] | None = None
        self._late: list[tuple[Event, float]] = []
        self._refused: dict[str, Unschedulable] = {}
        self._has_looked = False
        self._openings = self.cluster.changes.openings

    def observe(self, event: Event, now: float) -> None:
        """Take in what has happened; while a plan is being made, which is for one state of the cluster, it waits."""
        if self._plan is not None:
            self._late.append((event, now))
            return
        self._cooldown.advance(now)
        if changes_cluster(event):
            # What the nodes have said holds no longer.
            self._refused.clear()
        try:
            self._take_in(event, now)
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this event alone
            self._reporter.not_observed(event, error)

    def decide(self, now: float, steps: int = UNLIMITED) -> Decisions:
        """Return what is to be written next. After about so many search steps it returns; the next call goes on.

        What is decided counts in the cluster at once, so that the next decision sees it.
        """
        self._cooldown.advance(now)
        self._has_looked = False
        if not self._is_leading and self._plan is None:
            return NO_DECISIONS
        decisions = self._decide_pods(now, steps)
        self._let_in(now)
        if self.is_busy or decisions != NO_DECISIONS or self._disruptor is None:
            # Nodes are looked at when there is nothing else to do.
            return decisions
        self._has_looked = True
        return Decisions(disruption=self._decide_nodes(self._disruptor, now))

    def next_time(self) -> float | None:
        """Return when there is something to decide if nothing happens, None for never; a time in the past is now."""
        if self._plan is not None:
            return AT_ONCE
        if not self._is_leading or self._room <= 0:
            return None
        if self._provisioner is not None and self._provisioner.has_doubtful:
            return AT_ONCE
        parts = (self._pods.queue, self._provisioner, self._disruptor)
        times = (part.next_time() for part in parts if part is not None)
        return min((when for when in times if when is not None), default=None)

    @property
    def is_busy(self) -> bool:
        """Whether a plan is being made, and the next call of `decide` goes on with it."""
        return self._plan is not None

    @property
    def backlog(self) -> Backlog:
        """How much there is to do."""
        queue = self._pods.queue.depth
        return Backlog(
            ready=queue.ready,
            waiting=queue.waiting,
            held=queue.held,
            planned=self._provisioner.depth if self._provisioner is not None else 0,
            in_flight=len(self._pods.in_flight),
            devices=self.cluster.ledger.taken_count,
        )

    @property
    def state(self) -> SchedulerState:
        """What another scheduler needs to go on, besides the objects; not while this one `is_busy`."""
        return SchedulerState(
            is_leading=self._is_leading,
            pending=self._pods.state,
            provision=self._provisioner.state if self._provisioner is not None else None,
            disrupt=self._disruptor.state if self._disruptor is not None else None,
            cooldown=self._cooldown.state,
            assignments=self.cluster.placements.assumed(),
            node_claims=self.cluster.inventory.assumed(),
        )

    @property
    def _room(self) -> int:
        # Decisions that cannot be written as fast as they are made would only grow old.
        return 2 * self.settings.cycle_pods - len(self._pods.in_flight)

    def _made_provisioner(self, state: ProvisionState | None) -> Provisioner | None:
        plan = self.settings.plan
        if plan is None:
            return None
        return Provisioner(self.cluster, plan, deadlines=self._deadlines, reporter=self._reporter, state=state)

    def _made_disruptor(self, state: DisruptState | None) -> Disruptor | None:
        interval = self.settings.disruption_seconds
        if interval is None:
            return None
        return Disruptor(self.cluster, interval, deadlines=self._deadlines, reporter=self._reporter, state=state)

    def _take_in(self, event: Event, now: float) -> None:
        match event:
            case ObjectChanged(value):
                self._changed(value, now)
            case ObjectRemoved(value):
                self._removed(value, now)
            case BindRequestWrite(pod, uid, WriteResult.DONE):
                self._pods.written(uid)
            case BindRequestWrite(pod, uid):
                self._pods.not_written(pod, uid, now)
            case NodeClaimWrite():
                self._node_claim_written(event, now)
            case LeadershipChanged(is_leading):
                self._is_leading = is_leading
                if is_leading and self._provisioner is not None:
                    self._provisioner.begin()
            case DisruptionWrites(created) if self._disruptor is not None:
                self._disruptor.written(created)
            case DecideDuration(seconds) if self._has_looked and self._disruptor is not None:
                self._disruptor.took(seconds)
            case _:
                pass

    def _changed(self, value: KubernetesObject, now: float) -> None:
        before = self._pods.replaced(value)
        known = self.cluster.claims.get(value.key) if isinstance(value, ResourceClaim) else None
        wake = self.cluster.apply(value)
        if self._provisioner is not None and isinstance(value, Pod) and begins_to_terminate(before, value):
            self._provisioner.terminates(value)
        self._pods.changed(value, now)
        self._wake(value, wake, now, known)

    def _removed(self, value: KubernetesObject, now: float) -> None:
        if isinstance(value, Pod):
            self._pods.forget(value.metadata.uid)
        wake = self.cluster.remove(type(value), key_of(value))
        self._pods.removed(value, now)
        self._wake(value, wake, now)

    def _wake(
        self, value: KubernetesObject, change: ClusterEvent, now: float, known: ResourceClaim | None = None
    ) -> None:
        if self._provisioner is not None:
            for name in self._provisioner.changed(value, change, now):
                self._pods.queue.wake_nominated(name, now)
        self._pods.queue.wake(change, now, *(each for each in (known, value) if isinstance(each, ResourceClaim)))

    def _let_in(self, now: float) -> None:
        """Let pods try again that were kept out of groups of nodes which a decision about others has opened."""
        openings = self.cluster.changes.openings
        if openings != self._openings and self._plan is None:
            self._openings = openings
            self._pods.queue.wake(ClusterEvent.DOMAINS, now)

    def _forget_plan(self, uid: str) -> None:
        if self._provisioner is not None:
            self._provisioner.forget(uid)

    def _node_claim_written(self, event: NodeClaimWrite, now: float) -> None:
        if self._provisioner is None:
            return
        if event.result is WriteResult.DONE:
            self._reporter.nominated(self._provisioner.written(event.name))
            return
        pods, wake = self._provisioner.not_written(event.name)
        for pod in pods:
            self._pods.pause(pod.key, pod.metadata.uid, now)
        self._pods.queue.wake(wake, now)

    def _decide_pods(self, now: float, steps: int) -> Decisions:
        if self._plan is None:
            if self._room <= 0:
                return NO_DECISIONS
            provisioner = self._provisioner
            if provisioner is not None and provisioner.has_doubtful:
                return Decisions(withdrawn=provisioner.take_doubles())
            if provisioner is not None:
                self._pods.queue.wake(provisioner.backoff_ended(now), now)
                if provisioner.is_due(now):
                    self._plan = self._planned(provisioner, now)
        return self._allocated_ready(now, steps) if self._plan is None else self._go_on(self._plan, steps)

    def _decide_nodes(self, disruptor: Disruptor, now: float) -> tuple[Step, ...]:
        """Return what is to be written so that nodes go; nothing new while pods wait for a decision."""
        is_planning = self._provisioner is not None and bool(self._provisioner.depth)
        return disruptor.steps(now, is_quiet=not self._pods.queue.depth.ready and not is_planning)

    def _go_on(self, plan: Generator[int, None, Decisions], steps: int) -> Decisions:
        """Go on with a plan; once it is made, take in what has happened meanwhile."""
        spent = 0
        while spent < steps:
            try:
                spent += max(next(plan), LEAST_STEPS)
            except StopIteration as end:
                self._plan = None
                late, self._late = self._late, []
                for event, when in late:
                    self.observe(event, when)
                return cast("Decisions", end.value)
        return NO_DECISIONS

    def _planned(self, provisioner: Provisioner, now: float) -> Generator[int, None, Decisions]:
        """Yield the steps of a plan for the pods that were gathered, each tried on the nodes once more."""
        outcomes: list[Outcome] = []
        for pod in in_turn(self.cluster, self._pods.queue.take_waiting(provisioner.take(now))):
            outcome: Outcome | None = self._refused.get(pod.metadata.uid)
            if outcome is None:
                outcome, steps = self._allocated(pod, now)
                yield steps
            if outcome is not None:
                outcomes.append(outcome)
        left = [one for one in outcomes if isinstance(one, Unschedulable) and is_for_nodes(one)]
        kept = {one.pod.metadata.uid for one in left}
        others = self._considered([one for one in outcomes if one.pod.metadata.uid not in kept], now)
        with self._reporter.timed(Phase.PLAN):
            plans = yield from provisioner.plan(left, now)
        for condition in (*plans.conditions, *(one for order in plans.node_claims for one in order.nominated)):
            self._settle(condition, now)
        of_nodes = decided(*others)
        conditions = (*of_nodes.conditions, *plans.conditions)
        return replace(plans, bind_groups=of_nodes.bind_groups, conditions=conditions)

    def _allocated_ready(self, now: float, steps: int) -> Decisions:
        """Return what becomes of the pods that are ready, as far as the steps suffice."""
        pods = in_turn(self.cluster, self._pods.queue.take(now, min(self.settings.cycle_pods, self._room)))
        if not pods:
            return NO_DECISIONS
        outcomes: list[Outcome] = []
        spent = 0
        with self._reporter.timed(Phase.ALLOCATE):
            for number, pod in enumerate(pods):
                if spent >= steps:
                    self._pods.queue.put_back(pods[number:], now)
                    break
                outcome, taken = self._allocated(pod, now)
                spent += max(taken, LEAST_STEPS)
                if outcome is not None:
                    outcomes.append(outcome)
        return decided(*self._considered(outcomes, now))

    def _allocated(self, pod: Pod, now: float) -> tuple[Outcome | None, int]:
        """Return what the nodes say to the pod, None after a defect, and the steps that this took."""
        self._reporter.allocating(pod)
        budget = SearchBudget(steps=POD_STEPS, is_late=self._deadlines.start(SECONDS_PER_POD))
        try:
            outcome, steps = allocate(self.cluster, pod, budget)
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this pod alone
            self.cluster.forget(pod.metadata.uid)
            self._pods.queue.failed(pod.metadata.uid, 1, now)
            self._reporter.failed(Phase.ALLOCATE, error, (pod,))
            return None, 0
        self._reporter.allocated(outcome, steps)
        return outcome, steps

    def _considered(self, outcomes: Sequence[Outcome], now: float) -> list[Assignment | PodCondition]:
        """Return what is decided about these pods; those that are to be planned for first are left out."""
        found: list[Assignment | PodCondition] = []
        for outcome in outcomes:
            told = outcome if self._provisioner is None else self._provisioner.consider(outcome, now)
            self._settle(told or outcome, now)
            if isinstance(outcome, Unschedulable):
                self._refused[outcome.pod.metadata.uid] = outcome
            if told is not None:
                found.append(told)
        return found

    def _settle(self, outcome: Outcome | Nominated, now: float) -> None:
        self._pods.settle(outcome, now)
        self._reporter.decided(outcome)
