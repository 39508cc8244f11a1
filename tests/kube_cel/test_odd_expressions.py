"""Whatever somebody writes into a selector is compiled or refused with its place, and ends on every device."""

from hypothesis import given
from hypothesis import strategies as st

from kube_cel import (
    CompileError,
    DeviceView,
    EvaluationError,
    Program,
    admission_problem,
    compile_selector,
)

A = 'device.attributes["gpu.example.com"]'
USUAL = [
    f'{A}.model == "A100" && {A}.memory.compareTo(quantity("40Gi")) >= 0',
    f'has({A}.driverVersion) && {A}.driverVersion.isGreaterThan(semver("580.0.0"))',
    f'device.capacity["gpu.example.com"].memory.isLessThan(quantity("80Gi")) || {A}.numa in [0, 1, 2]',
    f'{A}.exists(name, name.startsWith("n")) ? device.driver.matches("^gpu[.]") : !{A}.?ok.orValue(false)',
    f'[1, 2, 3].map(x, x * 2).filter(x, x > {A}.numa).size() > 0 && "x".format([1]) != r"\\d"',
]
SIGNS = """( ) [ ] { } . , : ? ! + - * / % < > ?: ?. [? && || == != <= >= // \\ ' " \x00 ü"""
WORDS = """0 1 -1 1u 0x1F 1.5e3 1e999 9223372036854775808 "a" true false null in device device.driver x has all exists
map filter cel.bind optional.none() quantity semver ip cidr url duration timestamp"""
TOKENS = st.sampled_from([*SIGNS.split(), *WORDS.split(), " ", "\n", "\t"])
DEVICES = [
    DeviceView.of("gpu.example.com", {"model": "A100", "numa": 1, "ok": True}, {}),
    DeviceView.of("other.example.com", {}, {}),
]


def deep(opening: str, inner: str, closing: str) -> st.SearchStrategy[str]:
    return st.integers(1, 4_000).map(lambda depth: opening * depth + inner + closing * depth)


def loops(depth: int, width: int) -> str:
    numbers = ", ".join(map(str, range(width)))
    text = "true"
    for level in range(depth):
        text = f"[{numbers}].all(x{level}, {text})"
    return text


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A usual selector of which a few pieces are missing, repeated or replaced by tokens."""
    text = draw(st.sampled_from(USUAL))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(start + draw(st.integers(0, 12)), len(text))
        text = text[:start] + draw(st.one_of(TOKENS, st.just(""), st.just(text[start:end] * 2))) + text[end:]
    return text


EXPRESSIONS = st.one_of(
    st.text(max_size=40),
    st.lists(TOKENS, max_size=30).map(" ".join),
    mutated(),
    deep("(", "true", ")"),
    deep("[", "1", "]"),
    deep("!", "true", ""),
    deep("-", "1 == 1", ""),
    deep("true ? true : ", "false", ""),
    deep("[1].all(x, ", "true", ")"),
    deep('{"a": ', "1", "}"),
    deep("true && ", "true", ""),
    deep("1 + ", "1 == 1", ""),
    st.just("device" + ".driver" * 1_500),
    st.integers(1, 3_000).map(lambda size: f'"{"x" * size}".matches("{"(a|" * (size // 9)}{")*" * (size // 9)}")'),
    st.builds(loops, st.integers(1, 12), st.integers(1, 60)),
)


@given(EXPRESSIONS)
def test_an_expression_is_compiled_or_refused_with_its_place(text: str) -> None:
    lines = text.split("\n")
    compiled = program_or_error(text)
    assert admission_problem(text) is None or admission_problem(text)
    if isinstance(compiled, CompileError):
        assert compiled.problem
        assert 1 <= compiled.line <= len(lines) + 1
        assert 1 <= compiled.column <= max(map(len, lines)) + 2
        return
    for device in DEVICES:
        assert verdict(compiled, device) in {True, False, None}


def program_or_error(text: str) -> Program | CompileError:
    try:
        return compile_selector(text)
    except CompileError as error:
        return error


def verdict(program: Program, device: DeviceView) -> bool | None:
    """What the program says of the device, None where it fails with words."""
    try:
        return program.evaluate(device)
    except EvaluationError:
        return None
