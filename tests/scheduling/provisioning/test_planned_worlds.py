"""Worlds without enough nodes, each with what must be planned: see README.md beside this file."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_cases.planning import Json
from dra_cases.turns import Play, Turn, steps_of, unlike

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
