import queue
import threading
from typing import Self

import msgspec
import pytest

from dra_controlplane.waiting import wait_until
from dra_operating.core import ToldCore
from dra_operating.objects import at, bind_request
from dra_operator.cycle import (
    Calls,
    CycleThread,
    Lead,
    Level,
    SchedulerCore,
    Stop,
    Unwritten,
    Written,
)
from dra_operator.metrics import REGISTRY
from dra_operator.provisioning import Plans
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import NewBudget, by_steps
from dra_scheduling.cycle.allocate import bind_request as decided
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.disruption import Step
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus
from dra_scheduling.model.device_taint_rules import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.assignments import Assignment, Nominated, Outcome, Unschedulable
from dra_scheduling.testing import (
    allocated,
    claim,
    container,
    devices,
    driver_class,
    node,
    pod,
    request,
    resource_slice,
)

EXTENDED = "example.com/gpu"


def gpu_pod(name: str, count: int = 1) -> Pod:
    return pod(name, container(limits={EXTENDED: str(count)}))


class World(ToldCore):
    """A scheduler core with a cluster that a test fills."""

    def __init__(self, cycle_pods: int = 100, new_budget: NewBudget = by_steps) -> None:
        core = SchedulerCore(Cluster(), SchedulingQueue(), cycle_pods=cycle_pods, new_budget=new_budget)
        super().__init__(core, now=100.0)

    def decide(self) -> list[tuple[str, str]]:
        """The pods decided about, each with its node or nothing."""
        return [(one.pod.metadata.name, getattr(one, "node", "")) for one in self.core.decide(self.now).outcomes]

    def gpu_node(self, name: str, count: int = 1) -> None:
        self.add(node(name), resource_slice(f"slice-{name}", devices(count), node=name))
        self.add(driver_class(extended_resource_name=EXTENDED))


@pytest.fixture
def world() -> World:
    return World()


def failed(request: BindRequest, attempts: int, time: str) -> BindRequest:
    status = BindRequestStatus(phase=FAILED, failed_attempts=attempts, observed_generation=1, last_attempt_time=time)
    return msgspec.structs.replace(request, status=status)


def test_a_pod_is_decided_about_once(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("p"))

    assert world.decide() == [("p", "n1")]
    assert world.decide() == []


def test_a_replica_that_does_not_lead_decides_nothing(world: World) -> None:
    world.core.take_in(Lead(is_leading=False), world.now)
    world.gpu_node("n1")
    world.add(gpu_pod("p"))
    assert world.decide() == []

    world.core.take_in(Lead(is_leading=True), world.now)

    assert world.decide() == [("p", "n1")]


def test_a_device_is_taken_between_the_decision_and_its_sight(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("a"), gpu_pod("b"))

    assert world.decide() == [("a", "n1"), ("b", "")]


def test_a_pod_waits_until_a_device_is_free(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("a"), gpu_pod("b"))
    world.decide()
    world.add(at(node("n1", labels={"unrelated": "x"}), 2))
    world.decide()

    world.remove(gpu_pod("a"))

    assert world.decide() == [("b", "n1")]


def test_a_pod_waits_until_a_rule_against_its_devices_goes(world: World) -> None:
    taint = Taint(key="example.com/broken", effect="NoExecute")
    spec = DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector())
    rule = DeviceTaintRule(metadata=ObjectMeta(name="maintenance"), spec=spec)
    world.gpu_node("n1")
    world.add(rule, gpu_pod("p"))
    assert world.decide() == [("p", "")]
    assert world.decide() == []

    world.remove(rule)

    assert world.decide() == [("p", "n1")]


def test_a_pod_whose_time_is_up_pauses_and_holds_up_nobody() -> None:
    budgets = [SearchBudget(is_late=lambda: True), SearchBudget(), SearchBudget()]
    world = World(new_budget=lambda: budgets.pop(0))
    world.gpu_node("n1", 2)
    world.add(gpu_pod("a"), gpu_pod("b"))
    assert world.decide() == [("a", ""), ("b", "n1")]
    assert world.decide() == []

    world.now += world.core.pause(world.now)

    assert world.decide() == [("a", "n1")]


def test_a_living_bind_request_of_a_former_process_is_adopted(world: World) -> None:
    world.gpu_node("n1")
    world.add(bind_request(gpu_pod("p"), "gpu-0"), gpu_pod("p"))

    assert world.decide() == []


def test_a_bind_request_of_a_former_pod_of_that_name_holds_nobody_back(world: World) -> None:
    world.gpu_node("n1")
    world.add(bind_request(at(gpu_pod("p"), 1, uid="former")), gpu_pod("p"))

    assert world.decide() == [("p", "n1")]


def test_a_decision_that_could_not_be_written_is_made_again_after_a_pause(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("p"))
    world.decide()
    world.core.take_in(Unwritten(gpu_pod("p")), world.now)
    assert world.decide() == []

    world.now += 1

    assert world.decide() == [("p", "n1")]


def test_the_device_of_a_decision_that_could_not_be_written_is_free_for_others(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("a"), gpu_pod("b"))
    world.decide()

    world.core.take_in(Unwritten(gpu_pod("a")), world.now)

    assert world.decide() == [("b", "n1")]


