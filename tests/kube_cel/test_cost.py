from pathlib import Path

import pytest
import yaml

from kube_cel import (
    CelErrorKind,
    DeviceView,
    EvaluationError,
    admission_problem,
    compile_selector,
    estimate_cost,
)

COSTS = yaml.safe_load((Path(__file__).parent / "costs.yaml").read_text())
DEVICE = DeviceView.of("acc.example.org", {}, {})
PAIR = {"a list": "[{0}, {0}]", "a map": "{{'a': {0}, 'b': {0}}}", "a sum": "{0} + {0}"}


def doubled(rounds: int, step: str, first: str, last: str) -> str:
    """Returns an expression that binds v1, v2, ... to `step` of the one before, and ends in `last` of the last."""
    expression = last.format(f"v{rounds}")
    for number in range(rounds, 0, -1):
        expression = f"cel.bind(v{number}, {step.format(f'v{number - 1}')}, {expression})"
    return f"cel.bind(v0, {first}, {expression})"


def failure(expression: str) -> CelErrorKind:
    with pytest.raises(EvaluationError) as caught:
        compile_selector(expression).evaluate(DEVICE)
    return caught.value.kind


@pytest.mark.parametrize(("expression", "cost"), COSTS)
def test_the_estimate_is_that_of_the_api_server(expression: str, cost: int) -> None:
    written_out = expression.replace("$A", 'device.attributes["acc.example.org"]').replace(
        "$C", 'device.capacity["acc.example.org"]'
    )

    assert estimate_cost(written_out) == cost


def test_admission_says_by_how_much_the_limit_is_exceeded() -> None:
    loops = "lists.range(200).all(a, lists.range(200).all(b, lists.range(10).all(c, a + b + c >= 0)))"

    assert admission_problem(loops) == "too complex, exceeds the cost limit of 1000000 4.6 times"
    assert str(admission_problem("type(device) == int")).endswith("more than 100 times")


def test_an_evaluation_stops_at_the_limit() -> None:
    assert failure("lists.range(2000).all(a, lists.range(2000).all(b, a + b >= 0))") is CelErrorKind.COST


def test_no_operand_hides_that_the_limit_was_reached() -> None:
    endless = "lists.range(2000).all(a, lists.range(2000).all(b, a + b >= 0))"

    assert failure(f"{endless} || true") is CelErrorKind.COST
    assert failure(f"[1, 2].exists(x, {endless} || x == 2)") is CelErrorKind.COST


def test_what_is_estimated_too_high_but_costs_little_is_evaluated() -> None:
    assert estimate_cost("type(device.driver) == string && ['a', 'b'].join('-') == 'a-b'") > 1_000_000
    assert compile_selector("type(device.driver) == string && ['a', 'b'].join('-') == 'a-b'").evaluate(DEVICE)


@pytest.mark.parametrize("rounds", [20, 40])
@pytest.mark.parametrize("step", PAIR.values(), ids=PAIR)
def test_comparing_values_that_share_parts_does_not_take_for_ever(step: str, rounds: int) -> None:
    assert failure(doubled(rounds, step, "[1, 1]", "{0} == {0}")) is CelErrorKind.COST


@pytest.mark.parametrize(
    ("step", "first", "last"),
    [
        ("{0} + {0}", "'ab'", "{0}.size() == 1"),
        ("{0} + {0}", "[1, 1]", "{0}.size() == 1"),
        ("'%s%s'.format([{0}, {0}])", "'ab'", "{0}.size() == 1"),
        ("[{0}, {0}]", "[1, 1]", "'%s'.format([{0}]) == ''"),
        ("[{0}, {0}]", "[1, 1]", "[{0}, {0}].flatten(50) == [[]]"),
        ("{0}.replace('a', 'aa')", "'a'", "{0} == {0}"),
        ("[{0}, {0}].join({0})", "'a'", "{0} == {0}"),
        ("{0}.map(x, {0}).flatten()", "[1, 1]", "{0}.size() == 1"),
    ],
)
def test_no_value_grows_without_bound(step: str, first: str, last: str) -> None:
    assert failure(doubled(40, step, first, last)) is CelErrorKind.COST


def test_a_list_that_is_longer_than_estimated_is_counted() -> None:
    squared = "lists.range(400).map(x, lists.range(400)).flatten()"

    assert estimate_cost(f"{squared}.all(x, x >= 0)") < 1_000_000
    assert failure(f"{squared}.all(x, x >= 0)") is CelErrorKind.COST
    assert failure(f"{squared}.distinct().size() == 1") is CelErrorKind.COST
