"""Every case, through the library."""

import random

import pytest

from dra_cases import Case, Decisions, Pending, cases, differences, faults
from dra_scheduling.basics.features import Features
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.state.assignments import Assignment, CycleResult
from dra_scheduling.wire import KubernetesObject
from dra_simulator.complete import complete
from dra_simulator.load import Loaded, Manifest

pytestmark = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def objects_of(case: Case) -> tuple[KubernetesObject, ...]:
    world = complete(Loaded(manifests=tuple(Manifest(file=case.path.name, raw=raw) for raw in case.objects)))
    assert not world.problems
    return world.objects


def cycle(objects: tuple[KubernetesObject, ...], features: Features) -> Decisions:
    cluster = Cluster(features=features)
    for value in objects:
        cluster.apply(value)
    return decisions_of(schedule(cluster, cluster.pending()))


def decisions_of(result: CycleResult) -> Decisions:
    assignments = [outcome for outcome in result.outcomes if isinstance(outcome, Assignment)]
    left = [outcome for outcome in result.outcomes if not isinstance(outcome, Assignment)]
    return Decisions(
        bind_requests={str(item.pod.key): bind_request(item) for item in assignments},
        pending={str(item.pod.key): Pending(str(item.pod.key), item.message, item.reasons) for item in left},
        steps=result.search_steps,
    )


def test_cases_come_out_as_they_say(case: Case) -> None:
    objects = objects_of(case)
    decisions = cycle(objects, case.features)
    assert differences(case.expectation, decisions) == []
    assert faults(objects, decisions) == []


def test_the_order_in_which_objects_are_seen_decides_nothing(case: Case) -> None:
    objects = objects_of(case)
    shuffled = list(objects)
    random.Random(case.name).shuffle(shuffled)
    assert cycle(tuple(shuffled), case.features) == cycle(objects, case.features)
