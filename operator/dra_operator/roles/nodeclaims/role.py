"""The role `nodeclaims`: events name the objects that are to be looked at, workers look and take one step each time."""

import time
from collections.abc import Coroutine, Iterable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

from dra_kube.api import Api
from dra_kube.resources import Kind
from dra_operator.api.events import Recorder
from dra_operator.api.leases import Leadership
from dra_operator.pacing import timestamp
from dra_operator.roles.nodeclaims.claim_index import ClaimIndex
from dra_operator.roles.nodeclaims.pod_events import PodEvents
from dra_operator.roles.nodeclaims.stepping import Stepper, is_cache_current, is_irreversible
from dra_operator.roles.nodeclaims.unusable import Unusable
from dra_operator.roles.nodeclaims.writer import StepWriter
from dra_operator.settings import NodeClaimsMode, Settings
from dra_operator.watch.cache import Cache
from dra_operator.watch.freshness import BEHIND_SECONDS, Freshness
from dra_operator.watch.workqueue import WorkQueue
from dra_scheduling.disruption import Drift, Prospect, beside, last_words
from dra_scheduling.disruption.disruption_conditions import EVENT_SECONDS
from dra_scheduling.instancetypes import Expanded, expand, namesake_fault, status_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL, Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import (
    Deadlines,
    NodeClaimSituation,
    Step,
    gate_step,
    is_own,
    next_step,
    pool_status,
    termination_step,
)
from dra_scheduling.nodeclaims.lifecycle_steps import CONSOLIDATABLE, OWN_GROUP
from dra_scheduling.wire import KubernetesObject, key_of

WORKERS = 16
SLICE_PAUSE = 0.05
POOL_PAUSE = 0.5


class Subject(Enum):
    """What is looked at."""

    CLAIM = auto()
    POOL = auto()
    TYPE = auto()


class Task(NamedTuple):
    """One object to look at."""

    subject: Subject
    name: str


SUBJECTS: dict[Kind, Subject] = {
    NodeClaim: Subject.CLAIM,
    NodePool: Subject.POOL,
    InstanceType: Subject.TYPE,
}


