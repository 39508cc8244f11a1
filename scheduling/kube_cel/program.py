"""Compiled expressions over devices: selectors, and attributes that a request derives."""

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

from kube_cel.codegen import Ending, assemble
from kube_cel.device import AttributeValue, DeviceView
from kube_cel.emit_base import Mode
from kube_cel.errors import CelErrorKind, CompileError, EvaluationError
from kube_cel.estimate import COST_LIMIT, estimate
from kube_cel.evaluation import CostBudget, attribute_value, verdict
from kube_cel.parser import parse
from kube_cel.reads import Read, reads
from kube_cel.tree import Call, Comprehension, Macro, SourceError, SyntaxNode, walk
from kube_cel.typecheck import Typed, check
from kube_cel.types import ANY, BOOL, INT, LIST, STRING, VERSION, Kind
from kube_cel.validate import check_literals

T = TypeVar("T")
SCALARS = (BOOL, INT, STRING, VERSION, ANY)


class Expression(Generic[T]):
    """An expression that can be asked about devices; it keeps no state between them.

    `reads` names every attribute, capacity and field that can influence the answer, or is None where that depends on
    the device. `cost` is the static estimate of admission.
    """

    __slots__ = ("_careful", "_fast", "cost", "reads", "source")

    source: str
    reads: frozenset[Read] | None
    cost: int

    def __init__(self, source: str, root: SyntaxNode, typed: Typed, ending: Ending[T]) -> None:
        self.source = source
        self.reads = reads(root)
        self.cost = estimate(root, typed)
        if self.cost > COST_LIMIT or any(map(_is_underestimated, walk(root))):
            counted = assemble(root, typed, Mode.COUNTED, ending)
            self._fast: Callable[..., T] = lambda device: counted(device, CostBudget(COST_LIMIT))
            self._careful = self._fast
        else:
            self._fast = assemble(root, typed, Mode.FAST, ending)
            self._careful = assemble(root, typed, Mode.CAREFUL, ending)

    def evaluate(self, device: DeviceView) -> T:
        """Return the value for the device, or raise EvaluationError where the expression fails on it."""
        try:
            return self._fast(device)
        except EvaluationError as error:
            if error.kind is CelErrorKind.COST:
                raise
        except Exception:  # noqa: BLE001, S110  fast code stumbles in Python's ways, careful code says why
            pass
        return self._evaluate_carefully(device)

    def _evaluate_carefully(self, device: DeviceView) -> T:
        try:
            return self._careful(device)
        except EvaluationError:
            raise
        except Exception as error:
            # One odd expression must not stop the cycle of a whole cluster.
            raise EvaluationError(CelErrorKind.OTHER, f"internal error: {error!r}") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"


class Program(Expression[bool]):
    """A selector: whether a device matches."""

    __slots__ = ()

    def may_match(self, driver: str) -> bool:
        """Return False if the driver alone rules out every device of it, whatever they publish."""
        try:
            return self.evaluate(DeviceView.of_driver(driver))
        except EvaluationError:
            return True

    def __reduce__(self) -> tuple[Callable[[str], "Program"], tuple[str]]:
        return compile_selector, (self.source,)


class Derivation(Expression[AttributeValue]):
    """A derived attribute (KEP-6080): the value that a device has for one request, a list without items for none."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[str], "Derivation"], tuple[str]]:
        return compile_derivation, (self.source,)


def _is_underestimated(node: SyntaxNode) -> bool:
    """Return whether the result can be larger than upstream's estimator takes it to be."""
    if isinstance(node, Comprehension):
        return node.macro is Macro.MAP_ENTRY
    return isinstance(node, Call) and node.function == "flatten"


@lru_cache(maxsize=4096)
def compile_selector(expression: str) -> Program:
    """Return the program for a selector, or raise CompileError.

    What admission refuses only for its cost compiles, because stored objects may hold it; its evaluation is counted.
    """
    try:
        root, typed = _checked(expression, _is_of_selector, "bool or the unknown type")
        return Program(expression, root, typed, verdict)
    except SourceError as problem:
        raise CompileError(problem.problem, expression, problem.position) from None


@lru_cache(maxsize=4096)
def compile_derivation(expression: str) -> Derivation:
    """Return the program for a derived attribute, or raise CompileError."""
    try:
        root, typed = _checked(expression, _is_of_attribute, "string, int, bool or semver, or a list of one of these")
        return Derivation(expression, root, typed, attribute_value)
    except SourceError as problem:
        raise CompileError(problem.problem, expression, problem.position) from None


def _checked(expression: str, is_wanted: Callable[[Kind], bool], wanted: str) -> tuple[SyntaxNode, Typed]:
    root = parse(expression)
    typed = check(root)
    if not is_wanted(typed.kinds[root]):
        raise SourceError(f"must evaluate to {wanted}, not {typed.kinds[root]}", 0)
    check_literals(root, typed)
    return root, typed


def _is_of_selector(kind: Kind) -> bool:
    return kind in (BOOL, ANY)


def _is_of_attribute(kind: Kind) -> bool:
    items = kind.parameters if kind.name == LIST else (kind,)
    return all(item in SCALARS or item.is_parameter for item in items)


def estimate_cost(expression: str) -> int:
    """Return the cost that admission estimates for an expression, or raise CompileError."""
    return compile_selector(expression).cost


def admission_problem(expression: str) -> str | None:
    """Return why the API server would refuse a new object with this selector, or None."""
    try:
        program = compile_selector(expression)
    except CompileError as problem:
        return str(problem)
    if program.cost <= COST_LIMIT:
        return None
    factor = f"{program.cost / COST_LIMIT:.1f} times" if program.cost < COST_LIMIT * 100 else "more than 100 times"
    return f"too complex, exceeds the cost limit of {COST_LIMIT} {factor}"
