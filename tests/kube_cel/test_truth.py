from pathlib import Path

import pytest
import yaml

from kube_cel import (
    CelErrorKind,
    CompileError,
    DeviceView,
    EvaluationError,
    admission_problem,
    compile_selector,
)

TRUTH = yaml.safe_load((Path(__file__).parent / "truth.yaml").read_text())
LETTERS = {
    CelErrorKind.NO_SUCH_KEY: "K",
    CelErrorKind.NO_SUCH_OVERLOAD: "O",
    CelErrorKind.NOT_BOOL: "B",
    CelErrorKind.DIVIDE_BY_ZERO: "Z",
    CelErrorKind.OVERFLOW: "I",
    CelErrorKind.COST: "X",
    CelErrorKind.PARSE: "P",
    CelErrorKind.OTHER: "E",
}


def written_out(expression: str) -> str:
    return (
        expression.replace("$A", 'device.attributes["acc.example.org"]')
        .replace("$C", 'device.capacity["acc.example.org"]')
        .replace("$N", 'device.attributes["net.example.org"]')
    )


def answer(expression: str, device: DeviceView) -> str:
    try:
        return "T" if compile_selector(expression).evaluate(device) else "F"
    except EvaluationError as error:
        return LETTERS[error.kind]


ROWS = [
    pytest.param(written_out(expression), dict(zip(table["order"], letters, strict=True)), id=expression)
    for table in TRUTH["tables"]
    for expression, *letters in table["rows"]
]
CHEAP, COSTLY = (
    [
        written_out(expression)
        for table in TRUTH["tables"]
        if table.get("too_costly", False) is wanted
        for expression, *_ in table["rows"]
    ]
    for wanted in (False, True)
)


@pytest.mark.parametrize(("expression", "expected"), ROWS)
def test_each_device_gets_the_answer_of_kubernetes(
    expression: str, expected: dict[str, str], devices: dict[str, DeviceView]
) -> None:
    assert {name: answer(expression, devices[name]) for name in expected} == expected


@pytest.mark.parametrize("expression", CHEAP)
def test_what_is_cheap_enough_is_admitted(expression: str) -> None:
    assert admission_problem(expression) is None


@pytest.mark.parametrize("expression", COSTLY)
def test_what_is_estimated_above_the_limit_is_refused_when_new(expression: str) -> None:
    problem = admission_problem(expression)

    assert problem is not None
    assert "exceeds the cost limit of 1000000" in problem


@pytest.mark.parametrize(("expression", "words"), TRUTH["refused"])
def test_what_can_never_work_does_not_compile(expression: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_selector(written_out(expression))

    assert words in caught.value.problem