def test_a_failed_bind_is_decided_anew_after_the_pause_that_its_attempts_ask_for(world: World) -> None:
    world.now = 1_767_225_600.0
    world.gpu_node("n1")
    request = bind_request(gpu_pod("p"), "gpu-0")
    world.add(failed(request, 3, "2026-01-01T00:00:00Z"), gpu_pod("p"))

    world.now += 3.9
    assert world.decide() == []
    world.now += 0.1
    assert world.decide() == [("p", "n1")]


def test_a_clock_that_is_ahead_does_not_make_a_pause_longer(world: World) -> None:
    world.now = 1_767_225_600.0
    world.gpu_node("n1")
    world.add(gpu_pod("p"), failed(bind_request(gpu_pod("p"), "gpu-0"), 1, "2026-01-01T00:30:00Z"))

    world.now += 1

    assert world.decide() == [("p", "n1")]


def test_the_pause_outlives_the_bind_request(world: World) -> None:
    world.now = 1_767_225_600.0
    world.gpu_node("n1")
    world.add(gpu_pod("p"))
    world.decide()
    request = failed(bind_request(gpu_pod("p"), "gpu-0"), 5, "2026-01-01T00:00:00Z")
    world.add(request)
    world.remove(request)

    world.now += 15.9
    assert world.decide() == []
    world.now += 0.1
    assert world.decide() == [("p", "n1")]


def test_a_pod_whose_binds_fail_leaves_its_device_to_others_meanwhile(world: World) -> None:
    world.gpu_node("n1")
    world.add(failed(bind_request(gpu_pod("a"), "gpu-0"), 3, ""), gpu_pod("a"), gpu_pod("b"))

    assert world.decide() == [("b", "n1")]


def test_decisions_are_not_made_faster_than_they_are_written() -> None:
    world = World(cycle_pods=2)
    world.gpu_node("n1", 10)
    world.add(*(gpu_pod(f"p{number}") for number in range(10)))
    made = [*world.decide(), *world.decide(), *world.decide()]
    assert len(made) == 4

    world.core.take_in(Written("uid-default-p0"), world.now)

    assert len(world.decide()) == 1


def test_no_more_pods_than_asked_for_are_decided_in_one_cycle() -> None:
    world = World(cycle_pods=3)
    world.gpu_node("n1", 10)
    world.add(*(gpu_pod(f"p{number}") for number in range(10)))

    assert len(world.decide()) == 3


def test_a_pod_that_makes_a_decision_fail_harms_no_other(world: World) -> None:
    world.gpu_node("n1", 4)
    # No reader makes such a value: it stands for whatever nobody has thought of.
    poisoned = gpu_pod("poisoned")
    spec = msgspec.structs.replace(poisoned.spec, containers=(None,))
    world.add(gpu_pod("a"), msgspec.structs.replace(poisoned, spec=spec), gpu_pod("z"))

    assert world.decide() == [("a", "n1"), ("z", "n1")]
    assert world.core.pause(world.now) == 1.0


class Scheduling:
    """A running thread, and what it called."""

    def __init__(self) -> None:
        self.outcomes: queue.SimpleQueue[Plans] = queue.SimpleQueue()
        self.steps: queue.SimpleQueue[tuple[Step, ...]] = queue.SimpleQueue()
        self.failures: list[BaseException] = []
        self.questions = threading.Semaphore(0)
        calls = Calls(
            ask_level=self.questions.release,
            deliver=self.outcomes.put,
            disrupt=self.steps.put,
            failed=self.failures.append,
        )
        core = SchedulerCore(Cluster(), SchedulingQueue(), cycle_pods=10)
        self.thread = CycleThread(core, clock=lambda: 100.0, calls=calls)
        self.thread.inbox.put(Lead(is_leading=True))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.inbox.put(Stop())
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()

    def outcome(self) -> Outcome | Nominated:
        """Waits until the thread asks whether all is read, says so, and returns what it decides."""
        assert self.questions.acquire(timeout=60)
        self.thread.inbox.put(Level())
        (outcome,) = self.outcomes.get(timeout=60).outcomes
        return outcome


def test_the_thread_takes_in_and_decides() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(node("n1"))
        scheduling.thread.changed(pod("p"))

        outcome = scheduling.outcome()

    assert isinstance(outcome, Assignment)
    assert (outcome.node, scheduling.failures) == ("n1", [])


def test_nothing_is_decided_before_the_rest_of_the_news_was_read() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(pod("p"))
        assert scheduling.questions.acquire(timeout=60)

        scheduling.thread.changed(node("n1"))
        scheduling.thread.inbox.put(Level())
        (outcome,) = scheduling.outcomes.get(timeout=60).outcomes

    assert isinstance(outcome, Assignment)


def test_an_object_that_cannot_be_taken_in_does_not_end_the_thread() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(Node(metadata=None))  # type: ignore[arg-type]
        scheduling.thread.changed(pod("p"))

        outcome = scheduling.outcome()

    assert isinstance(outcome, Unschedulable)
    assert scheduling.failures == []


def test_the_figures_follow_the_news_where_there_is_nothing_to_decide() -> None:
    with Scheduling() as scheduling:
        scheduling.thread.changed(allocated(claim("c", request()), DeviceID("d", "n1", "gpu-0")))

        wait_until(lambda: REGISTRY.get_sample_value("dra_devices_held") == 1, "the ledger's figure to follow")


def test_what_was_decided_is_written_with_the_pods_uid() -> None:
    assert decided(Assignment(pod=pod("p"), node="n1")).spec.pod_uid == "uid-default-p"
