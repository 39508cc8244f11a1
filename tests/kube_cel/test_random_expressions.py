import re
from collections.abc import Callable

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings
from hypothesis import assume, given
from hypothesis import strategies as st

from kube_cel import (
    AttributeValue,
    CelErrorKind,
    CompileError,
    DeviceView,
    EvaluationError,
    Program,
    compile_selector,
)
from kube_cel.codegen import assemble
from kube_cel.emit_base import Mode
from kube_cel.evaluation import CostBudget, verdict
from kube_cel.parser import parse
from kube_cel.typecheck import check

A = 'device.attributes["gpu.example.com"]'
ATTRIBUTES: dict[str, AttributeValue] = {"model": "A100", "numa": 1, "ok": True, "index": 0, "link": "nv4"}
DEVICE = DeviceView.of("gpu.example.com", {**ATTRIBUTES, "tags": ("a", "b"), "slots": (1, 2)}, {})
PLAIN = {
    "driver": "gpu.example.com",
    "attributes": {"gpu.example.com": {**ATTRIBUTES, "tags": ["a", "b"], "slots": [1, 2]}},
    "capacity": {},
    "allowMultipleAllocations": False,
}

PLACE = re.compile(r"([$@][a-z]+)")

Scope = tuple[tuple[str, str], ...]
Text = st.SearchStrategy[str]
LEAVES = {
    "bool": ["true", "false", f"{A}.ok == true", f"has({A}.numa)", f"'nope' in {A}", "device.allowMultipleAllocations"],
    "int": ["0", "1", "2", "-1", "7", "9223372036854775807", "int(1.5)"],
    "double": ["0.0", "1.0", "2.5", "-1.5"],
    "uint": ["0u", "1u", "5u"],
    "string": ["''", "'a'", "'A100'", "device.driver", "'a,b'", "'é'"],
    "list": ["[1, 2, 3]", "[]", "[0]"],
    "strings": ["['a', 'b']", "['A100']"],
    "map": ["{'a': 1}", "{'b': 2, 'a': 0}"],
    "dyn": [f"{A}.{name}" for name in (*ATTRIBUTES, "tags", "slots", "nope")]
    + ["dyn(1)", "dyn(1u)", "dyn(2.5)", "dyn('a')", "dyn([1])", "dyn({'a': 1})", "dyn(null)", "dyn(true)"],
    "optional": [f"{A}.?numa", f"{A}.?nope", "optional.of(dyn(1))", "optional.none()"],
}
# $int stands for an expression of that type, @int for a new variable of that type, known to what follows it.
FORMS = {
    "bool": [
        "($bool && $bool)", "($bool || $bool)", "!($bool)", "($bool ? $bool : $bool)", "($dyn && $bool)",
        "($int == $int)", "($string == $string)", "($double == $double)", "($dyn == $int)", "($dyn == $string)",
        "($int == $dyn)", "($dyn == $bool)", "($dyn != $dyn)", "($list == $list)", "($map == $map)",
        "($int < $int)", "($double >= $int)", "($uint <= $double)", "($string < $string)", "($dyn > $int)",
        "($int in $list)", "($dyn in $list)", "($string in $map)", "($string in $strings)", "($dyn in $strings)",
        "$list.all(@int, $bool)", "$list.exists(@int, $bool)", "$strings.exists_one(@string, $bool)",
        "$map.all(@string, $bool)", "$dyn.exists(@dyn, $bool)", "$string.startsWith($string)",
        "$dyn.contains($string)", "$optional.hasValue()", "$string.matches('[a-z]+')",
    ],
    "int": [
        "($int + $int)", "($int - $int)", "($int * $int)", "($int / $int)", "($int % $int)", "-($int)",
        "$list.size()", "size($string)", "size($dyn)", "($bool ? $int : $int)", "$list[$int]", "$map.a", "int($double)",
        "$string.indexOf($string)",
    ],
    "double": ["($double + $double)", "($double * $double)", "($double / $double)", "double($int)"],
    "uint": ["($uint + $uint)", "($uint - $uint)", "($uint % $uint)"],
    "string": [
        "($string + $string)", "($bool ? $string : $string)", "string($int)", "$string.lowerAscii()",
        "$string.substring($int)", "$string.replace($string, $string)", "$strings.join($string)",
        "$string.charAt($int)",
    ],
    "list": [
        "[$int, $int]", "($list + $list)", "$list.map(@int, $int)", "$list.filter(@int, $bool)",
        "($bool ? $list : $list)",
    ],
    "strings": ["[$string, $string]", "$string.split(',')"],
    "map": ["{'a': $int, 'c': $int}", "{$string: $int}"],
    "dyn": ["($bool ? $dyn : $dyn)", "$optional.orValue($dyn)", "$dyn[0]", "$dyn.a", "($dyn + $dyn)", "dyn($string)"],
    "optional": ["$optional.or($optional)", "optional.of($dyn)", "$dyn.?a"],
}  # fmt: skip


