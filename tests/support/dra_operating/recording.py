"""A recorded loop over a cluster in which things happen by chance, and writes fail now and then."""

import random
from collections.abc import Callable, Iterable

import msgspec

from dra_builders.values import claim, devices, driver_class, node, request, resource_slice, templated_pod
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.cycle.decisions import Decisions
from dra_scheduling.cycle.events import (
    BindRequestWrite,
    DisruptionWrites,
    LeadershipChanged,
    NodeClaimWrite,
    ObjectChanged,
    ObjectRemoved,
    WriteResult,
)
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.recorder import RecordedDeadlines, RecordedScheduler
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.cycle.timers import NO_DEADLINES, SearchDeadlines
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject

START = 1_767_225_600.0
FAILURES = tuple(result for result in WriteResult if result is not WriteResult.DONE)


class MemorySink:
    """Keeps recordings as lists of lines; each is full after so many."""

    def __init__(self, most_lines: int = 10**9) -> None:
        self.files: list[list[bytes]] = []
        self.errors: list[Exception] = []
        self._most_lines = most_lines

    @property
    def is_full(self) -> bool:
        return len(self.files[-1]) >= self._most_lines

    def begin(self, lines: Iterable[bytes]) -> None:
        self.files.append(list(lines))

    def write(self, line: bytes) -> None:
        if not self.errors:
            self.files[-1].append(line)

    def fail(self, error: Exception) -> None:
        self.errors.append(error)


class RecordedWorld:
    """A recorded loop that makes and removes nodes, and the files of its recording."""

    def __init__(self, most_lines: int = 10**9, deadlines: SearchDeadlines = NO_DEADLINES) -> None:
        self.now = START
        self.sink = MemorySink(most_lines)
        recorded = RecordedDeadlines(deadlines)
        settings = SchedulerSettings(cooldown_seconds=5.0, cycle_pods=4, plan=PlanSettings(), disruption_seconds=3.0)
        self.inner = Scheduler(settings, deadlines=recorded)
        self.loop = RecordedScheduler(self.inner, recorded, self.sink)
        self.loop.observe(LeadershipChanged(is_leading=True), self.now)

    def add(self, *values: KubernetesObject) -> None:
        for value in values:
            self.loop.observe(ObjectChanged(value), self.now)

    def remove(self, value: KubernetesObject) -> None:
        self.loop.observe(ObjectRemoved(value), self.now)

    def decide(self, steps: int = 10**9) -> Decisions:
        return self.loop.decide(self.now, steps)


class Chance:
    """Lets things happen in a world: pods, devices and nodes come and go, time passes, some writes fail."""

    def __init__(self, world: RecordedWorld, seed: int) -> None:
        self.world = world
        self._random = random.Random(seed)
        self._pods: dict[str, Pod] = {}
        self._number = 0
        world.add(node_pool(), instance_type(cpu=8, gpus=2), driver_class())
        world.add(node("n1", allocatable={"cpu": "4"}), resource_slice("s1", devices(2), node="n1"))

    def run(self, turns: int) -> None:
        """Let so many things happen, each followed by a call of `decide`."""
        doings: tuple[Callable[[], None], ...] = (
            self._plain_pod,
            self._gpu_pod,
            self._pod_goes,
            self._slice,
            self._wait,
        )
        for _ in range(turns):
            self._random.choice(doings)()
            self._carry_out(self.world.decide(self._random.choice((1, 60, 10**9))))

    def _name(self) -> str:
        self._number += 1
        return f"p{self._number}"

    def _plain_pod(self) -> None:
        pod = cpu_pod(self._name(), self._random.choice(("1", "3", "7", "100")))
        self._pods[pod.metadata.name] = pod
        self.world.add(pod)

    def _gpu_pod(self) -> None:
        name = self._name()
        pod = templated_pod(name, claims={"gpu": f"{name}-gpu"})
        self._pods[name] = pod
        self.world.add(claim(f"{name}-gpu", request(count=self._random.choice((1, 2, 9))), owner=pod), pod)

    def _pod_goes(self) -> None:
        if self._pods:
            pod = self._pods.pop(self._random.choice(sorted(self._pods)))
            if self._random.random() < 0.5:
                meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:30Z")
                self.world.add(msgspec.structs.replace(pod, metadata=meta))
            self.world.remove(pod)

    def _slice(self) -> None:
        self.world.add(resource_slice("s1", devices(self._random.choice((1, 2, 3))), node="n1"))

    def _wait(self) -> None:
        self.world.now += self._random.choice((0.3, 1.0, 4.0, 70.0))

    def _result(self) -> WriteResult:
        return self._random.choice(FAILURES) if self._random.random() < 0.3 else WriteResult.DONE

    def _carry_out(self, made: Decisions) -> None:
        world = self.world
        for one in made.assignments:
            self._bind(one, self._result())
        for order in made.node_claims:
            result = self._result()
            if result is WriteResult.DONE:
                world.add(order.claim)
            world.loop.observe(NodeClaimWrite(order.claim.name, result), world.now)
            if result is WriteResult.DONE:
                self._come_up(order.claim)
        for double in made.withdrawn:
            world.remove(double)
        if made.disruption:
            world.loop.observe(DisruptionWrites(frozenset(), self._result()), world.now)

    def _bind(self, one: Assignment, result: WriteResult) -> None:
        world, pod = self.world, one.pod
        world.loop.observe(BindRequestWrite(pod.key, pod.metadata.uid, result), world.now)
        if result is WriteResult.DONE and pod.metadata.name in self._pods:
            made = bind_request(one)
            world.add(made)
            bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=one.node))
            self._pods[pod.metadata.name] = bound
            world.add(bound)

    def _come_up(self, claim: NodeClaim) -> None:
        world = self.world
        labels = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}
        status = msgspec.structs.replace(claim.status, node_name=claim.name)
        world.add(msgspec.structs.replace(claim, status=status))
        world.add(node(claim.name, labels=labels, allocatable={"cpu": "8"}))
        world.add(resource_slice(claim.name, devices(2), node=claim.name))
