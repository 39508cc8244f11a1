"""Worlds without enough nodes, each with what must be planned: see README.md beside this file."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_cases.planning import Json
from dra_cases.turns import Play, Turn, steps_of, unlike
from dra_scheduling.cluster import Cluster
from dra_scheduling.provisioning import PlanOptions
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.provisioning.planner import Planner, planning_order

FOLDER = Path(__file__).parent
DEFAULTS: Json = {"pools": {"default": {}}}


def cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            yield pytest.param({**DEFAULTS, **case}, id=f"{path.stem}: {case['name']}")


def played(case: Json, order: random.Random | None = None) -> Iterator[tuple[Json, Turn]]:
    play = Play(case.get("features"), order)
    for step in steps_of(case):
        play.add(step)
        yield step, play.turn()


@pytest.mark.parametrize("case", list(cases()))
def test_a_world_comes_out_as_the_case_says(case: Json) -> None:
    for number, (step, turn) in enumerate(played(case)):
        assert unlike(turn, step) == [], f"turn {number}"


@pytest.mark.parametrize("case", list(cases()))
def test_the_order_in_which_objects_are_seen_changes_no_plan(case: Json) -> None:
    for step, turn in played(case, random.Random(case["name"])):
        assert unlike(turn, step) == []


@pytest.mark.parametrize("case", list(cases()))
def test_planning_again_changes_nothing(case: Json) -> None:
    play = Play(case.get("features"))
    for step in steps_of(case):
        play.add(step)
        first = play.turn().planned
        again = play.turn().planned

        assert (again.created, again.extended) == ((), ())
        assert {one.pod.key for one in again.refused} == {one.pod.key for one in first.refused}
        assert {one.pod.key: one.node_claim for one in again.nominations} == {
            one.pod.key: one.node_claim for one in first.nominations
        }


@pytest.mark.parametrize("case", list(cases()))
def test_a_part_of_a_plan_that_is_undone_is_planned_again_as_before(case: Json) -> None:
    play = Play(case.get("features"))
    for step in steps_of(case):
        play.add(step)
        asked = sorted(asked_for(play.cluster), key=planning_order)
        for kept in {0, 1, len(asked) // 2}:
            with play.cluster.statement() as trial:
                planner = Planner(play.cluster, PlanOptions())
                places(planner, asked[:kept])
                point, before = trial.checkpoint(), plan_of(planner)
                first = places(planner, asked[kept:]), plan_of(planner)
                trial.rollback(point)
                assert plan_of(planner) == before
                assert (places(planner, asked[kept:]), plan_of(planner)) == first
        play.turn()


def asked_for(cluster: Cluster) -> Iterator[PendingPod]:
    for pod in cluster.pending():
        found = ask(cluster, pod)
        if isinstance(found, PendingPod):
            yield found


def places(planner: Planner, pods: Iterable[PendingPod]) -> list[object]:
    return [planner.place(one) for one in pods]


def plan_of(planner: Planner) -> list[object]:
    """Return what is known of each host of the plan, and what devices claims are to have."""
    return [
        dict(planner.hosts.context.allocator.records),
        *(planner.write(host) for host in planner.opened),
        *planner.joined(),
        *(
            (host.types, host.requirements, dict(host.used), dict(host.of_node), host.ports, tuple(host.pods))
            for host in planner.hosts.all
        ),
    ]