class NodeClaimsRole:
    """Everything that the role is made of. Lives on the event loop."""

    def __init__(
        self, settings: Settings, *, api: Api, cache: Cache, recorder: Recorder, leadership: Leadership
    ) -> None:
        self._mode = settings.nodeclaims
        self._features = settings.feature_gates
        self._deadlines = Deadlines(
            launch=settings.launch_timeout_seconds,
            registration=settings.registration_timeout_seconds,
            gate=settings.gate_timeout_seconds,
        )
        self._cache = cache
        self._leadership = leadership
        self._writer = StepWriter(api, time.monotonic)
        self._index = ClaimIndex(cache, settings.feature_gates)
        self._pod_events = PodEvents(time.time)
        self._queue: WorkQueue[Task] = WorkQueue("nodeclaims")
        self._freshness = Freshness(api, cache)
        self._stepper = Stepper(self._writer, recorder, time.monotonic)
        self._unusable: dict[Task, Unusable] = {}

    def changed(self, value: KubernetesObject) -> None:
        """Have everything looked at that the object concerns."""
        if (subject := SUBJECTS.get(type(value))) is not None:
            self._unusable.pop(Task(subject, value.metadata.name), None)
        self._concern(value, self._index.changed(value))
        match value:
            case NodeClaim():
                self._pool_concerned(value)
            case Pod():
                self._pods_moved(self._pod_events.changed(value))
            case NodePool():
                self._queue.add(Task(Subject.POOL, value.name))
            case InstanceType():
                self._queue.add(Task(Subject.TYPE, value.name))
                self._namesakes_concerned(value)
                self._all_pools()
            case Node() if NODE_POOL_LABEL in value.metadata.labels:
                self._queue_later(Task(Subject.POOL, value.metadata.labels[NODE_POOL_LABEL]))
            case _:
                pass

    def removed(self, value: KubernetesObject) -> None:
        """Have everything looked at that the object concerned."""
        self._concern(value, self._index.removed(value))
        match value:
            case NodeClaim():
                if Task(Subject.CLAIM, value.name) not in self._unusable:
                    self._queue.forget(Task(Subject.CLAIM, value.name))
                self._pool_concerned(value)
            case Pod():
                self._pods_moved(self._pod_events.removed(key_of(value)))
            case InstanceType():
                self._namesakes_concerned(value)
                self._all_pools()
            case Node():
                self._pod_events.forget(value.name)
                if NODE_POOL_LABEL in value.metadata.labels:
                    self._queue_later(Task(Subject.POOL, value.metadata.labels[NODE_POOL_LABEL]))
            case _:
                pass

    def refused(self, kind: Kind, raw: Mapping[str, Any], problem: str) -> None:
        """Have it said of an object of ours that it cannot be read."""
        subject = SUBJECTS.get(kind)
        value = Unusable(kind=kind, raw=raw, problem=problem)
        is_ours = value.group == OWN_GROUP and self._mode is NodeClaimsMode.OWN
        if subject is not None and (is_ours or subject is Subject.TYPE):
            task = Task(subject, str(raw["metadata"]["name"]))
            self._unusable[task] = value
            self._queue.add(task)

    def deleted(self, kind: Kind, uid: str) -> None:
        """Forget an object that cannot be read and has gone."""
        self._forget(task for task, one in self._unusable.items() if one.kind is kind and one.uid == uid)

    def listed(self, kind: Kind, uids: frozenset[str]) -> None:
        """Forget the objects that cannot be read and are not in a whole list of their kind."""
        self._forget(task for task, one in self._unusable.items() if one.kind is kind and one.uid not in uids)

    def jobs(self) -> tuple[Coroutine[None, None, None], ...]:
        """Return what is to run on the event loop."""
        return tuple(self._queue.work(self._look) for _ in range(WORKERS))

    def leadership_changed(self) -> None:
        """Look at everything, or let it go."""
        self._queue.clear()
        if not self._leadership.is_leading:
            return
        for kind, subject in (
            (NodeClaim, Subject.CLAIM),
            (NodePool, Subject.POOL),
            (InstanceType, Subject.TYPE),
        ):
            for value in self._cache.values(kind):
                self._queue.add(Task(subject, value.metadata.name))
        for task in self._unusable:
            self._queue.add(task)

    async def stop(self, seconds: float) -> None:
        """Take up nothing more, and end the steps that are under way; what is left the next start finds."""
        await self._queue.finish(seconds)

    async def _look(self, task: Task) -> None:
        if not self._leadership.is_leading:
            return
        if task in self._unusable:
            await self._writer.show_unusable(self._unusable[task], timestamp())
            return
        match task.subject:
            case Subject.CLAIM:
                claim = self._cache.get(NodeClaim, ObjectKey("", task.name))
                if claim is not None and self._mode is not NodeClaimsMode.PLAN:
                    await self._look_at_claim(claim)
            case Subject.POOL:
                await self._look_at_pool(task.name)
            case Subject.TYPE:
                await self._look_at_type(task.name)

    async def _look_at_claim(self, claim: NodeClaim) -> None:
        step, instance_type = self._next_step(claim)
        if is_irreversible(claim, step):
            if not await is_cache_current(self._freshness, claim, self._index.nodes_of(claim)):
                self._queue.add_in(Task(Subject.CLAIM, claim.name), BEHIND_SECONDS)
                return
            step, instance_type = self._next_step(claim)
        pause = await self._stepper.take(claim, step, instance_type)
        if pause is not None:
            self._queue.add_in(Task(Subject.CLAIM, claim.name), pause)

    def _next_step(self, claim: NodeClaim) -> tuple[Step, InstanceType | None]:
        nodes = self._index.nodes_of(claim)
        instance_type, expanded = self._index.type_of(claim)
        at = NodeClaimSituation(
            claim=claim,
            nodes=nodes,
            slices=self._index.slices,
            now=timestamp(),
            instance_type=instance_type,
            expanded=expanded,
            deadlines=self._deadlines,
        )
        if not (is_own(claim) and self._mode is NodeClaimsMode.OWN):
            return gate_step(at), instance_type
        if claim.metadata.is_deleting:
            ending = termination_step(claim, nodes, self._index.pods_on(nodes), at.now)
            return last_words(claim, at.now) or ending, instance_type
        return beside(next_step(at), self._prospect(claim, at.now)), instance_type

    def _prospect(self, claim: NodeClaim, now: str) -> Prospect:
        pool = self._index.pool_of(claim)
        if pool is not None and pool.metadata.is_deleting:
            pool = None
        return Prospect(
            claim=claim,
            pool=pool,
            difference=Drift(self._index.is_type).of(claim, pool) if pool is not None else None,
            now=now,
            last_pod_event=self._pod_events.last(claim.status.node_name),
        )

    async def _look_at_pool(self, name: str) -> None:
        pool = self._cache.get(NodePool, ObjectKey("", name))
        if pool is None or self._mode is not NodeClaimsMode.OWN or pool.metadata.is_deleting:
            return
        reference = pool.spec.template.spec.node_class_ref
        if reference.group != OWN_GROUP:
            return
        claims = self._index.claims_of(pool)
        nodes = {node.name: node for claim in claims for node in self._index.nodes_of(claim)}
        has_types = any(
            one.belongs_to(reference.name) and isinstance(expand(one, self._features), Expanded)
            for one in self._cache.of_kind(InstanceType)
        )
        status = pool_status(pool, claims, nodes, has_types=has_types, now=timestamp())
        if status != pool.status:
            await self._writer.show_pool(pool, status)

    async def _look_at_type(self, name: str) -> None:
        value = self._cache.get(InstanceType, ObjectKey("", name))
        if value is None or value.metadata.is_deleting:
            return
        result = expand(value, self._features)
        fault = namesake_fault(value, self._index.namesakes(value), self._features)
        if fault is not None and isinstance(result, Expanded):
            result = (fault,)
        status = status_of(value, result, now=timestamp())
        if status != value.status:
            await self._writer.show_type(value, status)

    def _forget(self, gone: Iterable[Task]) -> None:
        for task in tuple(gone):
            del self._unusable[task]
            self._queue.forget(task)

    def _concern(self, value: KubernetesObject, claims: Iterable[str]) -> None:
        for name in claims:
            task = Task(Subject.CLAIM, name)
            if isinstance(value, ResourceSlice):
                # The slices of a pool come one after another.
                self._queue.add_in(task, SLICE_PAUSE)
            else:
                self._queue.add(task)

    def _pods_moved(self, nodes: Iterable[str]) -> None:
        """Have it said at once that nodes are not to be consolidated; when that was has time."""
        claims = (claim for node in nodes for claim in self._index.claims_on(node))
        for claim in (claim for claim in claims if is_own(claim)):
            is_said = claim.condition(CONSOLIDATABLE) is not None
            self._queue.add_in(Task(Subject.CLAIM, claim.name), 0.0 if is_said else EVENT_SECONDS)

    def _pool_concerned(self, claim: NodeClaim) -> None:
        name = claim.metadata.labels.get(NODE_POOL_LABEL)
        if name:
            self._queue_later(Task(Subject.POOL, name))

    def _namesakes_concerned(self, value: InstanceType) -> None:
        for one in self._index.namesakes(value):
            self._queue.add(Task(Subject.TYPE, one.name))

    def _all_pools(self) -> None:
        for pool in self._cache.values(NodePool):
            self._queue_later(Task(Subject.POOL, pool.metadata.name))

    def _queue_later(self, task: Task) -> None:
        self._queue.add_in(task, POOL_PAUSE)