def expressions(kind: str, depth: int, scope: Scope = ()) -> Text:
    """Returns expressions of a type; variables of the scope may occur in them."""
    known = [name for name, its in scope if its == kind]
    leaf = st.sampled_from(LEAVES[kind] + known * 3)
    if depth == 0:
        return leaf
    return st.one_of(leaf, st.sampled_from(FORMS[kind]).flatmap(lambda form: filled(form, depth - 1, scope)))


def filled(form: str, depth: int, scope: Scope) -> Text:
    """Returns the form with an expression in each place of it."""
    parts: list[Text] = []
    for piece in PLACE.split(form):
        if piece.startswith("@"):
            scope = (*scope, (f"x{len(scope)}", piece[1:]))
            parts.append(st.just(scope[-1][0]))
        else:
            parts.append(expressions(piece[1:], depth, scope) if piece.startswith("$") else st.just(piece))
    return st.tuples(*parts).map("".join)


def compiles(expression: str) -> bool:
    """Whether types fit: `[][0]` takes the first type that an operator allows it, as in cel-go."""
    try:
        return bool(compile_selector(expression))
    except CompileError:
        return False


def selectors(depth: int) -> Text:
    return expressions("bool", depth).filter(compiles)


def outcome(run: Callable[[], bool]) -> bool | CelErrorKind:
    try:
        return run()
    except EvaluationError as error:
        return error.kind


def answer(program: Program) -> bool | CelErrorKind:
    return outcome(lambda: program.evaluate(DEVICE))


def message(expression: str) -> str:
    try:
        return str(compile_selector(expression).evaluate(DEVICE))
    except EvaluationError as error:
        return error.message


@given(selectors(4))
def test_fast_careful_and_counted_code_agree(expression: str) -> None:
    root = parse(expression)
    typed = check(root)
    careful, counted = (assemble(root, typed, mode, verdict) for mode in (Mode.CAREFUL, Mode.COUNTED))

    expected = outcome(lambda: careful(DEVICE))
    assert answer(compile_selector(expression)) is expected
    assert outcome(lambda: counted(DEVICE, CostBudget(10**9))) is expected


@given(selectors(4))
def test_no_evaluation_fails_in_a_way_that_we_did_not_foresee(expression: str) -> None:
    assert "internal error" not in message(expression)


@given(selectors(3), selectors(3), st.sampled_from(["&&", "||"]))
def test_the_operands_of_logic_can_change_places(left: str, right: str, sign: str) -> None:
    there, back = compile_selector(f"({left}) {sign} ({right})"), compile_selector(f"({right}) {sign} ({left})")

    answers = {there_or_back for there_or_back in (answer(there), answer(back)) if isinstance(there_or_back, bool)}
    assert len(answers) <= 1
    assert isinstance(answer(there), bool) is isinstance(answer(back), bool)


# What cel-go answers, and so do we: it does not look at what is sought in an empty list, and a scalar has no fields.
ONLY_CEL_GO = ("in [])", ".?a")
ENVIRONMENT = cel.NewEnv(
    variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
    extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
)


def reference(expression: str) -> bool | None:
    """Returns what Google's C++ implementation answers, None for an error; raises ValueError if it cannot be asked."""
    try:
        compiled = ENVIRONMENT.compile(expression)
    except RuntimeError as error:
        raise ValueError(expression) from error
    try:
        found = compiled.eval(data={"device": PLAIN}).value()
    except RuntimeError:
        return None
    return found if isinstance(found, bool) else None


@given(selectors(3))
def test_the_answer_is_that_of_another_implementation(expression: str) -> None:
    assume(not any(form in expression for form in ONLY_CEL_GO))
    try:
        expected = reference(expression)
    except ValueError:
        return
    mine = answer(compile_selector(expression))
    assert (mine if isinstance(mine, bool) else None) is expected
