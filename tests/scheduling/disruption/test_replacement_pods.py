"""Pods that had to go leave somebody to be expected, for a short time and only where an owner makes another one."""

import pytest
from msgspec.structs import replace

from dra_cases.fleet import BORN, NOW, Fleet, pod
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.disruption import DisruptionView, Successors
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import read

START = seconds_of(NOW)
KEY = ObjectKey("default", "one")


class Watch:
    """A node that goes with a pod on it, and one that stays; somebody looks every second."""

    def __init__(self, goes: str = "a") -> None:
        self.fleet = Fleet()
        for name in ("a", "b"):
            self.fleet.node(name)
        self.fleet.pod("one", "a")
        going = self.fleet.claim_of(goes)
        self.fleet.cluster.apply(replace(going, metadata=replace(going.metadata, deletion_timestamp=BORN)))
        self.successors = Successors()
        self.now = START

    def looks(self, seconds: float = 1.0) -> bool:
        """Whether any pod is expected by then."""
        self.now += seconds
        self.successors.look(DisruptionView(self.fleet.cluster), self.now)
        return self.successors.are_expected

    def lose(self) -> None:
        self.fleet.cluster.remove(Pod, KEY)


def test_a_pod_is_expected_once_its_predecessor_is_gone_and_until_it_is_there() -> None:
    watch = Watch()
    assert not watch.looks()
    watch.lose()
    assert watch.looks()
    watch.fleet.pod("two")

    assert not watch.looks()


def test_nobody_waits_for_ever_for_an_owner_that_makes_none() -> None:
    watch = Watch()
    watch.looks()
    watch.lose()
    watch.looks()

    assert watch.looks(14.0)
    assert not watch.looks()


def test_of_a_pod_that_takes_its_time_to_end_another_one_is_expected_after_that() -> None:
    watch = Watch()
    watch.looks()
    ending = read(pod("one", "a", is_deleting=True))
    assert isinstance(ending, Pod)
    watch.fleet.cluster.apply(
        replace(ending, metadata=replace(ending.metadata, deletion_timestamp="2026-01-02T00:01:00Z"))
    )

    assert watch.looks()
    assert watch.looks(72.0)
    assert not watch.looks()


def test_a_successor_that_was_made_before_its_predecessor_was_gone_counts() -> None:
    watch = Watch()
    watch.looks()
    watch.lose()
    watch.fleet.pod("two")

    assert not watch.looks()


def test_each_pod_that_is_gone_has_a_successor_of_its_own() -> None:
    watch = Watch()
    watch.fleet.pod("other", "a")
    watch.looks()
    watch.lose()
    watch.fleet.cluster.remove(Pod, ObjectKey("default", "other"))
    watch.fleet.pod("two")
    assert watch.looks()
    watch.fleet.pod("three")

    assert not watch.looks()


def test_a_pod_without_an_owner_has_no_successor() -> None:
    watch = Watch()
    bare = watch.fleet.cluster.pod(KEY)
    assert bare is not None
    watch.fleet.cluster.apply(replace(bare, metadata=replace(bare.metadata, owner_references=())))
    watch.looks()
    watch.lose()

    assert not watch.looks()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_needs_no_successor(phase: str) -> None:
    watch = Watch()
    watch.looks()
    watch.fleet.pod("one", "a", phase=phase)

    assert not watch.looks()


def test_a_pod_that_goes_from_a_node_that_stays_is_the_business_of_others() -> None:
    watch = Watch(goes="b")
    watch.looks()
    watch.lose()

    assert not watch.looks()
