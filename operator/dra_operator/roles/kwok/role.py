"""The role `kwok`: events name what is to be looked at; provider, drivers and kubelets take one step each time."""

import time
from collections.abc import Coroutine
from enum import Enum, auto
from typing import NamedTuple

from dra_kube.api import Api
from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.api.leases import Leadership
from dra_operator.roles.kwok.behaviour import Behaviour, Pauses, behaviour_of, usual
from dra_operator.roles.kwok.drivers import Drivers
from dra_operator.roles.kwok.heartbeats import Heartbeats
from dra_operator.roles.kwok.instances import LaunchableTypes
from dra_operator.roles.kwok.kubelet import BAD_ANNOTATION, Kubelet
from dra_operator.roles.kwok.node_index import NodeIndex
from dra_operator.roles.kwok.provider import FakeProvider, may_be_removed
from dra_operator.roles.kwok.writer import KwokWriter
from dra_operator.settings import Settings
from dra_operator.watch.cache import Cache
from dra_operator.watch.freshness import Freshness
from dra_operator.watch.workqueue import WorkQueue
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims.lifecycle_steps import is_own
from dra_scheduling.wire import KubernetesObject

WORKERS = 16


class KwokSubject(Enum):
    """What is looked at: a NodeClaim, the pool of a driver on a node, or a pod of a namespace."""

    CLAIM = auto()
    POOL = auto()
    POD = auto()


class KwokTask(NamedTuple):
    """One thing to look at. `part` is the driver or the namespace."""

    subject: KwokSubject
    name: str
    part: str = ""


