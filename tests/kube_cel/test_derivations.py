"""Expressions that give a device an attribute."""

import pickle

import pytest

from kube_cel import AttributeValue, CompileError, DeviceView, EvaluationError, compile_derivation
from kube_cel.semver import Version

DEVICE = DeviceView.of("a", {"numa": 1, "model": "x", "links": (1, 2), "driverVersion": Version.parse("1.2.3")}, {})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("device.driver", "a"),
        ("device.attributes['a'].numa + 1", 2),
        ("device.attributes['a'].numa == 1", True),
        ("semver('1.2.3')", Version.parse("1.2.3")),
        ("device.attributes['a'].driverVersion", Version.parse("1.2.3")),
        ("device.attributes['a'].links", (1, 2)),
        ("['p', device.driver]", ("p", "a")),
        ("[]", ()),
    ],
)
def test_a_derivation_gives_what_an_attribute_can_be(expression: str, value: AttributeValue) -> None:
    assert compile_derivation(expression).evaluate(DEVICE) == value


@pytest.mark.parametrize("expression", ["1.5", "1u", "null", "device.capacity", "[[1]]", "quantity('1')", "[1.5]"])
def test_what_no_attribute_can_be_does_not_compile(expression: str) -> None:
    with pytest.raises(CompileError, match="must evaluate to string, int, bool or semver, or a list of one of these"):
        compile_derivation(expression)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("device.attributes['a'].absent", "no such key: absent"),
        ("dyn(1.5)", "the result is no value of an attribute but of type double"),
        ("[dyn(1), dyn('x')]", "the result is no value of an attribute but of type list of int, string"),
    ],
)
def test_what_turns_out_to_be_no_value_is_an_error(expression: str, problem: str) -> None:
    with pytest.raises(EvaluationError, match=problem):
        compile_derivation(expression).evaluate(DEVICE)


def test_a_derivation_can_be_sent_to_another_process() -> None:
    derivation = compile_derivation("device.driver")

    assert pickle.loads(pickle.dumps(derivation)).evaluate(DEVICE) == "a"  # noqa: S301  our own
