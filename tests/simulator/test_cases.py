"""Every case, through `dra simulate`."""

import json

import pytest

from dra_cases import Case, Decisions, cases, differences
from dra_cases.command import dra


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_cases_come_out_as_they_say(case: Case) -> None:
    ended = dra("simulate", str(case.path), "-o", "json", "--feature-gates", case.switches)
    assert ended.code == 0, ended.err
    assert differences(case.expectation, Decisions.of_result(json.loads(ended.out))) == []