class KwokRole:
    """Everything that the role is made of. Lives on the event loop."""

    def __init__(
        self, settings: Settings, *, api: Api, cache: Cache, recorder: Recorder, leadership: Leadership
    ) -> None:
        self._usual = usual(settings)
        self._cache = cache
        self._recorder = recorder
        self._leadership = leadership
        self._behaviours: dict[str, Behaviour] = {}
        self._index = index = NodeIndex(cache)
        self._catalogue = catalogue = LaunchableTypes(settings.feature_gates)
        self._pauses = pauses = Pauses(time.monotonic)
        writer = KwokWriter(api, settings.feature_gates)
        freshness = Freshness(api, cache)
        self._provider = FakeProvider(
            writer, index=index, catalogue=catalogue, pauses=pauses, recorder=recorder, freshness=freshness
        )
        self._drivers = Drivers(writer, index=index, catalogue=catalogue, pauses=pauses, freshness=freshness)
        self._kubelet = Kubelet(writer, pauses=pauses, recorder=recorder, usual_seconds=settings.kwok_pod_seconds)
        self._heartbeats = Heartbeats(writer)
        self._queue: WorkQueue[KwokTask] = WorkQueue("kwok")

    def changed(self, value: KubernetesObject) -> None:
        """Have everything looked at that the object concerns."""
        match value:
            case NodeClaim():
                self._claim_changed(value)
            case Node():
                self._node_changed(value.name)
            case ResourceSlice():
                self._index.apply(value)
                self._pool_concerned(value)
            case Pod():
                self._index.apply(value)
                self._pod_concerned(value)
            case InstanceType():
                if self._catalogue.apply(value):
                    self._type_changed(value.instance_type)
            case _:
                pass

    def removed(self, value: KubernetesObject) -> None:
        """Have everything looked at that the object concerned."""
        match value:
            case NodeClaim():
                self._claim_gone(value)
            case Node():
                self._node_changed(value.name)
            case ResourceSlice():
                self._index.remove(value)
                self._pool_concerned(value)
            case Pod():
                self._index.remove(value)
                self._kubelet.forget(value)
                self._queue.forget(_task_of(value))
            case InstanceType():
                self._catalogue.remove(value.name)
            case _:
                pass

    def jobs(self) -> tuple[Coroutine[None, None, None], ...]:
        """Return what is to run on the event loop."""
        return (self._heartbeats.run(), *(self._queue.work(self._look) for _ in range(WORKERS)))

    def leadership_changed(self) -> None:
        """Look at everything, or let it go."""
        self._queue.clear()
        self._pauses.clear()
        self._heartbeats.clear()
        if self._leadership.is_leading:
            for claim in self._cache.of_kind(NodeClaim):
                if is_own(claim):
                    self._node_changed(claim.name)
            for one in self._cache.of_kind(ResourceSlice):
                self._pool_concerned(one)

    async def stop(self, seconds: float) -> None:
        """Take up nothing more, and end the steps that are under way; what is left the next start finds."""
        self._heartbeats.clear()
        await self._queue.finish(seconds)

    async def _look(self, task: KwokTask) -> None:
        if not self._leadership.is_leading:
            return
        pause = await self._step(task)
        if pause:
            self._queue.add_in(task, pause)

    async def _step(self, task: KwokTask) -> float:
        if task.subject is KwokSubject.POD:
            pod = self._index.pod(ObjectKey(task.part, task.name))
            node = None if pod is None else self._index.node(pod.spec.node_name)
            if pod is None or node is None:
                return 0.0
            return await self._kubelet.look(pod, node, self._behaviour(node.name))
        if task.subject is KwokSubject.POOL:
            return await self._drivers.look(task.name, task.part, self._behaviour(task.name))
        claim = self._index.claim(task.name)
        if claim is None:
            return 0.0
        if may_be_removed(claim):
            self._heartbeats.drop(claim.name)
        return await self._provider.look(claim, self._behaviour(task.name))

    def _claim_changed(self, claim: NodeClaim) -> None:
        if not is_own(claim):
            return
        self._queue.add(KwokTask(KwokSubject.CLAIM, claim.name))
        behaviour, problems = behaviour_of(claim.metadata.annotations, self._usual)
        if self._behaviours.get(claim.name) == behaviour:
            return
        self._behaviours[claim.name] = behaviour
        self._node_changed(claim.name)
        if problems:
            self._recorder.tell(
                EventMessage(
                    regarding=Regarding.of(claim),
                    severity=EventType.WARNING,
                    reason=BAD_ANNOTATION,
                    message="; ".join(problems),
                )
            )

    def _claim_gone(self, claim: NodeClaim) -> None:
        self._queue.forget(KwokTask(KwokSubject.CLAIM, claim.name))
        self._provider.forget(claim)
        self._behaviours.pop(claim.name, None)
        self._heartbeats.drop(claim.name)

    def _node_changed(self, name: str) -> None:
        """Have everything looked at that is about a node, whether it has come, gone, or changed."""
        self._queue.add(KwokTask(KwokSubject.CLAIM, name))
        claim, node = self._index.claim(name), self._index.node(name)
        is_dead = claim is None or may_be_removed(claim) or "heartbeat" in self._behaviour(name).never
        if node is None or is_dead or not self._leadership.is_leading:
            self._heartbeats.drop(name)
        else:
            self._heartbeats.add(name, node.metadata.uid)
        for driver in self._drivers.of(name):
            self._queue.add(KwokTask(KwokSubject.POOL, name, driver))
        for pod in self._index.pods(name) if node is not None else ():
            self._pod_concerned(pod)

    def _type_changed(self, name: str) -> None:
        for claim in self._cache.of_kind(NodeClaim):
            if is_own(claim) and claim.metadata.labels.get(INSTANCE_TYPE_LABEL) == name:
                self._node_changed(claim.name)

    def _pool_concerned(self, value: ResourceSlice) -> None:
        name = value.spec.node_name
        if name and (self._index.claim(name) is not None or self._index.slices(name)):
            self._queue.add(KwokTask(KwokSubject.POOL, name, value.spec.driver))

    def _pod_concerned(self, pod: Pod) -> None:
        is_done = pod.is_finished and not pod.metadata.is_deleting
        if not is_done and pod.spec.node_name and self._index.node(pod.spec.node_name) is not None:
            self._queue.add(_task_of(pod))

    def _behaviour(self, name: str) -> Behaviour:
        return self._behaviours.get(name, self._usual)


def _task_of(pod: Pod) -> KwokTask:
    return KwokTask(KwokSubject.POD, pod.metadata.name, pod.metadata.namespace)
