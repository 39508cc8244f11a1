"""Plans over candidates, each with what must come out: see README.md beside this file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_cases.planning import Json, Plan, given, needs_of
from dra_scheduling.basics.reasons import fold
from dra_scheduling.template_devices import Allotment, CandidateAnswer, Denied

FOLDER = Path(__file__).parent


def cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize("case", list(cases()))
def test_a_plan_is_made_as_the_case_says(case: Json) -> None:
    plan = Plan(case)

    for step in case.get("steps", [case]):
        if "release" in step:
            plan.allocator.release(step["of"], step["release"])
        elif "retain" in step:
            plan.allocator.retain(step["of"], step["retain"])
        else:
            answer = plan.ask(
                step.get("ask", "nc"), step.get("claims", ["c"]) if "steps" in case else list(plan.claims)
            )
            check(answer, step)
            if isinstance(answer, Allotment) and step.get("keep", True):
                plan.allocator.commit(answer)


def check(answer: CandidateAnswer, step: Json) -> None:
    if "says" in step:
        assert isinstance(answer, Denied), answer
        (text,) = fold([answer.refusal])
        for part in step["says"] if isinstance(step["says"], list) else [step["says"]]:
            assert part in text.message
        return
    assert isinstance(answer, Allotment), answer
    expected = {
        "gives": given(answer),
        "stay": list(answer.types),
        "needs": needs_of(answer.requirements),
        "names": {one.name: [use.request for claim in one.claims for use in claim.uses] for one in answer.served},
        "consumes": {
            one.name: [dict(use.consumed or ()) for claim in one.claims for use in claim.uses] for one in answer.served
        },
    }
    for key, value in expected.items():
        if key in step:
            assert value == step[key], key
    for name, part in step.get("pruned", {}).items():
        assert part in fold([one.refusal for one in answer.pruned if one.name == name])[0].message
