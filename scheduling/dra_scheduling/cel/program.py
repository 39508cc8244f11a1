"""Compiled selectors."""

from collections.abc import Callable
from functools import lru_cache

from dra_scheduling.cel.codegen import Run, assemble
from dra_scheduling.cel.device import DeviceView
from dra_scheduling.cel.emit_base import Mode
from dra_scheduling.cel.errors import CelErrorKind, CompileError, EvaluationError
from dra_scheduling.cel.estimate import COST_LIMIT, estimate
from dra_scheduling.cel.evaluation import Budget
from dra_scheduling.cel.kinds import ANY, BOOL
from dra_scheduling.cel.parser import parse
from dra_scheduling.cel.reads import Read, reads
from dra_scheduling.cel.tree import Call, Comprehension, Macro, Node, SourceError, walk
from dra_scheduling.cel.typecheck import Typed, check
from dra_scheduling.cel.validate import check_literals


class Program:
    """A selector that can be asked about devices; it keeps no state between them.

    `reads` names every attribute, capacity and field that can influence the answer, or is None where that depends on
    the device. `cost` is the static estimate of admission.
    """

    __slots__ = ("_careful", "_fast", "cost", "reads", "source")

    source: str
    reads: frozenset[Read] | None
    cost: int

    def __init__(self, source: str, root: Node, typed: Typed) -> None:
        self.source = source
        self.reads = reads(root)
        self.cost = estimate(root, typed)
        if self.cost > COST_LIMIT or any(map(_is_underestimated, walk(root))):
            counted = assemble(root, typed, Mode.COUNTED)
            self._fast: Run = lambda device: counted(device, Budget(COST_LIMIT))
            self._careful = self._fast
        else:
            self._fast = assemble(root, typed, Mode.FAST)
            self._careful = assemble(root, typed, Mode.CAREFUL)

    def evaluate(self, device: DeviceView) -> bool:
        """Return whether the device matches, or raise EvaluationError where the expression fails on it."""
        try:
            return self._fast(device)
        except EvaluationError as error:
            if error.kind is CelErrorKind.COST:
                raise
        except Exception:  # noqa: BLE001, S110  fast code stumbles in Python's ways, careful code says why
            pass
        return self._evaluate_carefully(device)

    def may_match(self, driver: str) -> bool:
        """Return False if the driver alone rules out every device of it, whatever they publish."""
        try:
            return self.evaluate(DeviceView.of_driver(driver))
        except EvaluationError:
            return True

    def _evaluate_carefully(self, device: DeviceView) -> bool:
        try:
            return self._careful(device)
        except EvaluationError:
            raise
        except Exception as error:
            # One odd expression must not stop the cycle of a whole cluster.
            raise EvaluationError(CelErrorKind.OTHER, f"internal error: {error!r}") from error

    def __repr__(self) -> str:
        return f"Program({self.source!r})"

    def __reduce__(self) -> tuple[Callable[[str], "Program"], tuple[str]]:
        return compile_selector, (self.source,)


def _is_underestimated(node: Node) -> bool:
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
        return Program(expression, *_checked(expression))
    except SourceError as problem:
        raise CompileError(problem.problem, expression, problem.position) from None


def _checked(expression: str) -> tuple[Node, Typed]:
    root = parse(expression)
    typed = check(root)
    result = typed.kinds[root]
    if result not in (BOOL, ANY):
        raise SourceError(f"must evaluate to bool or the unknown type, not {result}", 0)
    check_literals(root, typed)
    return root, typed


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
