import msgspec
import pytest

from dra_builders.values import (
    container,
    devices,
    driver_class,
    node,
    pod,
    resource_slice,
)
from dra_operating.core import LateAtFirst, ToldCore
from dra_operating.objects import at, bind_request
from dra_scheduling.allocation.search_budget import SECONDS_PER_POD
from dra_scheduling.cycle.allocate import bind_request as decided
from dra_scheduling.cycle.events import BindRequestWrite, LeadershipChanged, WriteResult
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.cycle.scheduler_state import SchedulerSettings
from dra_scheduling.cycle.timers import NO_DEADLINES, SearchDeadlines
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus
from dra_scheduling.model.device_taint_rules import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment

EXTENDED = "example.com/gpu"


def gpu_pod(name: str, count: int = 1) -> Pod:
    return pod(name, container(limits={EXTENDED: str(count)}))


class World(ToldCore):
    """A scheduler core with a cluster that a test fills."""

    def __init__(self, cycle_pods: int = 100, deadlines: SearchDeadlines = NO_DEADLINES) -> None:
        super().__init__(Scheduler(SchedulerSettings(cycle_pods=cycle_pods), deadlines=deadlines), now=100.0)

    def decide(self) -> list[tuple[str, str]]:
        """The pods decided about, each with its node or nothing."""
        return [(one.pod.metadata.name, getattr(one, "node", "")) for one in self.scheduler.decide(self.now).outcomes]

    def gpu_node(self, name: str, count: int = 1) -> None:
        self.add(node(name), resource_slice(f"slice-{name}", devices(count), node=name))
        self.add(driver_class(extended_resource_name=EXTENDED))


@pytest.fixture
def world() -> World:
    return World()


def not_written(pod: Pod) -> BindRequestWrite:
    return BindRequestWrite(pod.key, pod.metadata.uid, WriteResult.LOST)


def failed(request: BindRequest, attempts: int, time: str) -> BindRequest:
    status = BindRequestStatus(phase=FAILED, failed_attempts=attempts, observed_generation=1, last_attempt_time=time)
    return msgspec.structs.replace(request, status=status)


def test_a_pod_is_decided_about_once(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("p"))

    assert world.decide() == [("p", "n1")]
    assert world.decide() == []


def test_a_replica_that_does_not_lead_decides_nothing(world: World) -> None:
    world.scheduler.observe(LeadershipChanged(is_leading=False), world.now)
    world.gpu_node("n1")
    world.add(gpu_pod("p"))
    assert world.decide() == []

    world.scheduler.observe(LeadershipChanged(is_leading=True), world.now)

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
    world = World(deadlines=LateAtFirst(SECONDS_PER_POD))
    world.gpu_node("n1", 2)
    world.add(gpu_pod("a"), gpu_pod("b"))
    assert world.decide() == [("b", "n1"), ("a", "")]
    assert world.decide() == []

    world.now += world.pause()

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
    world.scheduler.observe(not_written(gpu_pod("p")), world.now)
    assert world.decide() == []

    world.now += 1

    assert world.decide() == [("p", "n1")]


def test_the_device_of_a_decision_that_could_not_be_written_is_free_for_others(world: World) -> None:
    world.gpu_node("n1")
    world.add(gpu_pod("a"), gpu_pod("b"))
    world.decide()

    world.scheduler.observe(not_written(gpu_pod("a")), world.now)

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

    world.scheduler.observe(BindRequestWrite(gpu_pod("p0").key, "uid-default-p0", WriteResult.DONE), world.now)

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
    assert world.pause() == 1.0


def test_what_was_decided_is_written_with_the_pods_uid() -> None:
    assert decided(Assignment(pod=pod("p"), node="n1")).spec.pod_uid == "uid-default-p"
