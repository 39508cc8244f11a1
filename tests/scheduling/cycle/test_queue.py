from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import claim, pod, request
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.cycle.queue import PROMPT_TRIES, SAFETY_NET, SchedulingQueue, backoff
from dra_scheduling.model.pods import Pod, PodCondition
from dra_scheduling.state.assignments import Assignment, Nominated, OutOfBudget, Unschedulable


def names(pods: Iterable[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def refused(value: Pod, wake: ClusterEvent = ClusterEvent.DEVICES) -> Unschedulable:
    return Unschedulable(pod=value, message="no", reasons=(), wake=wake)


def with_priority(value: Pod, priority: int, created: str = "") -> Pod:
    metadata = msgspec.structs.replace(value.metadata, creation_timestamp=created)
    return msgspec.structs.replace(
        value, metadata=metadata, spec=msgspec.structs.replace(value.spec, priority=priority)
    )


def waiting_queue(value: Pod, wake: ClusterEvent = ClusterEvent.DEVICES) -> SchedulingQueue:
    queue = SchedulingQueue()
    queue.offer(value, now=0)
    queue.settle(refused(queue.take(0, 1)[0], wake), now=0)
    return queue


def test_pods_are_taken_by_priority_then_age_then_name() -> None:
    queue = SchedulingQueue()
    for value in (
        with_priority(pod("b"), 0, "2026-01-01T00:00:00Z"),
        with_priority(pod("a"), 0, "2026-01-01T00:00:00Z"),
        with_priority(pod("young"), 0, "2026-01-02T00:00:00Z"),
        with_priority(pod("urgent"), 10, "2026-01-03T00:00:00Z"),
    ):
        queue.offer(value, now=0)

    assert names(queue.take(0, 3)) == ["urgent", "a", "b"]
    assert names(queue.take(0, 3)) == ["young"]


def test_of_one_priority_those_come_first_that_a_node_was_made_for() -> None:
    queue = SchedulingQueue()
    young, old, urgent = pod("young"), pod("old"), with_priority(pod("urgent"), 10)
    queue.offer(young, now=0)
    queue.take(0, 1)
    queue.settle(
        Nominated(pod=young, message="waits", reasons=(), wake=ClusterEvent.DEVICES, node_claim="claim"),
        now=0,
    )
    for value in (old, urgent):
        queue.offer(value, now=1)
    queue.wake_nominated("claim", now=1)

    assert names(queue.take(1, 3)) == ["urgent", "young", "old"]


def test_pods_of_one_node_claim_go_as_they_were_planned_and_not_by_name() -> None:
    queue = SchedulingQueue()
    for place, name in enumerate(["planned-first", "a-planned-second"]):
        queue.offer(pod(name), now=0)
        (taken,) = queue.take(0, 1)
        queue.settle(
            Nominated(
                pod=taken, message="waits", reasons=(), wake=ClusterEvent.DEVICES, node_claim="claim", place=place
            ),
            now=0,
        )
    queue.wake_nominated("claim", now=1)

    assert names(queue.take(1, 2)) == ["planned-first", "a-planned-second"]


def test_a_pod_that_waits_for_devices_sleeps_through_changes_of_nodes() -> None:
    queue = waiting_queue(pod("p"))

    queue.wake(ClusterEvent.NODE | ClusterEvent.CLAIMS, now=1)

    assert queue.take(1, 10) == ()


def test_a_pod_sleeps_through_changes_of_claims_that_it_does_not_name() -> None:
    queue = waiting_queue(pod("p", claims={"gpu": "mine"}), ClusterEvent.CLAIMS)

    queue.wake(ClusterEvent.CLAIMS, 1, claim("other"), claim("other", request()))
    assert queue.take(1, 10) == ()
    queue.wake(ClusterEvent.CLAIMS, 1, claim("mine"))

    assert names(queue.take(1, 10)) == ["p"]


def test_a_claim_whose_devices_become_free_wakes_pods_that_do_not_name_it() -> None:
    queue = waiting_queue(pod("p"), ClusterEvent.CLAIMS | ClusterEvent.DEVICES)

    queue.wake(ClusterEvent.CLAIMS | ClusterEvent.DEVICES, 1, claim("other"))

    assert names(queue.take(1, 10)) == ["p"]


def test_a_pod_that_waits_for_devices_is_woken_by_a_free_device() -> None:
    queue = waiting_queue(pod("p"))

    queue.wake(ClusterEvent.DEVICES, now=1)

    assert names(queue.take(1, 10)) == ["p"]


def test_a_pod_that_changes_never_helped_is_tried_once_a_second() -> None:
    queue = waiting_queue(pod("p"))
    tries = 0
    for tenth in range(100):
        queue.wake(ClusterEvent.DEVICES, tenth / 10)
        for taken in queue.take(tenth / 10, 1):
            tries += 1
            queue.settle(refused(taken), tenth / 10)

    assert tries == PROMPT_TRIES - 1 + 9


def test_a_pod_that_nothing_could_help_is_tried_by_the_safety_net() -> None:
    queue = waiting_queue(pod("p"), ClusterEvent.NOTHING)

    assert queue.next_time() == SAFETY_NET
    assert queue.take(SAFETY_NET - 1, 10) == ()
    assert names(queue.take(SAFETY_NET, 10)) == ["p"]


def test_a_pod_that_only_got_a_condition_is_not_tried_again() -> None:
    queue = waiting_queue(pod("p"))
    status = msgspec.structs.replace(pod("p").status, conditions=(PodCondition(type="PodScheduled", status="False"),))

    queue.offer(msgspec.structs.replace(pod("p"), status=status), now=1)

    assert queue.take(1, 10) == ()


def test_a_pod_whose_gate_was_removed_is_tried_again() -> None:
    queue = waiting_queue(pod("p"), ClusterEvent.POD)

    queue.offer(with_priority(pod("p"), 5), now=1)

    assert names(queue.take(1, 10)) == ["p"]


def test_a_ready_pod_that_becomes_urgent_overtakes() -> None:
    queue = SchedulingQueue()
    for name in "abc":
        queue.offer(pod(name), now=0)

    queue.offer(with_priority(pod("c"), 5), now=0)

    assert names(queue.take(0, 10)) == ["c", "a", "b"]


def test_an_assigned_pod_has_left() -> None:
    queue = SchedulingQueue()
    queue.offer(pod("p"), now=0)
    queue.settle(Assignment(pod=queue.take(0, 1)[0], node="n"), now=0)

    assert len(queue) == 0
    assert queue.next_time() is None


def test_a_pod_whose_search_ran_out_of_budget_is_tried_again_later_and_later() -> None:
    queue = SchedulingQueue()
    queue.offer(pod("p"), now=0)
    now, pauses = 0.0, []
    for _ in range(4):
        (taken,) = queue.take(now, 1)
        queue.settle(OutOfBudget(pod=taken, message="", reasons=(), wake=ClusterEvent.NOTHING), now)
        then = queue.next_time()
        assert then is not None
        pauses.append(then - now)
        now = then

    assert pauses == [1, 2, 4, 8]


def test_a_failed_bind_holds_the_pod_back_whatever_changes() -> None:
    queue = SchedulingQueue()
    queue.failed("uid-default-p", attempts=3, at=100)

    queue.offer(pod("p"), now=101)
    queue.wake(ClusterEvent.DEVICES | ClusterEvent.NODE, now=102)

    assert queue.take(103.9, 1) == ()
    assert names(queue.take(104, 1)) == ["p"]


def test_failures_outlive_the_bind_request_but_not_the_pod() -> None:
    queue = SchedulingQueue()
    queue.failed("uid-default-p", attempts=1, at=100)
    queue.withdraw("uid-default-p")
    queue.failed("uid-default-p", attempts=1, at=200)
    queue.offer(pod("p"), now=201)
    assert queue.next_time() == 202

    queue.forget("uid-default-p")
    queue.offer(pod("p"), now=201)

    assert queue.next_time() == 0


def test_a_failure_told_twice_counts_once() -> None:
    queue = SchedulingQueue()
    for _ in range(3):
        queue.failed("uid-default-p", attempts=1, at=100)

    queue.offer(pod("p"), now=100)

    assert queue.next_time() == 101


@pytest.mark.parametrize(("failures", "pause"), [(0, 1), (1, 1), (2, 2), (5, 16), (9, 256), (10, 300), (10_000, 300)])
def test_the_pause_doubles_up_to_five_minutes(failures: int, pause: float) -> None:
    assert backoff(failures) == pause


def test_a_failing_pod_leaves_room_for_others() -> None:
    queue = SchedulingQueue()
    queue.offer(with_priority(pod("urgent"), 10), now=0)
    queue.offer(pod("other"), now=0)

    queue.failed("uid-default-urgent", attempts=1, at=0)

    assert names(queue.take(0, 1)) == ["other"]


def test_pods_that_come_and_go_in_a_replica_that_only_stands_by_do_not_pile_up() -> None:
    queue = SchedulingQueue()
    for number in range(5_000):
        passing = pod(f"p{number}")
        queue.offer(passing, now=0)
        queue.forget(passing.metadata.uid)
    assert len(queue._ready) < 2_000  # noqa: SLF001  what is measured is not visible outside


def test_timers_of_pods_that_moved_on_do_not_pile_up() -> None:
    queue = waiting_queue(pod("p"))
    for now in range(5_000):
        queue.wake(ClusterEvent.DEVICES, now)
        queue.settle(refused(queue.take(now, 1)[0]), now)

    assert queue.next_time() == 4_999 + SAFETY_NET
    assert len(queue._timers) < 2_000  # noqa: SLF001  what is measured is not visible outside


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["offer", "wake", "take", "fail", "forget"]))))
def test_every_known_pod_is_in_exactly_one_state_and_none_is_lost(steps: list[tuple[str, str]]) -> None:
    queue, known = SchedulingQueue(), set[str]()
    for now, (name, step) in enumerate(steps):
        uid = f"uid-default-{name}"
        if step == "offer":
            queue.offer(pod(name), now)
            known.add(name)
        elif step == "wake":
            queue.wake(ClusterEvent.DEVICES, now)
        elif step == "take":
            for taken in queue.take(now, 2):
                queue.settle(refused(taken), now)
        elif step == "fail":
            queue.failed(uid, 1, now)
        else:
            queue.forget(uid)
            known.discard(name)
        depth = queue.depth
        assert depth.ready + depth.waiting + depth.held == len(queue) == len(known)

    assert sorted(names(queue.take(len(steps) + 1_000, 10))) == sorted(known)
