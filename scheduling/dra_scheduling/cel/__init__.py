"""CEL selectors of DeviceClasses and ResourceClaims, with the semantics of Kubernetes.

`compile_selector` turns an expression into a Program once; `Program.evaluate` asks it about one DeviceView at a time.
"""

from dra_scheduling.cel.device import AttributeValue, DeviceView
from dra_scheduling.cel.errors import CelErrorKind, CompileError, EvaluationError
from dra_scheduling.cel.program import Program, admission_problem, compile_selector, estimate_cost

__all__ = [
    "AttributeValue",
    "CelErrorKind",
    "CompileError",
    "DeviceView",
    "EvaluationError",
    "Program",
    "admission_problem",
    "compile_selector",
    "estimate_cost",
]
