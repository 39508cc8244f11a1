import ast
import re

import pytest

from kube_cel import CompileError, DeviceView, EvaluationError, compile_selector
from kube_cel.codegen import generate
from kube_cel.device import FIELDS
from kube_cel.emit_base import Mode
from kube_cel.parser import parse
from kube_cel.typecheck import check

NUMBERED = re.compile(r"[vtkh][0-9]+")
OUR_NAMES = {"D", "B", "run"}
OUR_ATTRIBUTES = {*FIELDS.values(), "nano", "spend", "call", "__class__"}
G = 'device.attributes["gpu.example.com"]'
SUSPICIOUS = [
    f"{G}.__class__ == 1",
    f'{G}["__class__"]["__subclasses__"] == 1',
    f"{G}.`__class__` == 1".replace("__class__", "a b"),
    "[1].all(__builtins__, __builtins__ == 1)",
    "[1].all(D, D == 1) && [1].exists(B, B == 1) && [1].exists(k1, v1, k1 == 0)",
    "cel.bind(lambda, 1, lambda == 1)",
    "cel.bind(run, 1, run == 1) && cel.bind(v1, 2, cel.bind(t1, 3, v1 + t1 == 5))",
    '"\'); import os; (\'" == "x" || \'"""\' == "\\n\\u2028\\x00"',
    "b\"'); import os; ('\" == b'x'",
    "{'__class__': 1}.__class__ == 1",
    "['__import__'].map(x, {x: x}).size() == 1",
    f"has({G}.__dict__) || {G}.?__init__.hasValue() || {G}[?'__doc__'].hasValue()",
    "'%s'.format(['{0.__class__}']) == '{0.__class__}'",
    f"{G}.model in ['a', 'b'] && {G}.model == 'a' && {G}.n == 1 && {G}.b == true && 1 in [1, 2]",
    "type(1) == int && duration('1s') > duration('1ms') && 'a'.matches('a+')",
    "[1, 2].map(x, x > 1, x).exists_one(y, y == 2) && {'a': 1}.transformMapEntry(k, v, {v: k}).size() == 1",
    "optional.of(1).or(optional.none()).orValue(2) == 1 && optional.of(1).optMap(x, x).hasValue()",
]


def names(source: str) -> set[str]:
    tree = ast.parse(source)
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return arguments | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("expression", SUSPICIOUS)
def test_generated_code_holds_only_names_that_we_made(expression: str, mode: Mode) -> None:
    root = parse(expression)

    source, known = generate(root, check(root), mode)

    unknown = {name for name in names(source) - OUR_NAMES - known.keys() if not NUMBERED.fullmatch(name)}
    attributes = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    assert unknown == set()
    assert attributes <= OUR_ATTRIBUTES


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("expression", SUSPICIOUS)
def test_generated_code_holds_nothing_but_expressions(expression: str, mode: Mode) -> None:
    root = parse(expression)

    source, _ = generate(root, check(root), mode)

    statements = {type(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)}
    assert statements == {ast.FunctionDef, ast.Return}


@pytest.mark.parametrize("expression", ["__import__('os') == 1", "open('x') == 1", "D == 1", "k1 == 1", "f7_ == 1"])
def test_names_of_python_mean_nothing_in_an_expression(expression: str) -> None:
    with pytest.raises(CompileError, match="undeclared reference"):
        compile_selector(expression)


def test_what_a_python_object_has_a_device_does_not() -> None:
    device = DeviceView.of("gpu.example.com", {"model": "A"}, {})

    with pytest.raises(EvaluationError, match="no such key: __class__"):
        compile_selector(f"{G}.model.__class__ == 1").evaluate(device)


@pytest.mark.parametrize(
    "expression",
    [
        "[1].all(x, " * 45 + "true" + ")" * 45,
        "[" * 95 + "1" + "]" * 95 + ".size() == 1",
        "!(" * 98 + "true" + ")" * 98,
        "true || " * 1200 + "false",
        "(" * 45 + "device.driver == 'x'" + " && device.driver == 'x') || false" * 45,
        "device.driver in [" + ", ".join(f"'d{number}'" for number in range(900)) + ", 'x']",
    ],
)
def test_what_is_just_shallow_enough_runs(expression: str) -> None:
    assert compile_selector(expression).evaluate(DeviceView.of("x", {}, {}))


@pytest.mark.parametrize("pattern", ["(x+x+)+y", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)[0-9]"])
def test_no_pattern_makes_matching_slow(pattern: str) -> None:
    device = DeviceView.of("gpu.example.com", {"text": "a" * 50_000 + "x" * 50_000}, {})

    assert not compile_selector(f"{G}.text.matches({pattern!r})").evaluate(device)


def test_a_pattern_that_would_take_too_much_memory_does_not_compile() -> None:
    with pytest.raises(CompileError, match="pattern too large"):
        compile_selector("'a'.matches('" + "([\\\\pL]{100})?" * 50 + "')")
