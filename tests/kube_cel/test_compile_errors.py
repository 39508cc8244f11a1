import pickle

import pytest

from kube_cel import CompileError, admission_problem, compile_selector

G = 'device.attributes["gpu.example.com"]'


def refusal(expression: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_selector(expression)
    return caught.value


@pytest.mark.parametrize(
    ("expression", "column", "problem"),
    [
        ("", 1, "Syntax error: unexpected end of expression"),
        ("device.driver ==", 17, "Syntax error: unexpected end of expression"),
        ("device.attributes[", 19, "Syntax error: unexpected end of expression"),
        ("true)", 5, "Syntax error: unexpected ')'"),
        ("1 2", 3, "Syntax error: unexpected '2'"),
        (
            "device.driver == 'x",
            18,
            "Syntax error: the string that starts with ' is not closed or has an unknown escape",
        ),
        ("true # yes", 6, "Syntax error: unexpected character '#'"),
        ("device.in == 1", 8, "Syntax error: unexpected keyword 'in'"),
        ('"a\\qb" == "a"', 1, "unable to unescape string"),
        ('"\\ud800" == "a"', 1, "invalid unicode code point"),
        ('b"\\u0041" == b"a"', 1, "unable to unescape string"),
        ("9223372036854775808 == 1", 1, "invalid int literal"),
        ("18446744073709551616u == 1u", 1, "invalid uint literal"),
        ("1e999 == 1.0", 1, "invalid double literal"),
        ("if == 1", 1, "reserved identifier: if"),
        ("has(device)", 5, "invalid argument to has() macro"),
        ("[1].all(1, true)", 9, "argument must be a simple name"),
        ("[1].all(x, x, true)", 12, "duplicate variable name: x"),
        ("cel.bind(1, 1, true)", 10, "cel.bind() variable names must be simple identifiers"),
        ("devices.driver", 1, "undeclared reference to 'devices'; the only variable is 'device'"),
        ("[1].existsOne(x, x == 1)", 15, "undeclared reference to 'x'; the only variable is 'device'"),
        ("device.driver.reverse() == 'a'", 22, "found no matching overload for 'reverse' applied to 'string.()'"),
        ("nothing(1)", 8, "undeclared reference to 'nothing'"),
        ("Device{name: 'a'} == 1", 7, "undeclared reference to 'Device'"),
        (
            "device.model == 'a'",
            7,
            "undefined field 'model': a device has driver, attributes, capacity, allowMultipleAllocations",
        ),
        ("device.driver.name == 'a'", 14, "type 'string' does not support field selection"),
        (
            "device.driver.all(c, true)",
            7,
            "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("device.attributes.all(d, 1)", 26, "expected type 'bool' but found 'int'"),
        ("true && 1", 9, "expected type 'bool' but found 'int'"),
        ("true ? 1 : 'a'", 6, "found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ("{{'a': 1}: 1}.size() == 1", 2, "unsupported key type 'map(string, int)'"),
        ("device.driver", 1, "must evaluate to bool or the unknown type, not string"),
    ],
)
def test_the_problem_and_its_place_are_named(expression: str, column: int, problem: str) -> None:
    error = refusal(expression)

    assert (error.line, error.column, error.problem) == (1, column, problem)


def test_quantities_cannot_be_compared_with_operators_and_the_refusal_says_how() -> None:
    error = refusal('device.capacity["a.example"].memory >= quantity("1Gi")')

    assert error.problem.endswith("; compare quantities with compareTo, isLessThan or isGreaterThan")


def test_the_line_is_shown_with_a_pointer_below_the_place() -> None:
    error = refusal(f'{G}.model == "a" &&\n  device.owner == "b"')

    assert (error.line, error.column) == (2, 9)
    assert str(error).splitlines()[1:] == [' |   device.owner == "b"', " | ........^"]


def test_of_a_very_long_line_only_the_surroundings_are_shown() -> None:
    error = refusal(" || ".join(["true"] * 1000) + " || stranger")

    _, line, pointer = str(error).splitlines()
    assert len(line) < 200
    assert line[pointer.index("^") :] == "stranger"


def test_an_expression_above_ten_kibibytes_is_refused() -> None:
    assert "longer than 10240 bytes" in refusal("true ||" * 1500 + "true").problem


@pytest.mark.parametrize(
    "deep",
    [
        "[" * 400 + "]" * 400 + ".size() == 1",
        "!" * 400 + "true",
        "-" * 400 + "1 == 1",
        "device" + ".a" * 400,
        "1" + "+1" * 400,
        "[1].all(x, " * 200 + "true" + ")" * 200,
        "true ? true : " * 200 + "true",
    ],
)
def test_deep_nesting_is_refused_and_harms_nothing(deep: str) -> None:
    assert "nested too deeply" in refusal(deep).problem


def test_parentheses_alone_are_no_nesting() -> None:
    assert admission_problem("(" * 2000 + "true" + ")" * 2000) is None


def test_a_refusal_survives_pickling() -> None:
    error = refusal("stranger == 1")

    again = pickle.loads(pickle.dumps(error))  # noqa: S301

    assert (str(again), again.line, again.column) == (str(error), 1, 1)


def test_admission_says_the_same_as_compiling() -> None:
    assert admission_problem("stranger == 1") == str(refusal("stranger == 1"))
